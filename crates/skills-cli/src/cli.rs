//! The command line: commands and their help.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(all(feature = "packages", unix))]
use crate::commands::deps;
#[cfg(feature = "mcp")]
use crate::commands::mcp;
use crate::commands::{
    accept, audit, build, call, compat, completions, config, doctor, list, new, policy, prompt,
    quality, run, search, show, tools, trust, usage, validate, wasm,
};
#[cfg(feature = "install")]
use crate::commands::{add, lock, outdated, publish, remove, update, verify};
use crate::context::Context;
use crate::deferred::Deferred;
#[cfg(not(all(feature = "install", feature = "mcp")))]
use crate::error::CommandError;
use crate::exit::{Exit, ExitCodes};
use crate::global_options::GlobalOptions;

/// Name of the command in its help and version.
const NAME: &str = "skills";

/// Find, check, show and safely run agent skills
///
/// A skill is a directory with a SKILL.md. Without --root, the skill directories of known clients
/// are searched, such as .agents/skills and .claude/skills of the project and of the home
/// directory; `skills list --roots` lists them.
#[derive(Debug, Parser)]
#[command(name = NAME, version, max_term_width = 100, after_help = Exit::help())]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: GlobalOptions,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands. [`SECTIONS`] lists the visible ones.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(Deferred<list::List>),
    Search(Deferred<search::Search>),
    Show(Deferred<show::Show>),
    New(Deferred<new::New>),
    Validate(Deferred<validate::Validate>),
    Build(Deferred<build::Build>),
    #[cfg(all(feature = "packages", unix))]
    Deps(Deferred<deps::Deps>),
    #[command(flatten)]
    Install(InstallCommand),
    Run(Deferred<run::Run>),
    Trust(Deferred<trust::Trust>),
    Accept(Deferred<accept::Accept>),
    #[cfg(feature = "mcp")]
    Mcp(Deferred<mcp::Mcp>),
    #[cfg(not(feature = "mcp"))]
    #[command(hide = true)]
    Mcp(AnyArguments),
    Prompt(Deferred<prompt::Prompt>),
    Tools(Deferred<tools::Tools>),
    Call(Deferred<call::Call>),
    Wasm(Deferred<wasm::Wasm>),
    Doctor(Deferred<doctor::Doctor>),
    Config(Deferred<config::Config>),
    Policy(Deferred<policy::Policy>),
    Audit(Deferred<audit::Audit>),
    Usage(Deferred<usage::Usage>),
    Quality(Deferred<quality::Quality>),
    Compat(Deferred<compat::Compat>),
    Completions(Deferred<completions::Completions>),
}

/// The commands that install skills.
#[cfg(feature = "install")]
#[derive(Debug, Subcommand)]
pub(crate) enum InstallCommand {
    Add(Deferred<add::Add>),
    Outdated(Deferred<outdated::Outdated>),
    Update(Deferred<update::Update>),
    Verify(Deferred<verify::Verify>),
    Remove(Deferred<remove::Remove>),
    Lock(Deferred<lock::Lock>),
    Publish(Deferred<publish::Publish>),
}

/// The commands that install skills, which this program was compiled without.
#[cfg(not(feature = "install"))]
#[derive(Debug, Subcommand)]
#[command(hide = true)]
pub(crate) enum InstallCommand {
    Add(AnyArguments),
    Outdated(AnyArguments),
    Update(AnyArguments),
    Verify(AnyArguments),
    Remove(AnyArguments),
    Lock(AnyArguments),
    Publish(AnyArguments),
}

/// Arguments that are not read.
#[cfg(not(all(feature = "install", feature = "mcp")))]
#[derive(Debug, clap::Args)]
pub(crate) struct AnyArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

#[cfg(not(feature = "install"))]
impl InstallCommand {
    fn run(&self, _context: &Context) -> anyhow::Result<Exit> {
        Err(CommandError::missing_feature("the installation of skills", "install").into())
    }
}

