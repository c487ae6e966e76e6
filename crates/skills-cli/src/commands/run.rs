//! `skills run NAME`: runs a skill's script or WebAssembly module in a sandbox.

mod caller_input;
mod denial_hints;
mod hooks;
mod live_output;
mod output_files;
mod own_directory;
mod project_skill;
mod report;
mod run_terminal;
mod unseen_file;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use skills_runtime::{
    Builder, CallContext, CancellationToken, ErrorKind, ExecutionArtifacts, ExecutionMode,
    ExecutionOptions, InputFile, OutputStream, PlannedRun, RunTarget, RuntimeError, ScriptType,
    SkillRuntime, StopSignal, Workspace,
};
use skills_tools::HookMode;

use self::caller_input::CallerInput;
use self::hooks::{HookedRun, RunHooks};
use self::live_output::{LiveOutput, PrintedAttempts};
use self::output_files::{create_output_dir, loses_files, write_output_files};
use self::report::Losses;
use self::run_terminal::RunTerminal;
use self::unseen_file::UnseenFile;
use super::policy::print_preview;
use crate::approver::ApprovalArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::execution::ExecutionArgs;
use crate::exit::Exit;
use crate::finish_compilations::finish_compilations;
use crate::input;
use crate::interpreters::{self, InterpreterArg};
use crate::lookup;
use crate::output::Output;
use crate::program_args::WorkingDirectory;
use crate::remedies::{RemedyDescriptions, RemedyStyle};
use crate::run_exit::RunExit;
use crate::shell::shell_word;
use crate::signals::{self, Cancellable};
use crate::virtual_env::{self, Interpreters, Questions};

/// Run a skill's script or WebAssembly module in a sandbox
///
/// Exit codes: that of the program, or 128 and the number of the signal that ended it (137 at a
/// limit); 124 at the deadline; 125 if the run was denied or `skills` failed, also after the
/// program ended; 126 if the program cannot be started; 127 if the skill or its program is not
/// found; 130, 143 or 129 if INT, TERM or HUP interrupted it. An interrupt comes first, then a
/// failure of `skills`, the deadline, a limit and the program. `exit` of --json says which of them
/// are not from the program. With --dry-run they are those of `skills policy check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    /// Skill name or directory
    name: String,

    #[command(flatten)]
    what: ExecutionArgs,

    /// Show what would run and be granted, without running
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    approval: ApprovalArgs,

    /// Copy a file into a private workspace of this run (repeatable)
    ///
    /// The program starts in the private workspace. An argument that is the path of the file names
    /// its copy.
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    file: Vec<PathBuf>,

    /// Save output files of the private workspace in this directory
    ///
    /// Existing files are not replaced. An argument with a path in this directory names a file of
    /// the private workspace.
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    output: Option<PathBuf>,

    /// Give the program a terminal of its own [default: if standard output is a terminal]
    ///
    /// Its standard error and input are that terminal too, if those of this command are the same
    /// terminal. Only native programs on Linux have one; others have pipes.
    #[arg(long, short)]
    tty: bool,

    /// Run WebAssembly with a fixed seed, clock and fuel
    #[arg(long, value_name = "SEED")]
    deterministic: Option<u64>,

    /// Print the command and the enforced restrictions
    #[arg(long, short)]
    verbose: bool,

    /// Also print the grants and the rules behind them
    #[arg(long)]
    explain: bool,

    /// Script or module to run, if the skill has several, and arguments of the program
    ///
    /// With --script, all words are arguments. Words that begin with `-` follow `--`.
    #[arg(value_name = "SCRIPT")]
    words: Vec<String>,

    /// Arguments of the program; `{workspace}` stands for the path of the workspace
    #[arg(last = true, value_name = "ARGUMENTS")]
    args: Vec<String>,
}

/// Whether a word without a separator can be the command of a program, such as `build`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsCommand {
    Possible,
    Excluded,
}

