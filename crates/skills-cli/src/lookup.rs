//! Explains why a skill that was named on the command line cannot be used.

use skills_runtime::discovery::SkillStatus;
use skills_runtime::{ErrorKind, RuntimeError, SkillRuntime};

use crate::error_report::HintedError;
use crate::shell::is_shell_word;

/// Adds the cause and a hint to the error of a skill that is inactive or was not found. Other
/// errors are returned unchanged. `name` is the result of
/// [`resolve_skill_name`](crate::input::resolve_skill_name).
pub(crate) fn explain_error(
    runtime: &SkillRuntime,
    name: &str,
    error: RuntimeError,
) -> anyhow::Error {
    match error.kind() {
        ErrorKind::InactiveSkill => HintedError::new(error, explain_hint(name)).into(),
        ErrorKind::UnknownSkill => explain_unknown(runtime, name, error),
        _ => error.into(),
    }
}

fn explain_unknown(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    let explanation = runtime.discovery().explain(&runtime.catalog(), name);
    if explanation.status() == SkillStatus::Skipped {
        return HintedError::new(error, explain_hint(name))
            .with_cause("skipped by the scan")
            .into();
    }
    error.into()
}

fn explain_hint(name: &str) -> String {
    format!(
        "run `skills explain {}` with the same global options to see why",
        shown_argument(name, "NAME")
    )
}

/// Returns an argument that is a single shell word, and a placeholder for all others: users copy
/// hints into a shell.
fn shown_argument<'a>(argument: &'a str, placeholder: &'a str) -> &'a str {
    if is_shell_word(argument) {
        argument
    } else {
        placeholder
    }
}
