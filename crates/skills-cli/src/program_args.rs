//! Arguments that all commands share whose programs run in a sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use skills_runtime::policy::{Effect, Policy, Rule, RuleSource, Target};
use skills_runtime::{
    Builder, ExecutionOptions, OnMissing, SandboxChoice, ScriptType, Secrets, Workspace,
};
use skills_tools::{HookMode, ProgramOptions};

use crate::certificates;
use crate::containers::SANDBOXES;
use crate::context::Context;
use crate::env_files;
use crate::error::CommandError;
use crate::input;
use crate::interpreters::{InterpreterArg, parse_interpreter};
use crate::permission::PermissionParser;
use crate::policy_files::{self, LoadedPolicy};
use crate::settings::{DEFAULT_GRACE, MAX_MIB, MAX_SECONDS};
use crate::state::{self, OwnAccess, PolicyPaths, SettingsPaths};
use crate::words::{join_words, word_parser};

/// The working directory of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkingDirectory {
    /// The directory of the skill
    Skill,
    /// The directory of --workspace
    Workspace,
}

/// How programs run: interpreters, limits, paths and permissions. The same for `run`, `trust`,
/// `policy check`, `call`, `tools` and `mcp`.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct ProgramArgs {
    /// Directory that programs work on
    ///
    /// Readable and writable, unless the policy denies it. Programs see it as /workspace, too.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// True if the workspace is the working directory of a server, which the user did not name.
    #[arg(skip)]
    pub(crate) is_default_workspace: bool,

    /// Working directory of scripts [default: workspace with --workspace]
    #[arg(long, value_enum, value_name = "WHERE")]
    pub(crate) cwd: Option<WorkingDirectory>,

    /// Run scripts of a type, of one or of all skills, with this interpreter (repeatable)
    #[arg(
        long,
        value_name = "[SKILL:]KIND=PATH",
        value_parser = parse_interpreter,
        long_help = interpreter_help()
    )]
    pub(crate) interpreter: Vec<InterpreterArg>,

    /// Run programs in this sandbox, or not at all [default: of the settings, else auto]
    #[arg(long, value_name = "SANDBOX", value_parser = word_parser(&SANDBOXES))]
    pub(crate) sandbox: Option<SandboxChoice>,

    /// Deadline in seconds [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<u64>,

    /// Seconds that a program may go on after a signal or its deadline asked it to end, at most 60
    /// [default: 2]
    ///
    /// Its processes get the signal of this command (HUP, INT or TERM), at the deadline TERM, and
    /// KILL after the grace. A second signal ends it. Programs in containers and WebAssembly have
    /// none.
    #[arg(long, value_name = "SECONDS", value_parser = parse_grace)]
    pub(crate) grace: Option<u64>,

    /// Memory in MiB [default: 2048, or a quarter of the memory of the machine if that is less]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=MAX_MIB))]
    pub(crate) memory: Option<u64>,

    /// Scratch space and private workspace in MiB [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=MAX_MIB))]
    pub(crate) scratch: Option<u64>,

    /// Largest file that a script writes, in MiB [default: 64, and none with a writable workspace]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=MAX_MIB))]
    pub(crate) file_size: Option<u64>,

    /// Open files per process [default: 1024]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) open_files: Option<u64>,

    /// Processes and threads of a script [default: 1024]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) processes: Option<u64>,

    /// Make a file or directory readable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,

    /// Make a file or directory writable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,

    /// Grant a permission to programs (repeatable)
    ///
    /// One of read:/PATH, write, write:/PATH, spawn, spawn:PROGRAM, network:HOST, network:HOST:PORT, env:NAME, packages, packages:pypi:NAME, packages:npm:NAME.
    #[arg(long, value_name = "PERMISSION", value_parser = PermissionParser)]
    pub(crate) allow: Vec<Rule>,

    /// Read variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// Certificate authorities in PEM for programs that connect to hosts, instead of those of the
    /// system [default: of SSL_CERT_FILE]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Run although a program, a package or the operating system that a skill requires is missing
    ///
    /// A missing variable is a warning in any case. The policy can refuse both.
    #[arg(long)]
    pub(crate) ignore_requirements: bool,

    /// Run the hooks of skills before and after tools
    ///
    /// Only hooks that are approved run; `skills trust --hooks` approves them in advance. A hook
    /// before a tool that is not approved blocks it.
    #[arg(long)]
    pub(crate) hooks: bool,
}