impl Run {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let name = context.name_skill(&self.name);
        let Interpreters { chosen, questions } =
            virtual_env::interpreters(&self.what.programs, context)?;
        let mut builder = context.builder(&chosen)?;
        if let Some(directory) = context.environment.memory_directory() {
            builder = builder.memory_directory(directory);
        }
        let builder = if self.has_private_workspace() {
            let rules = self.what.variable_rules()?;
            self.what.programs.configure(builder, rules, context)?
        } else {
            self.what.configure(builder, context)?
        };
        let runtime = context.build(self.with_profile(builder)?);
        let mut options = self.options(context)?;
        if self.dry_run {
            lookup::note_other_skills(&runtime, &name, context);
            let preview = runtime.executor().preview(&name, &options);
            let preview = preview.map_err(|error| explain_error(&runtime, &name, error))?;
            self.check_deterministic(&preview.mode)?;
            return print_preview(&preview, output);
        }
        if !self.approval.answers() {
            project_skill::ask_for_trust(&runtime, &name, context)?;
        }
        let unseen = UnseenFile::find(self, &runtime, &name, context);
        let workspace = match &unseen {
            Some(file) => file.ask_for_workspace(self),
            None => own_directory::ask(self, &runtime, &name, context),
        };
        if let Some(workspace) = workspace {
            let mut with_workspace = self.clone();
            with_workspace.what.programs.workspace = Some(workspace);
            return with_workspace.run(context);
        }
        lookup::note_other_skills(&runtime, &name, context);
        let terminal = self.connect_terminal(&mut options, context)?;
        let input = self.connect_input(&mut options);
        set_output_limits(&mut options, output);
        set_further_attempts(&mut options, output);
        let printed_attempts = PrintedAttempts::default();
        let approver = self.approval.approver();
        let approver = approver.map(|inner| match output {
            Output::Text => printed_attempts.ask_after(inner),
            _ => inner,
        });
        options.context = approver
            .into_iter()
            .fold(options.context, CallContext::approver);
        let cancellation = CancellationToken::new();
        options.context = options.context.cancellation(cancellation.clone());
        #[cfg(all(feature = "packages", unix))]
        let _progress = {
            let (call, progress) = crate::packages::SetupProgress::add_to(options.context);
            options.context = call;
            progress
        };
        let planned = runtime.executor().plan(&name, options);
        let planned = planned.map_err(|error| explain_error(&runtime, &name, error))?;
        self.check_deterministic(planned.mode())?;
        note_unused_version(&planned, &chosen, context)?;
        let planned = self.ask_for_environment(planned, questions, context)?;
        // Creates the output directory first, so that a failure shows before the run.
        let output_dir = self.output.as_deref().map(create_output_dir).transpose()?;
        let live = if output.is_json() {
            None
        } else {
            let cancellation = cancellation.clone();
            Some(LiveOutput::start(cancellation, terminal, printed_attempts)?)
        };
        let hooks = self.hooks(&planned, context)?;
        let grace = self.what.programs.grace(context)?;
        let run = hooks::run(planned, hooks, live);
        let Cancellable {
            output: result,
            signal,
        } = signals::run_until_cancelled(&cancellation, grace, run)?;
        let result = result.transpose();
        // Output is printed even if the audit record could not be written.
        if let Err(error) = &result
            && let Some(unrecorded) = error.artifacts()
            // A JSON document contains either a result or an error, and here it is the error.
            && !output.is_json()
        {
            self.print_result(unrecorded, &self.remedies(context)?, output);
        }
        let result = match result {
            // The signal also ends hooks and the setup of packages, which then fail or block the run.
            Ok(Some(HookedRun::Blocked { .. })) if signal.is_some() => Ok(None),
            Err(error) if signal.is_some() && error.artifacts().is_none() => Ok(None),
            other => other,
        };
        let result = result.map_err(|error| explain_error(&runtime, &name, error))?;
        match result {
            None => {
                let exit = signal.map_or(RunExit::Failed, RunExit::Interrupted);
                Err(CommandError::interrupted(&name, Exit::Run(exit)).into())
            }
            Some(HookedRun::Blocked { reason, is_denied }) => {
                Ok(hooks::report_blocked(&name, &reason, is_denied, output))
            }
            Some(HookedRun::Ran {
                artifacts,
                objection,
                printed,
            }) => {
                let not_saved = output_dir
                    .map(|directory| write_output_files(&artifacts, &directory))
                    .unwrap_or_default();
                let losses = Losses {
                    loses_files: !not_saved.is_empty() && loses_files(&artifacts),
                    not_saved,
                    cut_streams: if output.is_json() {
                        report::cut_streams(&artifacts)
                    } else {
                        Vec::new()
                    },
                    input_error: input.as_ref().and_then(CallerInput::take_error),
                    print_error: printed.err(),
                    objection,
                    unseen_file: unseen.filter(|file| {
                        !artifacts.exit_status.is_success()
                            && !file.is_given_by(&artifacts.explanation.remedies)
                    }),
                };
                let exit = self.report(&artifacts, &losses, signal, context)?;
                if signal.is_some() {
                    return Ok(exit);
                }
                finish_compilations(runtime.executor(), exit, output)
            }
        }
    }

    /// Returns true if the command starts a program, and then passes on its exit code.
    pub(crate) fn starts_program(&self) -> bool {
        !self.dry_run
    }

    /// Gives the program a terminal if the user has one, and an option if it must have one.
    fn connect_terminal(
        &self,
        options: &mut ExecutionOptions,
        context: &Context,
    ) -> anyhow::Result<Option<RunTerminal>> {
        if context.output.is_json() {
            // A document contains the streams by themselves.
            anyhow::ensure!(
                !self.tty,
                CommandError::input("cannot use `--tty` with `--json`")
            );
            return Ok(None);
        }
        if !self.tty && !io::stdout().is_terminal() {
            return Ok(None);
        }
        let gets_keys = self.what.input_source().is_none();
        Ok(RunTerminal::connect(
            options,
            gets_keys,
            &context.environment,
        )?)
    }

    /// Connects the program to the standard input of this command, unless an option is its source.
    /// Without a terminal of its own it gets nothing from that of the user.
    fn connect_input(&self, options: &mut ExecutionOptions) -> Option<CallerInput> {
        if self.what.input_source().is_some() || options.input_stream.is_some() {
            return None;
        }
        let input = CallerInput::default();
        options.input_stream = Some(input.stream());
        Some(input)
    }

    /// Returns the hooks around the run, if they are enabled.
    fn hooks(&self, planned: &PlannedRun, context: &Context) -> anyhow::Result<Option<RunHooks>> {
        let mode = self.what.programs.hook_mode(context)?;
        Ok((mode == HookMode::Enabled).then(|| RunHooks::new(planned)))
    }

    #[cfg(feature = "wasm")]
    fn with_profile(&self, builder: Builder) -> anyhow::Result<Builder> {
        let profile = |seed| skills_runtime::WasmProfile::Deterministic { seed };
        let profile = self.deterministic.map(profile).into_iter();
        Ok(profile.fold(builder, Builder::wasm_profile))
    }

    #[cfg(not(feature = "wasm"))]
    fn with_profile(&self, builder: Builder) -> anyhow::Result<Builder> {
        match self.deterministic {
            Some(_) => Err(CommandError::missing_feature("WebAssembly", "wasm").into()),
            None => Ok(builder),
        }
    }

    /// Returns the run with the interpreter of a virtual environment, if the user agrees. The user is
    /// asked only if a Python script runs, and no option is for the interpreter of its skill.
    fn ask_for_environment(
        &self,
        planned: PlannedRun,
        questions: Questions,
        context: &Context,
    ) -> anyhow::Result<PlannedRun> {
        let is_python = matches!(
            planned.mode(),
            ExecutionMode::Native {
                script_type: ScriptType::Python,
                ..
            }
        );
        let mut given = self.what.programs.interpreter.iter();
        let has_own = given.any(|given| {
            given.kind == ScriptType::Python && given.skill.as_deref() == Some(planned.skill())
        });
        if !is_python || has_own {
            return Ok(planned);
        }
        match questions.ask(context) {
            Some(chosen) => interpreters::replace(planned, &chosen),
            None => Ok(planned),
        }
    }

    /// Returns true if input or output files are those of a private workspace.
    fn has_private_workspace(&self) -> bool {
        !self.file.is_empty() || self.output.is_some()
    }

    /// Returns the options of the run, without an approver.
    fn options(&self, context: &Context) -> anyhow::Result<ExecutionOptions> {
        let mut options = self.what.options(context)?;
        let workspace = match &options.workspace {
            Workspace::Directory(directory) => directory.to_string_lossy().into_owned(),
            _ => "/workspace".to_owned(),
        };
        let words = self.set_target(&mut options);
        let args = words.iter().chain(&self.args);
        options.args = args
            .map(|arg| arg.replace("{workspace}", &workspace))
            .collect();
        if self.has_private_workspace() {
            // Input and output files are those of a private workspace, so `--workspace` conflicts
            // with both.
            options.workspace = Workspace::Private(read_input_files(&self.file)?);
            // A workspace of the settings is not the one of this run.
            options.current_dir = None;
            options.starts_in_private_workspace =
                self.what.programs.cwd != Some(WorkingDirectory::Skill);
            for arg in &mut options.args {
                *arg = self.private_argument(arg);
            }
        }
        Ok(options)
    }

    /// Returns an argument with the path that the private workspace has for it, also if it is the
    /// value of an option such as `--out=DIR/FILE`.
    fn private_argument(&self, arg: &str) -> String {
        if let Some(path) = self.private_path(arg, IsCommand::Possible) {
            return path;
        }
        let value = arg.split_once('=').filter(|_| arg.starts_with('-'));
        let private = value.and_then(|(option, value)| {
            let path = self.private_path(value, IsCommand::Excluded)?;
            Some(format!("{option}={path}"))
        });
        private.unwrap_or_else(|| arg.to_owned())
    }

    /// Returns the path in the private workspace of a file of `--file`, or of a path in the directory
    /// of `--output`; `None` for other words, also for the name of that directory if it can be a
    /// command.
    fn private_path(&self, arg: &str, is_command: IsCommand) -> Option<String> {
        let path = Path::new(arg);
        if self.file.iter().any(|file| input::is_same_path(file, path)) {
            return Some(path.file_name()?.to_string_lossy().into_owned());
        }
        let is_path = arg.contains(std::path::is_separator) || is_command == IsCommand::Excluded;
        let directory = self.output.as_deref().filter(|_| is_path)?;
        let rest = input::path_below(directory, path)?;
        Some(if rest.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            rest.to_string_lossy().into_owned()
        })
    }

    /// Makes the first word the program, unless an option names it, and returns the other words.
    fn set_target(&self, options: &mut ExecutionOptions) -> &[String] {
        match self.words.split_first() {
            Some((program, rest)) if self.what.script.is_none() => {
                options.target = if program.ends_with(".wasm") {
                    RunTarget::Module(program.clone())
                } else {
                    RunTarget::Script(program.clone())
                };
                rest
            }
            _ => &self.words,
        }
    }

    fn remedies(&self, context: &Context) -> anyhow::Result<RemedyDescriptions> {
        let workspace = self.what.programs.workspace_dir(context)?;
        let style = RemedyStyle::Run;
        Ok(RemedyDescriptions::new(
            style,
            workspace.as_deref(),
            &context.environment,
        ))
    }

    /// Rejects `--deterministic` for scripts.
    fn check_deterministic(&self, mode: &ExecutionMode) -> anyhow::Result<()> {
        // A script can read the clock and random numbers of the kernel, so a seed would promise too
        // much.
        if self.deterministic.is_some() && matches!(mode, ExecutionMode::Native { .. }) {
            anyhow::bail!(CommandError::input(
                "cannot run a script with `--deterministic`: only WebAssembly supports it"
            ));
        }
        Ok(())
    }

    /// Prints the result and what is missing in it, and returns the exit code. That of a signal to
    /// this command comes first, then that of a loss, of the deadline, of a limit and of the
    /// program.
    fn report(
        &self,
        artifacts: &ExecutionArtifacts,
        losses: &Losses,
        signal: Option<StopSignal>,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let output = context.output;
        let ended = RunExit::from_status(&artifacts.exit_status);
        let exit = signal.map_or_else(|| losses.exit(ended), RunExit::Interrupted);
        let remedies = self.remedies(context)?;
        if output.is_json() {
            let mut explanation = artifacts
                .explanation
                .words(|remedy| remedies.describe(remedy));
            let unseen = losses.unseen_file.iter().map(UnseenFile::help);
            explanation.help.extend(unseen);
            let document = report::to_json(artifacts, exit, &explanation, &losses.not_saved);
            output.print_json(&document)?;
        } else {
            self.print_result(artifacts, &remedies, output);
        }
        losses.print(&artifacts.skill, output);
        report::print_replaced_exit(ended, exit, output);
        Ok(Exit::Run(exit))
    }
}

