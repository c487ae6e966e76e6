//! Errors of the command, and their report as text with hints or as JSON.

use std::error::Error;
use std::fmt;
use std::io;

use clap::error::{ContextKind, ContextValue};
use serde_json::{Value, json};
use skills_client_config::{ConfigError, EditError};
use skills_runtime::{ErrorKind, RuntimeError, SandboxError, SandboxErrorKind};

use skills_store::trusted_file::TrustError;
use skills_threads::ThreadError;

use crate::exit::{Exit, ExitCodes};
use crate::output::{Output, has_printed_result};
use crate::run_exit::RunExit;
use crate::suggested_command::complete_commands;

/// An error with what is reported about it: code, exit code and hint.
#[derive(Debug, Clone)]
pub(crate) struct CommandError {
    code: &'static str,
    exit: Exit,
    /// The exit code of a run with this error.
    run_exit: RunExit,
    message: String,
    /// Whether the line ends of the message are printed, as for the output of a compiler.
    has_lines: bool,
    /// Similar or possible names.
    candidates: Vec<String>,
    /// What to do, without the prefix `help:`.
    help: Option<String>,
    /// A hint made of the candidates. It is not in JSON documents, which have the candidates.
    suggestion: Option<String>,
}

impl CommandError {
    pub(crate) fn new(code: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self {
            code,
            exit,
            run_exit: match exit {
                Exit::Run(run_exit) => run_exit,
                _ => RunExit::from_error_code(code),
            },
            message: message.into(),
            has_lines: false,
            candidates: Vec::new(),
            help: None,
            suggestion: None,
        }
    }

    /// Creates an error about invalid input or usage, as opposed to a failed skill.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new("input", Exit::Usage, message)
    }

    /// Creates an error about a run or call of this name that a signal ended without a result.
    pub(crate) fn interrupted(name: &str, exit: Exit) -> Self {
        let message = format!("`{name}` was interrupted");
        Self::new("cancelled", exit, message)
    }

    /// Creates an error about a part that this program was compiled without.
    #[cfg(not(all(
        feature = "build",
        feature = "install",
        feature = "mcp",
        feature = "mcp-http",
        feature = "wasm"
    )))]
    pub(crate) fn missing_feature(part: &str, feature: &str) -> Self {
        let message = format!("this `skills` was compiled without {part}");
        Self::new("missing-feature", Exit::Usage, message)
            .with_help(format!("compile it with `--features {feature}`"))
    }

    /// Creates an error of the runtime with a hint that needs the arguments or the file system.
    pub(crate) fn with_hint(error: &RuntimeError, help: impl Into<String>) -> Self {
        Self {
            suggestion: None,
            ..Self::from(error).with_help(help)
        }
    }

    /// Creates an error about a thread or process that the system does not start.
    pub(crate) fn process_limit(message: impl Into<String>) -> Self {
        Self::new("process-limit", Exit::Failed, message)
            .with_help("raise the limit of processes of this user (`ulimit -u`)")
    }

    /// Creates an error about something that was named on the command line.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new("not-found", Exit::Failed, message)
    }

    /// Adds names that exist, which text shows as a hint.
    pub(crate) fn with_candidates(mut self, candidates: Vec<String>) -> Self {
        self.suggestion =
            (!candidates.is_empty()).then(|| format!("available: {}", candidates.join(", ")));
        self.candidates = candidates;
        self
    }

    /// Adds a hint, without the prefix `help:`.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a cause, which the message shows after a colon.
    pub(crate) fn with_cause(mut self, cause: &str) -> Self {
        self.message = format!("{}: {cause}", self.message);
        self
    }

    /// Prints the line ends of the message as they are.
    #[cfg(feature = "build")]
    pub(crate) fn with_lines(mut self) -> Self {
        self.has_lines = true;
        self
    }

    /// Converts any error of a command, with the exit code that a run with this error has.
    pub(crate) fn of_run(error: &anyhow::Error) -> Self {
        let error = Self::from_any(error);
        Self {
            exit: Exit::Run(error.run_exit),
            ..error
        }
    }

    /// Converts any error of a command.
    fn from_any(error: &anyhow::Error) -> Self {
        let known = if let Some(known) = error.downcast_ref::<Self>() {
            known.clone()
        } else if let Some(error) = error.downcast_ref::<RuntimeError>() {
            Self::from(error)
        } else if let Some(error) = error.downcast_ref::<ConfigError>() {
            Self::from(error)
        } else if error.is::<TrustError>() {
            // As for other errors of files that the user wrote.
            Self::input("")
        } else {
            Self::new("io", Exit::Failed, "")
        };
        let untrusted = error.chain().find_map(TrustError::find);
        let known = if needs_process(error) {
            Self::process_limit("")
        } else {
            known
        };
        Self {
            help: known.help.or_else(|| untrusted?.help()),
            // With the causes.
            message: format!("{error:#}"),
            ..known
        }
    }
}

/// Returns true if an error is that of a thread that the system does not start, or of a process of a
/// sandbox.
fn needs_process(error: &anyhow::Error) -> bool {
    let runtime: Option<&RuntimeError> = error.downcast_ref();
    let starts_process = runtime.and_then(RuntimeError::sandbox).is_some();
    ThreadError::is_in(error.as_ref()) || starts_process && is_process_limit(error.as_ref())
}

