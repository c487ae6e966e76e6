//! Grants of optional directories, without questions.

use std::path::Path;

use skills_manifest::ToolPattern;
use skills_policy::{Access, Authorization, Capability, Decision, Permission, Request};

use crate::plan::Planned;
use crate::request::{with_digest, with_read_only_paths};
use crate::services::Services;

/// Requests the [optional mounts](crate::ExecutionOptions::optional_mounts) that rules and stored
/// approvals grant without a prompt. The others are not requested, so they cause no prompt and no
/// failure.
pub(crate) fn with_optional_mounts(
    planned: &Planned,
    mut request: Request,
    digest: Option<&str>,
) -> Request {
    let services = planned.services();
    for (path, access) in &planned.options().optional_mounts {
        // The wider access first: a directory that policy does not let the program write may
        // still be readable.
        let accesses: &[Access] = if *access == Access::ReadWrite {
            &[Access::ReadWrite, Access::ReadOnly]
        } else {
            &[Access::ReadOnly]
        };
        let granted = accesses
            .iter()
            .filter(|access| wants_any_directory(planned, **access))
            .map(|access| with_access(&request, path, *access))
            .map(|(extended, permission)| (with_read_only_paths(services, extended), permission))
            .find(|(extended, permission)| {
                allows_extension(services, &request, extended, digest, permission)
            });
        if let Some((extended, _)) = granted {
            request = extended;
        }
    }
    request
}

/// Returns true if a permission that an extended request adds is granted without approval for the
/// content with this digest, and does not make others need one.
pub(crate) fn allows_extension(
    services: &Services,
    original: &Request,
    extended: &Request,
    digest: Option<&str>,
    requested: &Permission,
) -> bool {
    let (original, extended) = (with_digest(original, digest), with_digest(extended, digest));
    let permissions = services.permissions();
    // `preview` asks no approver: an optional directory is not worth a prompt.
    let authorization = permissions.preview(&extended);
    // A protected path has a different permission, so the path is compared too.
    let is_requested = |permission: &Permission| {
        (permission.capability(), permission.path()) == (requested.capability(), requested.path())
    };
    let is_granted = authorization.decisions().iter().any(|decision| {
        is_requested(decision.permission()) && decision.decision() == Decision::Allow
    });
    // A request that needs approval anyway may be extended; a granted one must stay granted.
    let stays_granted = matches!(authorization, Authorization::Granted(_))
        || !matches!(permissions.preview(&original), Authorization::Granted(_));
    is_granted && stays_granted
}

/// Returns true if the skill requests access to any directory: it has no `allowed-tools`, or a
/// tool without a pattern. A pattern limits access to parts.
pub(crate) fn wants_any_directory(planned: &Planned, access: Access) -> bool {
    // A host command has no `allowed-tools` that could restrict it.
    let Some(skill) = planned.skill() else {
        return true;
    };
    let tools = skill.manifest.allowed_tools();
    let capability = if access == Access::ReadWrite {
        Capability::Write
    } else {
        Capability::Read
    };
    let is_unrestricted = |tool: &ToolPattern| {
        tool.tool() == "*"
            || Capability::from_tool_name(tool.tool()) == Some(capability)
                && tool.pattern().is_none()
    };
    tools.is_empty() || tools.iter().any(is_unrestricted)
}

fn with_access(request: &Request, path: &Path, access: Access) -> (Request, Permission) {
    match access {
        Access::ReadWrite => (
            request.clone().write(path),
            Permission::Write(path.to_owned()),
        ),
        Access::ReadOnly => (
            request.clone().read(path),
            Permission::Read(path.to_owned()),
        ),
    }
}
