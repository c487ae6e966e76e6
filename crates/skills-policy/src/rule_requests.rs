//! Permissions that `allow` rules add to the request of a run.
//!
//! Few skills declare what their programs need. So what an operator allows is also requested, for
//! every skill that the rule applies to: a rule for something without a request would have no
//! effect, and a program would fail although its user allowed what it does.
//!
//! One exception: a standing rule for all programs or hosts adds nothing to a skill that declares
//! the ones it needs, unless the rule names a directory of skills.

use crate::request::confinement::excludes;
use crate::request::{Basis, RequestedPermission};
use crate::requester::RULES_NAME;
use crate::target::Kind;
use crate::{Capability, HostPattern, Permission, Request, Rule, RuleSource};

/// Returns the permissions that `allow` rules for a request name, and those for the workspace of
/// the caller.
///
/// Variables are excluded: their values are secrets, so the skill must declare them or the caller
/// must pass them.
pub(crate) fn requested_by_rules<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    request: &Request,
) -> Vec<RequestedPermission> {
    rules
        .filter(|rule| !is_narrowed_by_declaration(rule, request))
        .flat_map(|rule| named_permission(rule, request))
        .chain(request.workspace_permission())
        .filter(|permission| !excludes(request, permission))
        .map(|permission| requested(permission, request))
        .collect()
}

/// Returns the request of a rule for a permission.
pub(crate) fn requested(permission: Permission, request: &Request) -> RequestedPermission {
    RequestedPermission {
        permission: request.classify(permission),
        requested_by: vec![RULES_NAME.to_owned()],
        basis: Basis::ByRule,
    }
}

/// Returns true for a standing rule that is about everything, if the skill declares less.
fn is_narrowed_by_declaration(rule: &Rule, request: &Request) -> bool {
    let is_specific = rule.source == RuleSource::Invocation || rule.within.is_some();
    let capability = match &rule.target.0 {
        Kind::All(Capability::Spawn) => Capability::Spawn,
        Kind::Host(pattern) if *pattern == HostPattern::ANY => Capability::Network,
        _ => return false,
    };
    !is_specific && request.restricts(capability)
}

/// Returns what a rule allows by name. A whole capability names no path, host or variable; for
/// writing it stands for the workspace.
pub(crate) fn named_permission(rule: &Rule, request: &Request) -> Option<Permission> {
    match &rule.target.0 {
        Kind::All(Capability::Spawn) => Some(Permission::AnyProgram),
        Kind::All(Capability::Write) => request.workspace.clone().map(Permission::Write),
        Kind::All(_) | Kind::Variable(_) | Kind::Package(_) => None,
        Kind::Read(path) => Some(Permission::Read(path.clone())),
        Kind::Write(path) => Some(Permission::Write(path.clone())),
        Kind::Host(pattern) => Some(Permission::Host(pattern.clone())),
        Kind::Program(name) => Some(Permission::Program(name.clone())),
    }
}
