//! Hints about options that would allow a denied run.

use skills_runtime::policy::{Denial, PermissionDecision, Target};

use crate::shell::{is_shell_word, shell_word};

/// Returns hints for permissions that were denied for lack of a rule or an approval. Users copy
/// hints into a shell, so text of a skill is included only if it is a single shell word.
pub(super) fn denial_hints(denial: &Denial, skill: &str) -> Vec<String> {
    let denied: Vec<&PermissionDecision> = denial.denied().collect();
    let mut hints = Vec::new();
    // An approval or `--allow` does not override a `deny` rule, so neither is suggested then.
    if !denied.iter().any(|decision| decision.is_final()) {
        hints.extend(allow_hint(&denied));
        if is_shell_word(skill) {
            hints.push(format!(
                "approve this content permanently with `skills trust {skill}` and the same options"
            ));
        }
    }
    // A skill can request many hosts or programs, but `--without` drops the capability as a whole.
    let mut without = Vec::new();
    for decision in denied {
        let name = Target::from(decision.permission().capability()).to_string();
        if !without.contains(&name) {
            without.push(name);
        }
    }
    if !without.is_empty() {
        hints.push(format!(
            "run without it with `--without {}`",
            without.join(" --without ")
        ));
    }
    hints
}

/// Returns the options that allow all denied permissions, or `None` if there is none for one of
/// them: the other options alone would not let the skill run.
fn allow_hint(denied: &[&PermissionDecision]) -> Option<String> {
    let mut options = Vec::new();
    for decision in denied {
        if !decision.is_allowable() {
            return None;
        }
        let target = decision.permission().rule_target()?;
        let option = format!("--allow {}", shell_word(&target.to_string())?);
        if !options.contains(&option) {
            options.push(option);
        }
    }
    let options = options.join(" ");
    (!options.is_empty()).then(|| format!("allow it for this run with `{options}`"))
}
