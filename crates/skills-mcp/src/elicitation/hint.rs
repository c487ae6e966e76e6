//! Hints for approvals that the client cannot prompt for.

use skills_tools::runtime::policy::{ApprovalRequest, Permission, PermissionDecision};

/// Returns how the operator of the server can allow the request. Contains no host paths.
pub(super) fn allow_hint(request: &ApprovalRequest) -> String {
    let mut options = Vec::new();
    // The name goes into a command line that a user may copy.
    let is_plain = request
        .name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    // Commands of a model are not part of what `skills trust` approves.
    if !request.is_ad_hoc && request.digest.is_some() && is_plain {
        options.push(format!("run `skills trust {}`", request.name));
    }
    let rules: Option<Vec<String>> = request.pending.iter().map(allow_option).collect();
    if let Some(rules) =
        // Rules do not approve content, so they alone would not help then.
        rules.filter(|rules| !rules.is_empty() && !request.requires_content_approval)
    {
        options.push(format!("start the server with `{}`", rules.join(" ")));
    }
    let options = if options.is_empty() {
        "add a rule that allows it".to_owned()
    } else {
        options.join(" or ")
    };
    format!("the client does not support elicitation; on the server, {options}")
}

/// Returns the option that allows a permission, with `PATH` for paths; `None` if no rule of the
/// user can allow it.
fn allow_option(decision: &PermissionDecision) -> Option<String> {
    if !decision.is_allowable() {
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