fn interpreter_help() -> String {
    let types = join_words(&ScriptType::ALL.map(ScriptType::as_str), "and");
    format!(
        "Run scripts of a type, of one or of all skills, with this interpreter (repeatable)\n\n\
         Types are {types}. Use it for the Python of a virtual environment."
    )
}

impl ProgramArgs {
    /// Returns the policy of all sources, with `more_rules`.
    pub(crate) fn policy(
        &self,
        more_rules: Vec<Rule>,
        context: &Context,
    ) -> anyhow::Result<Policy> {
        let paths = PolicyPaths::new(&context.environment);
        let LoadedPolicy { mut rules, .. } = policy_files::load(&paths, context.project_trust()?)?;
        for rule in &self.allow {
            rules = rules.with_rules(policy_files::expand_spellings(rule)?);
        }
        for path in &self.write {
            rules = rules.rule(allow_writing(path, RuleSource::Invocation, "--write")?);
        }
        rules = rules.with_rules(more_rules);
        self.check_limits(&rules, context)?;
        let Some(file_bytes) = self.file_bytes() else {
            return Ok(rules);
        };
        // In a writable directory only the ceiling limits files.
        let mut ceiling = rules.ceiling().clone();
        ceiling.file_bytes = file_bytes;
        Ok(rules.lower_ceiling(&ceiling))
    }

    /// Fails if the policy lowers a limit of an option or of the settings of the user, which would
    /// have no effect. A limit of a project is lowered silently: it only restricts, and a project
    /// must not stop runs.
    fn check_limits(&self, policy: &Policy, context: &Context) -> anyhow::Result<()> {
        let ceiling = policy.ceiling();
        let max_ms = u64::try_from(ceiling.wall_time.as_millis()).unwrap_or(u64::MAX);
        if self
            .timeout_ms(context)?
            .is_some_and(|given| given > max_ms)
            && let Some(origin) =
                limit_origin(self.timeout, "--timeout", "timeout-seconds", context)?
        {
            return Err(without_effect(&origin, max_ms as f64 / 1_000.0, "seconds"));
        }
        let max_bytes = ceiling.memory_bytes;
        if self
            .memory_bytes(context)?
            .is_some_and(|given| given > max_bytes)
            && let Some(origin) = limit_origin(self.memory, "--memory", "memory-mib", context)?
        {
            return Err(without_effect(&origin, to_mib(max_bytes), "MiB"));
        }
        let max_bytes = ceiling.scratch_bytes;
        if self.scratch_bytes().is_some_and(|given| given > max_bytes) {
            return Err(without_effect("`--scratch`", to_mib(max_bytes), "MiB"));
        }
        let max_bytes = ceiling.file_bytes;
        if self.file_bytes().is_some_and(|given| given > max_bytes) {
            return Err(without_effect("`--file-size`", to_mib(max_bytes), "MiB"));
        }
        for (option, given, max) in [
            ("`--open-files`", self.open_files, ceiling.open_files),
            ("`--processes`", self.processes, ceiling.processes),
        ] {
            if given.is_some_and(|given| given > max) {
                return Err(without_effect(option, max as f64, "of them"));
            }
        }
        Ok(())
    }

