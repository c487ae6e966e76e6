//! Errors as people and programs want them.

use std::fmt;
use std::io::ErrorKind as ErrorKindOfIo;
use std::path::PathBuf;

use serde_json::{Value, json};
use skills_build::{BuildError, BuildErrorKind};
use skills_runtime::{ErrorKind, RuntimeError, SandboxError, SandboxErrorKind};

use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// Prints an error and chooses the exit code.
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

/// Prints an error for people, and what can be done about it.
pub(crate) fn print_error(error: &anyhow::Error, output: &Output) {
    let message = format!("error: {error:#}");
    // What a compiler says has lines of its own.
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
    if let Some(line) =
        suggestion(runtime, candidates).or_else(|| Some(format!("  {}", error_hint(error)?)))
    {
        output.status(&line);
    }
}

/// Returns an error for programs.
pub(crate) fn to_json(error: &anyhow::Error) -> Value {
    let runtime = as_runtime_error(error);
    let candidates = runtime.map_or(&[][..], RuntimeError::suggestions);
    let of_sandbox = runtime
        .and_then(RuntimeError::sandbox)
        .and_then(SandboxError::hint);
    let hint = of_sandbox.map(str::to_owned).or_else(|| error_hint(error));
    json!({"code": error_code(error), "message": format!("{error:#}"), "candidates": candidates, "hint": hint})
}

fn as_runtime_error(error: &anyhow::Error) -> Option<&RuntimeError> {
    error
        .downcast_ref::<RuntimeError>()
        .or_else(|| Some(&error.downcast_ref::<NotBuilt>()?.error))
}

/// Prints what is wrong with the command line, as a document where one was asked for; help and
/// version are no mistakes.
pub(crate) fn report_usage(error: &clap::Error) -> Exit {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if wants_json && error.use_stderr() {
        let message = error.to_string();
        let message = message
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let document =
            json!({"error": {"code": "usage", "message": message, "candidates": [], "hint": null}});
        if Output::new(true).print_json(&document).is_ok() {
            return Exit::Usage;
        }
    }
    // When nobody reads it there is nobody left to tell.
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Success
    }
}

fn suggestion(error: Option<&RuntimeError>, candidates: &[String]) -> Option<String> {
    let (first, rest) = candidates.split_first()?;
    Some(match error?.kind() {
        ErrorKind::UnknownSkill if rest.is_empty() => format!("  did you mean `{first}`?"),
        ErrorKind::MissingRequirements => return None,
        ErrorKind::UnknownSkill => format!("  did you mean one of: {}?", candidates.join(", ")),
        _ => format!("  there are: {}", candidates.join(", ")),
    })
}

/// What can be done about it.
fn error_hint(error: &anyhow::Error) -> Option<String> {
    if let Some(unbuilt) = error.downcast_ref::<NotBuilt>() {
        return Some(unbuilt.hint());
    }
    build_hint(error.downcast_ref::<BuildError>()?).map(str::to_owned)
}

/// What an author can do about it.
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
                    "`skills build --install` gets what npm, pip and rustup have, into a directory of its own",
                ),
                _ if installable > 0 => Some(
                    "once the others are here, `skills build --install` gets what npm, pip and rustup have",
                ),
                _ => None,
            }
        }
        BuildErrorKind::NoSource => {
            Some("`skills new NAME --lang rust` (js, ts, c, python) makes a skill with source")
        }
        BuildErrorKind::Stale => Some(
            "`skills build` without --check builds it; the artifact and its lock belong together",
        ),
        BuildErrorKind::NotReproduced => Some(
            "use the tools that the lock names, or `skills build --force` with these and keep artifact and lock",
        ),
        BuildErrorKind::Io => io_hint(std::error::Error::source(error)?.downcast_ref()?),
        _ => None,
    }
}

fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKindOfIo::NotFound => "look whether the path is right, and what stands there",
        ErrorKindOfIo::PermissionDenied => {
            "look at the rights of the file and of the directories above it: `ls -ld`"
        }
        ErrorKindOfIo::ReadOnlyFilesystem => {
            "write elsewhere: --output for the artifact, XDG_CACHE_HOME for what compilers keep"
        }
        ErrorKindOfIo::StorageFull | ErrorKindOfIo::QuotaExceeded => {
            "make room, or set XDG_CACHE_HOME to where there is some"
        }
        _ => return None,
    })
}

/// A skill that has nothing to run, but source.
#[derive(Debug)]
pub(crate) struct NotBuilt {
    /// The error of the run.
    pub(crate) error: RuntimeError,
    /// Where the skill lies.
    pub(crate) directory: PathBuf,
}

impl NotBuilt {
    fn hint(&self) -> String {
        format!(
            "it has source in `guest`: `skills build {}`",
            self.directory.display()
        )
    }
}

impl fmt::Display for NotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for NotBuilt {
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

/// Chooses the exit code.
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
    fn a_system_without_walls_is_as_bad_as_a_missing_wall() {
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
