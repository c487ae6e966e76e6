//! Hints about options that would allow a denied run.

use skills_runtime::policy::{
    Capability, DecisionReason, Denial, Permission, PermissionDecision, RuleSource,
};

use crate::shell::{is_shell_word, shell_word};

/// Returns hints for permissions that were denied for lack of a rule or an approval. Users copy
/// hints into a shell, so text of a skill is included only if it is a single shell word.
pub(super) fn denial_hints(denial: &Denial, skill: &str) -> Vec<String> {
    let denied: Vec<&PermissionDecision> = denial.denied().collect();
    let mut hints = Vec::new();
    // An approval or `--allow` does not override a `deny` rule, so neither is suggested then.
    if !denied.iter().any(|decision| is_denied_by_rule(decision)) {
        hints.extend(allow_hint(&denied));
        if is_shell_word(skill) {
            hints.push(format!(
                "approve this content permanently with `skills trust {skill}` and the same options"
            ));
        }
    }
    let mut without: Vec<&str> = denied
        .iter()
        .map(|decision| match decision.permission().capability() {
            // As in rules.
            Capability::Environment => "env",
            capability => capability.as_str(),
        })
        .collect();
    // A skill can request many hosts or programs, but `--without` drops the capability as a whole.
    without.dedup();
    if !without.is_empty() {
        hints.push(format!(
            "run without it with `--without {}`",
            without.join(" --without ")
        ));
    }
    hints
}

fn is_denied_by_rule(decision: &PermissionDecision) -> bool {
    matches!(
        decision.reason(),
        DecisionReason::Rule { .. }
            | DecisionReason::Forbidden { .. }
            | DecisionReason::TooManyPermissions { .. }
    )
}

/// Returns the options that allow all denied permissions, or `None` if there is none for one of
/// them: the other options alone would not let the skill run.
fn allow_hint(denied: &[&PermissionDecision]) -> Option<String> {
    // No option overrides an `ask` rule of the administrator.
    if denied.iter().any(|decision| is_asked_by_admin(decision)) {
        return None;
    }
    let mut options: Vec<String> = denied
        .iter()
        .filter_map(|decision| shell_word(&allow_option(decision.permission())?))
        .collect();
    if options.is_empty() || options.len() != denied.len() {
        return None;
    }
    options.dedup();
    Some(format!(
        "allow it for this run with `--allow {}`",
        options.join(" --allow ")
    ))
}

fn is_asked_by_admin(decision: &PermissionDecision) -> bool {
    matches!(decision.ask_rule(), Some((RuleSource::Admin, _)))
}

/// Returns the value of `--allow` that grants a permission.
fn allow_option(permission: &Permission) -> Option<String> {
    Some(match permission {
        Permission::Write(path) | Permission::WriteProtected { path, .. } => {
            format!("write:{}", path.display())
        }
        Permission::Read(path) => format!("read:{}", path.display()),
        Permission::Host(pattern) => format!("network:{pattern}"),
        Permission::Program(name) => format!("spawn:{name}"),
        Permission::AnyProgram => "spawn".to_owned(),
        Permission::Variable(name) => format!("env:{name}"),
        // No rule grants the other permissions, such as that of a hook; they need an approval.
        _ => return None,
    })
}
