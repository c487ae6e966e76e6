//! User and group IDs outside and inside the user namespace.

use nix::unistd::{getegid, geteuid};

/// The user and group of a program if the host process is root: IDs without privileges anywhere.
const UNPRIVILEGED_ID: u32 = 65_534;

/// The IDs of a user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserIds {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl UserIds {
    /// Returns the effective IDs of the host process.
    pub(crate) fn host() -> Self {
        Self {
            user: geteuid().as_raw(),
            group: getegid().as_raw(),
        }
    }

    /// Returns the IDs in a user namespace: those of the host process, except for root. Many
    /// programs behave differently as root, and fail without its privileges.
    pub(crate) fn sandboxed() -> Self {
        let Self { user, group } = Self::host();
        Self {
            user: replace_root(user),
            group: replace_root(group),
        }
    }
}

fn replace_root(id: u32) -> u32 {
    if id == 0 { UNPRIVILEGED_ID } else { id }
}