    /// Configures a runtime with the [policy](Self::policy), secrets, approval store and audit log.
    pub(crate) fn configure(
        &self,
        builder: Builder,
        more_rules: Vec<Rule>,
        context: &Context,
    ) -> anyhow::Result<Builder> {
        let policy = self.policy(more_rules, context)?;
        let environment = &context.environment;
        let required_by = || policy_files::requiring_records(&PolicyPaths::new(environment));
        let builder =
            state::with_state(builder, &policy, environment, required_by, context.output)?;
        context.warn_of_temp_dir();
        let builder = certificates::configure(builder, self.ca_file.as_deref(), context)?;
        for problem in context.environment.upstream_proxies().1 {
            context
                .output
                .status(&format!("warning: {problem}; hosts are reached without it"));
        }
        let own = state::own_paths(&context.environment);
        let hidden = own.iter().filter(|own| own.access == OwnAccess::Hidden);
        let builder = builder
            .policy(policy)
            // A grant for the home directory would otherwise include the token of the server and
            // the approvals. Write access to them is equivalent to unrestricted access.
            .hide(hidden.map(|own| &own.path))
            .read_only(own.iter().map(|own| &own.path))
            // They can be in the workspace, which stays writable.
            .protect(self.env_files(context)?)
            .secrets(self.secrets(context)?);
        let builder = self
            .sandbox
            .iter()
            .fold(builder, |builder, choice| builder.sandbox(*choice));
        if self.ignore_requirements {
            Ok(builder.on_missing_requirements(OnMissing::Warn))
        } else {
            with_packages(builder, context)
        }
    }

    /// Converts the arguments to the options of a run.
    pub(crate) fn options(&self, context: &Context) -> anyhow::Result<ExecutionOptions> {
        let mut options = ExecutionOptions::default();
        options.timeout_ms = self.timeout_ms(context)?;
        options.deadline_grace = self.grace(context)?;
        options.memory_bytes = self.memory_bytes(context)?;
        options.scratch_bytes = self.scratch_bytes();
        options.file_bytes = self.file_bytes();
        options.open_files = self.open_files;
        options.processes = self.processes;
        options.workspace = match self.workspace_dir(context)? {
            Some(directory) => Workspace::Directory(directory),
            None => Workspace::None,
        };
        options.current_dir = self.current_dir(&options.workspace)?;
        options.readable_paths = canonicalize_all(&self.read)?;
        options.writable_paths = self.writable_paths()?;
        options.path_aliases = self.typed_paths(context)?;
        Ok(options)
    }