/// Says why scripts do not run with the version that the project chooses, if no interpreter was
/// named.
fn note_unused_version(
    planned: &PlannedRun,
    chosen: &[InterpreterArg],
    context: &Context,
) -> anyhow::Result<()> {
    let ExecutionMode::Native { script_type, .. } = planned.mode() else {
        return Ok(());
    };
    let settings = &context.settings()?.interpreters;
    // A shim leads to the version that is chosen.
    let is_named = |known: &InterpreterArg| {
        let directory = known.path.parent();
        known.kind == *script_type && !directory.is_some_and(|parent| parent.ends_with("shims"))
    };
    if chosen.iter().chain(settings).any(is_named) {
        return Ok(());
    }
    if let Some(reason) = interpreters::unused_version(*script_type, &context.environment) {
        context.output.status(&format!("note: {reason}"));
    }
    Ok(())
}

/// Adds a hint to an error of a skill that cannot be used, or that has source but was not built.
fn explain_error(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    if error.kind() != ErrorKind::NothingToRun {
        return lookup::explain_error(runtime, name, error);
    }
    // The error of the run is reported, whatever goes wrong while the hint is looked up.
    let Ok(skill) = runtime.get_skill(name) else {
        return error.into();
    };
    let mut files = skill.resources.resources.iter();
    if !files.any(|file| file.path.starts_with("guest/")) {
        return error.into();
    }
    // The name of a directory comes from the author of the skill, and users copy this line.
    let directory = shell_word(&skill.directory.to_string_lossy());
    let directory = directory.as_deref().unwrap_or("DIRECTORY");
    let hint = format!("build its source in `guest` with `skills build {directory}`");
    CommandError::with_hint(&error, hint).into()
}

