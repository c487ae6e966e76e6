//! Errors as people and programs want them.

use serde_json::json;
use skills_build::{BuildError, BuildErrorKind};
use skills_runtime::{ErrorKind, RuntimeError, SandboxError, SandboxErrorKind};

use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// Prints an error and chooses the exit code.
pub(crate) fn report(error: &anyhow::Error, output: &Output) -> Exit {
    let runtime = error.downcast_ref::<RuntimeError>();
    let candidates = runtime.map_or(&[][..], RuntimeError::candidates);
    let build = error.downcast_ref::<BuildError>().map(BuildError::kind);
    let hint = runtime.and_then(RuntimeError::sandbox).and_then(SandboxError::hint).or_else(|| build.and_then(advice));
    let message = format!("{error:#}");
    if output.is_json() {
        let document = json!({"error": {"code": code(error), "message": message, "candidates": candidates, "hint": hint}});
        if output.document(&document).is_err() {
            output.note(&format!("error: {message}"));
        }
    } else {
        // What a compiler says has lines of its own.
        if build == Some(BuildErrorKind::Failed) {
            output.notes(&format!("error: {message}"))
        } else {
            output.note(&format!("error: {message}"))
        }
        if let Some(line) = suggestion(runtime, candidates).or_else(|| Some(format!("  {}", build.and_then(advice)?))) {
            output.note(&line);
        }
    }
    exit(error)
}

/// Prints what is wrong with the command line, as a document where one was asked for; help and version are no mistakes.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if wants_json && error.use_stderr() {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let document = json!({"error": {"code": "usage", "message": message, "candidates": [], "hint": null}});
        if Output::new(true).document(&document).is_ok() {
            return Exit::Usage;
        }
    }
    // When nobody reads it there is nobody left to tell.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

fn suggestion(error: Option<&RuntimeError>, candidates: &[String]) -> Option<String> {
    let (first, rest) = candidates.split_first()?;
    Some(match error?.kind() {
        ErrorKind::UnknownSkill if rest.is_empty() => format!("  did you mean `{first}`?"),
        ErrorKind::Requirements => return None,
        ErrorKind::UnknownSkill => format!("  did you mean one of: {}?", candidates.join(", ")),
        _ => format!("  there are: {}", candidates.join(", ")),
    })
}

/// What an author can do about it.
fn advice(kind: BuildErrorKind) -> Option<&'static str> {
    match kind {
        BuildErrorKind::MissingTool => Some("`skills build --install` gets what npm, pip and rustup have, into a directory of its own"),
        BuildErrorKind::NoSource => Some("`skills new NAME --lang rust` (js, ts, c, python) makes a skill with source"),
        _ => None,
    }
}

fn code(error: &anyhow::Error) -> &'static str {
    if let Some(build) = error.downcast_ref::<BuildError>() {
        return build.kind().code();
    }
    match error.downcast_ref::<RuntimeError>() {
        Some(runtime) => runtime.sandbox().map_or(runtime.kind().code(), |sandbox| sandbox.kind().code()),
        None if error.is::<InputError>() => "input",
        None => "io",
    }
}

fn exit(error: &anyhow::Error) -> Exit {
    if error.is::<InputError>() {
        return Exit::Usage;
    }
    if let Some(build) = error.downcast_ref::<BuildError>() {
        let is_usage = matches!(build.kind(), BuildErrorKind::NoSource | BuildErrorKind::SeveralLanguages);
        return if is_usage { Exit::Usage } else { Exit::Failed };
    }
    let Some(error) = error.downcast_ref::<RuntimeError>() else { return Exit::Failed };
    match error.sandbox().map(SandboxError::kind) {
        None if matches!(error.kind(), ErrorKind::Restricted | ErrorKind::Changed | ErrorKind::Symlink | ErrorKind::Audit) => Exit::Denied,
        Some(SandboxErrorKind::Load) | None => Exit::Failed,
        Some(_) => Exit::Denied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_walls_is_as_bad_as_a_missing_wall() {
        for error in
            [SandboxError::unsupported_platform("windows"), SandboxError::unavailable("Landlock", "the kernel is old", "update it")]
        {
            assert_eq!(exit(&RuntimeError::from(error).into()), Exit::Denied);
        }
        assert_eq!(exit(&RuntimeError::from(SandboxError::load("it is text")).into()), Exit::Failed);
        let unsupported = anyhow::Error::from(RuntimeError::from(SandboxError::unsupported_platform("windows")));
        assert_eq!(code(&unsupported), "unsupported-platform");
    }
}
