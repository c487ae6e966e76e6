//! What a request excludes, whatever rules allow: dropped capabilities, and all that a confined command
//! does not need to read.

use super::{Request, RequestedPermission};
use crate::requester::CALLER_NAME;
use crate::{Capability, Permission};

/// Returns true for a permission that the run does not get, whatever allows it.
pub(crate) fn excludes(request: &Request, permission: &Permission) -> bool {
    let capability = permission.capability();
    request.dropped.contains(&capability) || request.is_confined && capability != Capability::Read
}

/// Returns true for a permission that stays in the request.
pub(super) fn keeps(request: &Request, requested: &RequestedPermission) -> bool {
    // Without the permission of a hook, an excluded capability would let it run unapproved.
    matches!(requested.permission, Permission::Hook(_))
        || !excludes(request, &requested.permission)
        || is_confined_program(request, requested)
}

/// Returns true for the program that a confined command is.
fn is_confined_program(request: &Request, requested: &RequestedPermission) -> bool {
    let mut requesters = requested.requested_by.iter();
    request.is_confined
        && !request.dropped.contains(&Capability::Spawn)
        && requested.permission.capability() == Capability::Spawn
        && requesters.any(|name| name == CALLER_NAME)
}