/// Reads the input files of a private workspace. Their file names must be unique.
fn read_input_files(paths: &[PathBuf]) -> anyhow::Result<Vec<InputFile>> {
    let mut files: Vec<InputFile> = Vec::new();
    for path in paths {
        let file = read_input_file(path)?;
        // All files are in one directory of the workspace, so a second one would replace the first.
        if files.iter().any(|known| known.name == file.name) {
            let message = format!("duplicate file name `{}` in `--file`", file.name);
            anyhow::bail!(CommandError::input(message));
        }
        files.push(file);
    }
    Ok(files)
}

fn read_input_file(path: &Path) -> anyhow::Result<InputFile> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| {
            let path = path.display();
            CommandError::input(format!("invalid file name `{path}`: not valid UTF-8"))
        })?;
    Ok(InputFile {
        name: name.to_owned(),
        // Copied before the run, so that the program gets no access to the file itself.
        content: input::read_bytes(path, input::MAX_BYTES)?,
    })
}

/// Lets the program start again with what the user allows. Output on a terminal may come again.
fn set_further_attempts(options: &mut ExecutionOptions, output: Output) {
    options.max_attempts = u32::MAX;
    if output.is_json() {
        return;
    }
    let is_shown = [
        (OutputStream::Stdout, io::stdout().is_terminal()),
        (OutputStream::Stderr, io::stderr().is_terminal()),
    ];
    let shown = is_shown.into_iter().filter(|(_, is_shown)| *is_shown);
    options.shown_output = shown.map(|(stream, _)| stream).collect();
}

/// Lets a document contain all output of the program, and the program print without a limit.
fn set_output_limits(options: &mut ExecutionOptions, output: Output) {
    if output.is_json() {
        // The policy limits it (`output-kib`).
        options.captured_bytes = Some(usize::MAX);
    } else {
        options.output_limit_bytes = Some(u64::MAX);
    }
}