/// The sections of the help, with their commands. Those of features that are off are left out.
const SECTIONS: [(&str, &str); 5] = [
    (
        "Manage skills",
        "list search show new validate build accept",
    ),
    (
        "Install skills",
        "add outdated update verify remove lock publish",
    ),
    ("Run skills", "run call trust deps wasm"),
    ("Integrate with agents", "mcp prompt tools compat"),
    (
        "Inspect and set up",
        "doctor quality usage config policy audit completions help",
    ),
];

impl Arguments {
    /// Parses the arguments of this process. Does not exit, since errors are JSON with `--json`.
    ///
    /// Help and errors come from the complete definition, which has the commands in sections.
    pub(crate) fn from_process() -> Result<Self, clap::Error> {
        Self::from_list(&std::env::args_os().collect::<Vec<_>>())
    }

    fn from_list(arguments: &[OsString]) -> Result<Self, clap::Error> {
        match Self::from_definition(Self::definition_for(arguments), arguments) {
            // The version needs no definition of the commands.
            Err(error) if error.kind() != ErrorKind::DisplayVersion => {
                Self::from_definition(Self::definition_with_sections(), arguments)
            }
            result => result,
        }
    }

    fn from_definition(
        definition: clap::Command,
        arguments: &[OsString],
    ) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut definition.try_get_matches_from(arguments)?)
    }

    /// Returns a definition of the command line with the commands that are among `arguments`.
    ///
    /// What it accepts, the complete definition accepts with the same result. clap copies the
    /// options of every command into each command, which takes longer than to parse.
    fn definition_for(arguments: &[OsString]) -> clap::Command {
        let mut definition = clap::Command::new(NAME)
            .version(env!("CARGO_PKG_VERSION"))
            .subcommand_required(true);
        let is_named = |name: &str| arguments.iter().any(|word| word == name);
        let mut words = arguments.iter().filter_map(|word| word.to_str());
        if words.any(Command::has_subcommand) {
            let all = Command::augment_subcommands(clap::Command::new(NAME));
            let named = all
                .get_subcommands()
                .filter(|command| is_named(command.get_name()));
            definition = definition.subcommands(named.cloned());
        }
        GlobalOptions::augment_args(definition)
    }

    /// Returns the complete definition of the command line.
    pub(crate) fn definition() -> clap::Command {
        // Built before the options of every command, which its help lists below its own.
        #[cfg(feature = "mcp")]
        return Self::command().mut_subcommands(|command| match command.get_name() {
            "mcp" => mcp::Mcp::augment_args(command).defer(|command| command),
            _ => command,
        });
        #[cfg(not(feature = "mcp"))]
        Self::command()
    }

    /// Returns the exit codes of the command that this process was called for, although its
    /// arguments have this error.
    pub(crate) fn exit_codes_of_process(error: &clap::Error) -> ExitCodes {
        // The help is an error as well, and always a success.
        if !error.use_stderr() {
            return ExitCodes::OfCommand;
        }
        let matches = Self::definition().ignore_errors(true).try_get_matches();
        let is_run = matches.is_ok_and(|matches| matches.subcommand_name() == Some("run"));
        // The matches end at the error, so the option is searched for in the text of the arguments,
        // up to those of the program.
        let is_preview = || {
            let options = std::env::args_os().take_while(|argument| argument != "--");
            options.into_iter().any(|argument| argument == "--dry-run")
        };
        if is_run && !is_preview() {
            ExitCodes::OfRun
        } else {
            ExitCodes::OfCommand
        }
    }

    /// Returns the complete definition, with the commands in sections.
    fn definition_with_sections() -> clap::Command {
        let mut command = Self::definition();
        command.build();
        let template = format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{all-args}}{{after-help}}",
            render_sections(&command)
        );
        command
            .help_template(template)
            // clap lists the visible commands in addition, and has no section for them.
            .mut_subcommands(|command| command.hide(true))
            .override_usage("skills [OPTIONS] <COMMAND>")
    }
}

