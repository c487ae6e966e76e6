//! What allows beforehand what nobody could be asked.

use skills_tools::runtime::policy::{ApprovalRequest, Permission, PermissionDecision};

/// Names the command by which the owner of the server allows what nobody could be asked. It names
/// no path of this machine.
pub(crate) fn allow_hint(question: &ApprovalRequest) -> String {
    let mut ways = Vec::new();
    let is_plain = question
        .name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    // What a model makes up is no part of what is approved with a skill.
    if !question.is_ad_hoc && question.digest.is_some() && is_plain {
        ways.push(format!(
            "`skills trust {}` approves the skill as it is now",
            question.name
        ));
    }
    let rules: Option<Vec<String>> = question.pending.iter().map(allow_option).collect();
    if let Some(rules) =
        rules.filter(|rules| !rules.is_empty() && !question.requires_content_approval)
    {
        ways.push(format!(
            "`skills mcp {}` allows it while the server runs",
            rules.join(" ")
        ));
    }
    let ways = if ways.is_empty() {
        "a rule has to allow it".to_owned()
    } else {
        ways.join(", and ")
    };
    format!("this client cannot ask its user; where the server runs, {ways}")
}

/// A permission as it is written on a command line, with `PATH` in the place of paths; nothing for
/// one that no rule allows.
fn allow_option(verdict: &PermissionDecision) -> Option<String> {
    let allow = |what: &str| Some(format!("--allow {what}"));
    match verdict.permission() {
        Permission::Read(_) => allow("read:PATH"),
        Permission::Write(_) | Permission::WriteProtected { .. } => allow("write:PATH"),
        Permission::Host(pattern) => allow(&format!("network:{pattern}")),
        Permission::ListedHosts => allow("network:HOST"),
        Permission::Program(name) => allow(&format!("spawn:{name}")),
        Permission::AnyProgram => allow("spawn"),
        Permission::Variable(name) => allow(&format!("env:{name}")),
        _ => None,
    }
}
