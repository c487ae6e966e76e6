//! Hints for approvals that the client cannot prompt for.

use skills_tools::runtime::policy::{Permission, PermissionDecision, Question};

/// Returns the command with which the operator allows what is asked; `None` if none does.
pub(crate) type TrustCommand = dyn Fn(&Question) -> Option<String> + Send + Sync;

/// Returns what a model asks of its user, who can allow it for the server. Contains no host paths but
/// those of the command.
pub(super) fn allow_hint(question: &Question, trust_command: &TrustCommand) -> String {
    let mut options = Vec::new();
    // Commands of a model are not part of what an approval of a skill covers.
    if !question.covers.is_command
        && question.covers.digest.is_some()
        && let Some(command) = trust_command(question)
    {
        options.push(format!("run `{command}`"));
    }
    let rules: Option<Vec<String>> = question.permissions().map(allow_option).collect();
    if let Some(rules) =
        // Rules do not approve content, so they alone would not help then.
        rules.filter(|rules| !rules.is_empty() && !question.is_about_content())
    {
        options.push(format!("add `{}` to the skills server", rules.join(" ")));
    }
    let options = if options.is_empty() {
        "allow it in the policy of the skills server".to_owned()
    } else {
        options.join(", or to ")
    };
    format!("ask your user to {options}, then retry")
}

/// Returns the command that approves the skill of a question, if it is in a default root.
pub(crate) fn default_trust_command(question: &Question) -> Option<String> {
    // The name goes into a command line that a user may copy.
    let mut name = question.name.chars();
    let is_plain = name.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_plain.then(|| format!("skills trust {}", question.name))
}

/// Returns the option that allows a permission, with `PATH` for paths; `None` if no rule of the
/// user can allow it, or if no message suggests that.
fn allow_option(decision: &PermissionDecision) -> Option<String> {
    if !decision.is_allowable() || decision.permission().caution().is_some() {
        return None;
    }
    let target = match decision.permission() {
        // A placeholder, since the real path is a path of the host.
        Permission::Read(_) => "read:PATH".to_owned(),
        Permission::Write(_) | Permission::WriteProtected { .. } => "write:PATH".to_owned(),
        Permission::ListedHosts => "network:HOST".to_owned(),
        permission => permission.rule_target()?.to_string(),
    };
    Some(format!("--allow {target}"))
}
