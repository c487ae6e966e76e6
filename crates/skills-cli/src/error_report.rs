//! Error reporting: text with hints, or JSON.

use std::fmt;
use std::io::ErrorKind as ErrorKindOfIo;

use clap::error::{ContextKind, ContextValue};
use serde_json::{Value, json};
use skills_build::{BuildError, BuildErrorKind};
use skills_runtime::{ErrorKind, RuntimeError, SandboxError, SandboxErrorKind};

use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, OutputFormat};

/// Prints an error as text or JSON and returns the exit code.
pub(crate) fn report(error: &anyhow::Error, output: &Output) -> Exit {
    if !output.is_json() {
        print_error(error, output);
    } else if output
        .print_json(&json!({"error": to_json(error)}))
        .is_err()
    {
        output.status(&format!("error: {error:#}"));
    }
    exit_status(error)
}

/// Prints an error as text, with a hint if there is one.
pub(crate) fn print_error(error: &anyhow::Error, output: &Output) {
    let message = format!("error: {error:#}");
    // Compiler output has several lines.
    if error
        .downcast_ref::<BuildError>()
        .is_some_and(|build| build.kind() == BuildErrorKind::CompileFailed)
    {
        output.status_lines(&message);
    } else {
        output.status(&message);
    }
    let runtime = as_runtime_error(error);
    let candidates = runtime.map_or(&[][..], RuntimeError::suggestions);
    // A hint about this error is more specific than similar names.
    let hint = hinted(error)
        .or_else(|| suggestion(runtime, candidates))
        .or_else(|| any_hint(error, runtime));
    if let Some(line) = hint {
        output.status(&format!("help: {line}"));
    }
}

/// Returns an error as JSON.
pub(crate) fn to_json(error: &anyhow::Error) -> Value {
    let runtime = as_runtime_error(error);
    let candidates = runtime.map_or(&[][..], RuntimeError::suggestions);
    let hint = any_hint(error, runtime);
    json!({"code": error_code(error), "message": format!("{error:#}"), "candidates": candidates, "hint": hint})
}

fn as_runtime_error(error: &anyhow::Error) -> Option<&RuntimeError> {
    error
        .downcast_ref::<RuntimeError>()
        // An added hint does not change code and exit code of the error.
        .or_else(|| Some(&error.downcast_ref::<HintedError>()?.error))
}

/// Prints a usage error, as JSON if `--json` was given. Help and version are printed with exit code
/// 0.
pub(crate) fn report_usage(error: &clap::Error) -> Exit {
    // The arguments could not be parsed, so the option is searched for in their text.
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if wants_json && error.use_stderr() {
        let message = error.to_string();
        // The first line is the error; the others are usage and hints for people.
        let message = message
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let hint = usage_hint(error);
        let document =
            json!({"error": {"code": "usage", "message": message, "candidates": [], "hint": hint}});
        if Output::new(OutputFormat::Json)
            .print_json(&document)
            .is_ok()
        {
            return Exit::Usage;
        }
    }
    // A closed stream is ignored.
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Success
    }
}

/// Returns the hint that clap prints after `tip:`, if there is one.
fn usage_hint(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::Suggested)? {
        ContextValue::StyledStrs(hints) => hints.first().map(ToString::to_string),
        _ => None,
    }
}

fn suggestion(error: Option<&RuntimeError>, candidates: &[String]) -> Option<String> {
    let (first, rest) = candidates.split_first()?;
    Some(match error?.kind() {
        ErrorKind::UnknownSkill if rest.is_empty() => format!("did you mean `{first}`?"),
        ErrorKind::MissingRequirements => {
            "install programs in /usr/bin or /usr/local/bin; pass variables with `--env NAME` or `--env-file FILE`".to_owned()
        }
        ErrorKind::UnknownSkill => format!("did you mean one of {}?", candidates.join(", ")),
        _ => format!("available: {}", candidates.join(", ")),
    })
}

/// Returns the hint of the sandbox, or else one about the error.
fn any_hint(error: &anyhow::Error, runtime: Option<&RuntimeError>) -> Option<String> {
    let sandbox = runtime.and_then(RuntimeError::sandbox);
    let hint = sandbox.and_then(SandboxError::hint);
    hint.map(str::to_owned).or_else(|| error_hint(error))
}