/// Returns true if an operation that started threads or processes failed because the system does not
/// start another one.
pub(crate) fn is_process_limit(error: &(dyn Error + 'static)) -> bool {
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    ThreadError::is_in(error)
        || error.downcast_ref().is_some_and(is_refused)
        || error.source().is_some_and(is_process_limit)
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CommandError {}

impl From<&RuntimeError> for CommandError {
    fn from(error: &RuntimeError) -> Self {
        let sandbox = error.sandbox();
        let code = sandbox.map_or(error.kind().code(), |sandbox| sandbox.kind().code());
        let command_error = Self::new(code, runtime_exit(error), error.to_string());
        let has_no_interpreter = sandbox.is_some_and(SandboxError::is_missing_interpreter);
        Self {
            run_exit: if has_no_interpreter {
                RunExit::NotFound
            } else {
                command_error.run_exit
            },
            candidates: error.suggestions().to_vec(),
            help: help(error),
            suggestion: suggestion_with_unusable(error),
            ..command_error
        }
    }
}

impl From<&ConfigError> for CommandError {
    fn from(error: &ConfigError) -> Self {
        let message = error.to_string();
        match error {
            ConfigError::NoProjectConfig { .. } => {
                Self::input(message).with_help("register without `--project`")
            }
            ConfigError::Unusable {
                error: EditError::UnsupportedLayout,
                ..
            } => {
                Self::input(message).with_help("nothing was written; add the entry in your editor")
            }
            ConfigError::Unusable { .. } => {
                Self::input(message).with_help("nothing was written; fix the file or move it away")
            }
            ConfigError::Project { .. }
            | ConfigError::Changed { .. }
            | ConfigError::Busy { .. }
            | ConfigError::Write { .. } => Self::new("io", Exit::Failed, message),
            _ => Self::input(message),
        }
    }
}

fn help(error: &RuntimeError) -> Option<String> {
    if error.sandbox().is_some_and(SandboxError::needs_host) {
        return Some("allow the host with `--allow network:HOST`".to_owned());
    }
    error.hint().map(str::to_owned)
}

/// Returns the suggestion, and why each other file that may have been meant cannot run.
fn suggestion_with_unusable(error: &RuntimeError) -> Option<String> {
    let unusable = error.unusable_scripts().iter().cloned();
    let all: Vec<String> = suggestion(error).into_iter().chain(unusable).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn suggestion(error: &RuntimeError) -> Option<String> {
    let candidates = error.suggestions();
    let (first, rest) = candidates.split_first()?;
    Some(match error.kind() {
        ErrorKind::UnknownSkill if rest.is_empty() => format!("did you mean `{first}`?"),
        // No option changes this.
        ErrorKind::MissingRequirements if error.is_refused_by_policy() => {
            "the policy refuses missing requirements; install programs in /usr/bin or /usr/local/bin, and pass variables with `--env NAME=VALUE` or `--env-file FILE`".to_owned()
        }
        ErrorKind::MissingRequirements => {
            "install programs in /usr/bin or /usr/local/bin, or run it anyway with `--ignore-requirements`".to_owned()
        }
        ErrorKind::UnknownSkill => format!("did you mean one of {}?", candidates.join(", ")),
        ErrorKind::AmbiguousScript => format!(
            "select one with `--script NAME`, or with `action` in the input: {}",
            candidates.join(", ")
        ),
        ErrorKind::NothingToRun => format!(
            "select a script of a subdirectory with `--script NAME`: {}",
            candidates.join(", ")
        ),
        _ => format!("available: {}", candidates.join(", ")),
    })
}

fn runtime_exit(error: &RuntimeError) -> Exit {
    match error.sandbox().map(SandboxError::kind) {
        // The run was rejected before it started, like a denial by policy; the skill did not fail.
        None if matches!(
            error.kind(),
            ErrorKind::InvalidRestriction
                | ErrorKind::ContentChanged
                | ErrorKind::Symlink
                | ErrorKind::Audit
        ) =>
        {
            Exit::Denied
        }
        Some(SandboxErrorKind::InvalidProgram) | None => Exit::Failed,
        Some(_) => Exit::Denied,
    }
}

/// Reports the result of a command and returns the exit code.
///
/// With `--json` a failed command leaves exactly one document on standard output: the one that it
/// printed, or one with the error.
pub(crate) fn report_result(
    result: anyhow::Result<Exit>,
    output: Output,
    codes: ExitCodes,
) -> Exit {
    match result {
        Ok(exit) => {
            if let Some((code, message)) = exit.failure()
                && needs_document(output)
            {
                let error = CommandError::new(code, exit, message);
                print_document(&error.into(), exit, output);
            }
            exit
        }
        Err(error) => {
            let exit = exit_with_codes(&error, codes);
            if needs_document(output) {
                print_document(&error, exit, output);
            } else {
                print_error(&error, output);
            }
            exit
        }
    }
}

/// Returns the exit code of an error of a command with these codes.
fn exit_with_codes(error: &anyhow::Error, codes: ExitCodes) -> Exit {
    let error = CommandError::from_any(error);
    match codes {
        ExitCodes::OfCommand => error.exit,
        ExitCodes::OfRun => Exit::Run(error.run_exit),
    }
}

/// Returns true if the output is JSON and no document was printed.
fn needs_document(output: Output) -> bool {
    output.is_json() && !has_printed_result()
}

fn print_document(error: &anyhow::Error, exit: Exit, output: Output) {
    let mut document = json!({"error": to_json(error)});
    if let Exit::Run(exit) = exit {
        document["exit"] = exit.to_json();
    }
    if output.print_json(&document).is_err() {
        output.status(&format!("error: {error:#}"));
    }
}

/// Prints an error as text, with a hint if there is one.
pub(crate) fn print_error(error: &anyhow::Error, output: Output) {
    let error = CommandError::from_any(error);
    let message = format!("error: {error}");
    if error.has_lines {
        output.status_lines(&message);
    } else {
        output.status(&message);
    }
    if let Some(hint) = error.suggestion.or(error.help) {
        output.status(&format!("help: {hint}"));
    }
}

pub(crate) fn to_json(error: &anyhow::Error) -> Value {
    let error = CommandError::from_any(error);
    let hint = error.help.as_deref().map(complete_commands);
    json!({"code": error.code, "message": error.message, "candidates": error.candidates, "hint": hint})
}

/// Returns the exit code of an error.
pub(crate) fn exit_status(error: &anyhow::Error) -> Exit {
    CommandError::from_any(error).exit
}

/// Prints a usage error, as JSON if `--json` was given. Help and version are printed with exit code
/// 0.
pub(crate) fn report_usage(error: &clap::Error, codes: ExitCodes) -> Exit {
    // The arguments could not be parsed, so the option is searched for in their text.
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr() {
        // A closed stream is ignored.
        let _ = error.print();
        return Exit::Success;
    }
    let exit = match codes {
        ExitCodes::OfCommand => Exit::Usage,
        ExitCodes::OfRun => Exit::Run(RunExit::Failed),
    };
    if !wants_json || print_usage_json(error, exit).is_err() {
        let _ = error.print();
    }
    exit
}

fn print_usage_json(error: &clap::Error, exit: Exit) -> anyhow::Result<()> {
    // What clap prints after `tip:`.
    let hint = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(hints)) => hints.first().map(ToString::to_string),
        _ => None,
    };
    let mut document = json!({"error": {
        "code": "usage",
        "message": usage_message(error),
        "candidates": usage_candidates(error),
        "hint": hint,
    }});
    if let Exit::Run(exit) = exit {
        document["exit"] = exit.to_json();
    }
    Output::Json.print_json(&document)
}

/// Returns similar names, or all possible ones if none is similar.
fn usage_candidates(error: &clap::Error) -> Vec<String> {
    const SIMILAR: [ContextKind; 3] = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    const POSSIBLE: [ContextKind; 2] = [ContextKind::ValidValue, ContextKind::ValidSubcommand];
    let kinds = SIMILAR.into_iter().chain(POSSIBLE);
    kinds
        .map(|kind| match error.get(kind) {
            Some(ContextValue::String(name)) => vec![name.clone()],
            Some(ContextValue::Strings(names)) => names.clone(),
            _ => Vec::new(),
        })
        .find(|names| !names.is_empty())
        .unwrap_or_default()
}

/// Returns the error in one line, without usage and hints for people. A line that ends with a colon
/// is followed by a list, such as that of the missing arguments.
pub(crate) fn usage_message(error: &clap::Error) -> String {
    // The text is the help.
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is required; `--help` lists them".to_owned();
    }
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    if !first.ends_with(':') {
        return first.to_owned();
    }
    let items: Vec<&str> = lines
        .map_while(|line| line.strip_prefix("  "))
        .map(str::trim)
        .collect();
    format!("{first} {}", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_platform_and_an_unavailable_restriction_are_both_denied() {
        for error in [
            SandboxError::unsupported_platform("windows"),
            SandboxError::unavailable("Landlock", "the kernel is old", "update it"),
        ] {
            assert_eq!(exit_status(&RuntimeError::from(error).into()), Exit::Denied);
        }
        assert_eq!(
            exit_status(&RuntimeError::from(SandboxError::invalid_program("it is text")).into()),
            Exit::Failed
        );
        let unsupported = anyhow::Error::from(RuntimeError::from(
            SandboxError::unsupported_platform("windows"),
        ));
        assert_eq!(to_json(&unsupported)["code"], "unsupported-platform");
    }

    #[test]
    fn a_program_that_needs_a_host_names_the_option() {
        let error = RuntimeError::from(SandboxError::host_required("wasm", "wasi:http"));
        let error = CommandError::from(&error);
        assert_eq!(
            error.message,
            "cannot run the job in the wasm sandbox: the program requires wasi:http, but no host is granted"
        );
        assert_eq!(
            error.help.as_deref(),
            Some("allow the host with `--allow network:HOST`")
        );
    }
}