/// Returns the list of the commands in sections, which clap does not offer.
fn render_sections(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (title, names) in SECTIONS {
        if !names
            .split(' ')
            .any(|name| command.find_subcommand(name).is_some())
        {
            continue;
        }
        text.push_str(&format!("{header}{title}:{header:#}\n"));
        for name in names.split(' ') {
            let Some(known) = command.find_subcommand(name) else {
                continue;
            };
            let about = known.get_about().cloned().unwrap_or_default();
            text.push_str(&format!("  {literal}{name:<11}{literal:#}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

impl Command {
    /// Returns which exit codes the command has.
    pub(crate) fn exit_codes(&self) -> ExitCodes {
        match self {
            Self::Run(run) if run.starts_program() => ExitCodes::OfRun,
            _ => ExitCodes::OfCommand,
        }
    }

    // Within `main` the frames of all commands would be on the stack for the version, too.
    #[inline(never)]
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if context.options.frozen && !matches!(self, Self::Install(_)) {
            check_frozen(context)?;
        }
        match self {
            Self::List(list) => list.run(context),
            Self::Search(search) => search.run(context),
            Self::Show(show) => show.run(context),
            Self::New(new) => new.run(context),
            Self::Validate(validate) => validate.run(context),
            Self::Build(build) => build.run(context),
            #[cfg(all(feature = "packages", unix))]
            Self::Deps(deps) => deps.run(context),
            Self::Install(command) => command.run(context),
            Self::Run(run) => run.run(context),
            Self::Trust(trust) => trust.run(context),
            Self::Accept(accept) => accept.run(context),
            #[cfg(feature = "mcp")]
            Self::Mcp(mcp) => mcp.run(context),
            #[cfg(not(feature = "mcp"))]
            Self::Mcp(_) => Err(CommandError::missing_feature("the MCP server", "mcp").into()),
            Self::Prompt(prompt) => prompt.run(context),
            Self::Tools(tools) => tools.run(context),
            Self::Call(call) => call.run(context),
            Self::Wasm(wasm) => wasm.run(context),
            Self::Doctor(doctor) => doctor.run(context),
            Self::Config(config) => config.run(context),
            Self::Policy(policy) => policy.run(context),
            Self::Audit(audit) => audit.run(context),
            Self::Usage(usage) => usage.run(context),
            Self::Quality(quality) => quality.run(context),
            Self::Compat(compat) => compat.run(context),
            Self::Completions(completions) => completions.run(context),
        }
    }
}

/// Checks `--frozen` for the commands that install nothing.
#[cfg(feature = "install")]
fn check_frozen(context: &Context) -> anyhow::Result<()> {
    crate::install::check_frozen(context)
}

#[cfg(not(feature = "install"))]
fn check_frozen(_context: &Context) -> anyhow::Result<()> {
    Err(CommandError::missing_feature("lock files", "install").into())
}

#[cfg(feature = "install")]
impl InstallCommand {
    fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match self {
            Self::Add(add) => add.run(context),
            Self::Outdated(outdated) => outdated.run(context),
            Self::Update(update) => update.run(context),
            Self::Verify(verify) => verify.run(context),
            Self::Remove(remove) => remove.run(context),
            Self::Lock(lock) => lock.run(context),
            Self::Publish(publish) => publish.run(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_commands_are_parsed_as_by_the_complete_definition() {
        let lines = [
            "skills --version",
            "skills -V",
            "skills --json --version list",
            "skills list",
            "skills --root list search pdf --root run",
            "skills run --root run pdf --add-root=list -- search --json",
            "skills --json policy check pdf --nested",
            "skills mcp --log debug",
            "skills --max-depth 3 mcp install --client cursor",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let parse = |definition| {
                let parsed = Arguments::from_definition(definition, &words);
                parsed
                    .map(|arguments| format!("{arguments:?}"))
                    .map_err(|error| error.to_string())
            };
            let named = parse(Arguments::definition_for(&words));
            assert_eq!(
                named,
                parse(Arguments::definition_with_sections()),
                "{line}"
            );
            let is_version = line.contains("-V") || line.contains("--version");
            assert_eq!(named.is_ok(), !is_version, "{line}: {named:?}");
        }
    }

    #[test]
    fn each_visible_command_is_in_one_section() {
        let mut command = Arguments::command();
        command.build();
        let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut visible: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = SECTIONS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
        command.debug_assert();
    }
}