fn hinted(error: &anyhow::Error) -> Option<String> {
    let hinted = error.downcast_ref::<HintedError>()?;
    Some(hinted.hint.clone())
}

/// Returns a hint about an error, if there is one.
fn error_hint(error: &anyhow::Error) -> Option<String> {
    if let Some(hint) = hinted(error) {
        return Some(hint);
    }
    if let Some(input) = error.downcast_ref::<InputError>() {
        return input.help().map(str::to_owned);
    }
    build_hint(error.downcast_ref::<BuildError>()?).map(str::to_owned)
}

/// Returns a hint for the author of a skill whose build failed.
fn build_hint(error: &BuildError) -> Option<&'static str> {
    match error.kind() {
        BuildErrorKind::MissingTool => {
            let installable = error
                .missing()
                .iter()
                .filter(|missing| missing.0.is_installable())
                .count();
            match error.missing().len() - installable {
                0 => Some(
                    "install them with `skills build --install` (npm, pip, rustup), in a separate directory",
                ),
                _ if installable > 0 => Some(
                    "install the other tools first, then the rest with `skills build --install` (npm, pip, rustup)",
                ),
                _ => None,
            }
        }
        BuildErrorKind::NoSource => Some(
            "create a skill with source with `skills new NAME --lang rust` (or js, ts, c, python)",
        ),
        BuildErrorKind::Stale => Some(
            "build it with `skills build` without `--check`; commit the artifact and its lock together",
        ),
        BuildErrorKind::NotReproduced => Some(
            "use the tool versions of the lock, or rebuild with `skills build --force` and commit artifact and lock",
        ),
        BuildErrorKind::Io => io_hint(std::error::Error::source(error)?.downcast_ref()?),
        _ => None,
    }
}

fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKindOfIo::NotFound => "check the path",
        ErrorKindOfIo::PermissionDenied => {
            "check the permissions of the file and of its parent directories with `ls -ld`"
        }
        ErrorKindOfIo::ReadOnlyFilesystem => {
            "write elsewhere: `--output` for the artifact, `XDG_CACHE_HOME` for the build cache"
        }
        ErrorKindOfIo::StorageFull | ErrorKindOfIo::QuotaExceeded => {
            "free disk space, or set `XDG_CACHE_HOME` to another file system"
        }
        _ => return None,
    })
}

/// An error of the runtime with a hint that needs the arguments or the file system, and optionally
/// with a cause that the runtime does not know.
#[derive(Debug)]
pub(crate) struct HintedError {
    error: RuntimeError,
    cause: Option<String>,
    hint: String,
}

impl HintedError {
    /// Adds a hint, without the prefix `help:`.
    pub(crate) fn new(error: RuntimeError, hint: impl Into<String>) -> Self {
        Self {
            error,
            cause: None,
            hint: hint.into(),
        }
    }

    /// Adds a cause, which the message shows after a colon.
    pub(crate) fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for HintedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for HintedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

fn error_code(error: &anyhow::Error) -> &'static str {
    if let Some(build) = error.downcast_ref::<BuildError>() {
        return build.kind().code();
    }
    match as_runtime_error(error) {
        Some(runtime) => runtime
            .sandbox()
            .map_or(runtime.kind().code(), |sandbox| sandbox.kind().code()),
        None if error.is::<InputError>() => "input",
        None => "io",
    }
}

/// Returns the exit code of an error.
pub(crate) fn exit_status(error: &anyhow::Error) -> Exit {
    if error.is::<InputError>() {
        return Exit::Usage;
    }
    if let Some(build) = error.downcast_ref::<BuildError>() {
        let is_usage = matches!(
            build.kind(),
            BuildErrorKind::NoSource | BuildErrorKind::AmbiguousLanguage
        );
        return if is_usage { Exit::Usage } else { Exit::Failed };
    }
    let Some(error) = as_runtime_error(error) else {
        return Exit::Failed;
    };
    match error.sandbox().map(SandboxError::kind) {
        // Refusals to run anything, like those of the policy, and not failures of the skill.
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
        assert_eq!(error_code(&unsupported), "unsupported-platform");
    }
}