    /// Returns the paths that lead through a symlink as the user types them, each with the resolved path,
    /// so that a program finds them under both. This grants nothing.
    fn typed_paths(&self, context: &Context) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
        let workspace = self
            .workspace
            .as_ref()
            .or(context.settings()?.workspace.as_ref());
        let given = self.read.iter().chain(&self.write).chain(workspace);
        let allowed = self.allow.iter().filter_map(|rule| rule.target().path());
        let all = given.map(PathBuf::as_path).chain(allowed);
        Ok(all
            .chain(context.environment.home())
            .filter_map(|path| Some((std::path::absolute(path).ok()?, path.canonicalize().ok()?)))
            .filter(|(typed, resolved)| typed != resolved && !typed.iter().any(|part| part == ".."))
            .collect())
    }

    /// Converts the arguments to the options of all programs that tools start.
    pub(crate) fn tool_options(&self, context: &Context) -> anyhow::Result<ProgramOptions> {
        let mut options = ProgramOptions::default().deadline_grace(self.grace(context)?);
        if let Some(timeout_ms) = self.timeout_ms(context)? {
            options = options.timeout(Duration::from_millis(timeout_ms));
        }
        if let Some(bytes) = self.memory_bytes(context)? {
            options = options.memory_bytes(bytes);
        }
        if let Some(bytes) = self.scratch_bytes() {
            options = options.scratch_bytes(bytes);
        }
        if let Some(bytes) = self.file_bytes() {
            options = options.file_bytes(bytes);
        }
        if let Some(count) = self.open_files {
            options = options.open_files(count);
        }
        if let Some(count) = self.processes {
            options = options.processes(count);
        }
        for path in canonicalize_all(&self.read)? {
            options = options.readable_path(path);
        }
        for path in self.writable_paths()? {
            options = options.writable_path(path);
        }
        Ok(options.working_directory(match self.cwd {
            Some(WorkingDirectory::Skill) => skills_tools::WorkingDirectory::Skill,
            Some(WorkingDirectory::Workspace) | None => skills_tools::WorkingDirectory::Workspace,
        }))
    }

    /// Returns whether the hooks of skills run.
    pub(crate) fn hook_mode(&self, context: &Context) -> anyhow::Result<HookMode> {
        Ok(if self.hooks || context.settings()?.hooks {
            HookMode::Enabled
        } else {
            HookMode::Disabled
        })
    }

    /// Returns the workspace: the given one, else that of the settings.
    pub(crate) fn workspace_dir(&self, context: &Context) -> anyhow::Result<Option<PathBuf>> {
        let directory = self
            .workspace
            .as_ref()
            .or(context.settings()?.workspace.as_ref());
        directory
            .map(|directory| input::resolve_directory(directory))
            .transpose()
    }

    /// Returns the rule that makes the workspace writable. A working directory of a server that the
    /// user did not name, and a workspace of the settings, are defaults, which `ask` rules of the user
    /// restrict.
    pub(crate) fn workspace_rule(&self, context: &Context) -> anyhow::Result<Option<Rule>> {
        let (source, origin) = if self.is_default_workspace {
            (RuleSource::BuiltIn, "working directory of the server")
        } else if self.workspace.is_none() {
            (RuleSource::BuiltIn, "workspace of the settings")
        } else {
            (RuleSource::Invocation, "--workspace")
        };
        let directory = self.workspace_dir(context)?;
        directory
            .map(|directory| allow_writing(&directory, source, origin))
            .transpose()
    }

    /// Returns the paths of `--write`. A missing one is created by the run, in an existing directory.
    fn writable_paths(&self) -> anyhow::Result<Vec<PathBuf>> {
        self.write
            .iter()
            .map(|path| resolve_writable(path))
            .collect()
    }

    fn timeout_ms(&self, context: &Context) -> anyhow::Result<Option<u64>> {
        Ok(self.timeout.or(context.settings()?.timeout_ms))
    }

    /// Returns how long programs may go on after they were asked to end.
    pub(crate) fn grace(&self, context: &Context) -> anyhow::Result<Duration> {
        let grace_ms = self.grace.or(context.settings()?.grace_ms);
        Ok(grace_ms.map_or(DEFAULT_GRACE, Duration::from_millis))
    }

    // Options are in MiB. Their numbers are limited, so the shifts cannot overflow.
    fn memory_bytes(&self, context: &Context) -> anyhow::Result<Option<u64>> {
        let memory = self.memory.or(context.settings()?.memory_mib);
        Ok(memory.map(|mib| mib << 20))
    }

    fn scratch_bytes(&self) -> Option<u64> {
        self.scratch.map(|mib| mib << 20)
    }

    fn file_bytes(&self) -> Option<u64> {
        self.file_size.map(|mib| mib << 20)
    }

    /// Returns the working directory, `None` for that of the skill. Instructions of skills name
    /// files of the user relative to the project, so it is the workspace by default.
    fn current_dir(&self, workspace: &Workspace) -> anyhow::Result<Option<PathBuf>> {
        match (self.cwd, workspace) {
            (Some(WorkingDirectory::Skill), _) | (None, Workspace::None) => Ok(None),
            (_, Workspace::Directory(directory)) => Ok(Some(directory.clone())),
            _ => Err(CommandError::input(
                "`--cwd workspace` needs a workspace: pass `--workspace DIR`".to_owned(),
            )
            .into()),
        }
    }

    /// Returns the `.env` files of the settings and of the options.
    pub(crate) fn env_files(&self, context: &Context) -> anyhow::Result<Vec<PathBuf>> {
        let settings = &context.settings()?.env_files;
        Ok(settings.iter().chain(&self.env_file).cloned().collect())
    }

    /// Returns the variables of the `.env` files of the settings and of the options; later files
    /// override earlier ones.
    fn secrets(&self, context: &Context) -> anyhow::Result<Secrets> {
        let settings = context.settings_secrets()?;
        let given = context.read_env_files(&self.env_file)?;
        let variables = env_files::pairs(settings).chain(env_files::pairs(&given));
        Ok(variables.collect())
    }
}

