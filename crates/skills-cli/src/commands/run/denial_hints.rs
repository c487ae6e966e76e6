//! Hints about options that would allow a denied run.

use skills_runtime::Remedy;
use skills_runtime::policy::{Denial, Target};

use crate::shell::{is_shell_word, shell_word};

/// Returns hints for permissions that were denied for lack of a rule or an approval. Users copy
/// hints into a shell, so text of a skill is included only if it is a single shell word.
pub(super) fn denial_hints(denial: &Denial, skill: &str) -> Vec<String> {
    let mut hints = Vec::new();
    // An approval or `--allow` does not override a `deny` rule, so neither is suggested then.
    if !denial.denied().any(|decision| decision.is_final()) {
        hints.extend(allow_hint(denial));
        hints.extend(denial.denied().filter_map(|decision| {
            let caution = decision.permission().caution()?;
            let permission = decision.permission();
            Some(format!(
                "no option is suggested for {permission}: {caution}"
            ))
        }));
        if is_shell_word(skill) {
            hints.push(format!(
                "approve this content permanently with `skills trust {skill}` and the same options"
            ));
        }
    }
    // A skill can request many hosts or programs, but `--without` drops the capability as a whole.
    let mut without = Vec::new();
    for decision in denial.denied() {
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
fn allow_hint(denial: &Denial) -> Option<String> {
    let Remedy::Allow { rules } = Remedy::for_denial(denial)? else {
        return None;
    };
    let options: Option<Vec<String>> = rules
        .iter()
        .map(|target| Some(format!("--allow {}", shell_word(target)?)))
        .collect();
    let options = options?.join(" ");
    Some(format!("allow it for this run with `{options}`"))
}