/// Returns the option or the user's setting that a limit is from, as an error names it; `None` if
/// it is from a project.
fn limit_origin(
    given: Option<u64>,
    option: &str,
    setting: &str,
    context: &Context,
) -> anyhow::Result<Option<String>> {
    if given.is_some() {
        return Ok(Some(format!("`{option}`")));
    }
    let user_file = SettingsPaths::new(&context.environment).user;
    let file = context.settings()?.file_of(setting);
    Ok(file
        .filter(|file| Some(*file) == user_file.as_deref())
        .map(|file| format!("`{setting}` in `{}`", file.display())))
}

/// Returns the error about a limit that the policy lowers.
fn without_effect(origin: &str, allowed: f64, unit: &str) -> anyhow::Error {
    let message = format!("{origin} has no effect: the policy allows at most {allowed} {unit}");
    CommandError::input(message).into()
}

fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Lets runs install missing packages, if the settings do not say otherwise.
#[cfg(all(feature = "packages", unix))]
fn with_packages(builder: Builder, context: &Context) -> anyhow::Result<Builder> {
    let config =
        crate::packages::package_config(&context.settings()?.packages, &context.environment)?;
    Ok(config.into_iter().fold(builder, Builder::packages))
}

#[cfg(not(all(feature = "packages", unix)))]
fn with_packages(builder: Builder, _context: &Context) -> anyhow::Result<Builder> {
    Ok(builder)
}

fn canonicalize_all(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    paths.iter().map(|path| canonicalize(path)).collect()
}

/// Returns a rule that allows to write a file or directory.
pub(crate) fn allow_writing(path: &Path, source: RuleSource, origin: &str) -> anyhow::Result<Rule> {
    // Rules about paths are compared with resolved paths.
    let target = Target::write(resolve_writable(path)?)
        .map_err(|error| CommandError::input(format!("{origin}: {error}")))?;
    Ok(Rule::new(Effect::Allow, source, target).origin(origin))
}

fn resolve_writable(path: &Path) -> anyhow::Result<PathBuf> {
    let (Err(_), Some(name)) = (path.symlink_metadata(), path.file_name()) else {
        return canonicalize(path);
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    let mut resolved = parent
        .with_context(|| CommandError::input(format!("cannot resolve `{}`", path.display())))?
        .join(name);
    // Says that it is a directory.
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        resolved.push("");
    }
    Ok(resolved)
}

fn canonicalize(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize()
        .with_context(|| CommandError::input(format!("cannot resolve `{}`", path.display())))
}

/// Parses a positive number of seconds, with fractions, into milliseconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    let milliseconds = (seconds * 1_000.0).round();
    // Written so that NaN does not fit.
    let fits = seconds <= MAX_SECONDS as f64 && milliseconds >= 1.0;
    if fits {
        Ok(milliseconds as u64)
    } else {
        Err("expected a number from 0.001".to_owned())
    }
}

/// Parses a grace in seconds, with fractions, into milliseconds.
fn parse_grace(text: &str) -> Result<u64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    let max = ExecutionOptions::MAX_GRACE.as_secs();
    // Also rejects NaN.
    if (0.0..=max as f64).contains(&seconds) {
        Ok((seconds * 1_000.0).round() as u64)
    } else {
        Err(format!("expected 0 to {max}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(parse_seconds("1.5"), Ok(1_500));
        assert_eq!(parse_seconds("86400"), Ok(86_400_000));
        for wrong in ["0", "-1", "nan", "inf", "x", "1e10"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_grace_may_be_zero_and_is_limited() {
        assert_eq!(parse_grace("0"), Ok(0));
        assert_eq!(parse_grace("0.25"), Ok(250));
        for wrong in ["-1", "-0.1", "nan", "inf", "x", "60.1"] {
            assert!(parse_grace(wrong).is_err(), "{wrong}");
        }
    }
}
