//! Who a program is, outside and inside its user namespace.

use nix::unistd::{getegid, geteuid};

/// The user and group that a program is inside when the host is root: no number that means power to
/// anybody.
const NOBODY: u32 = 65_534;

/// Numbers of a user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserIds {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl UserIds {
    /// Who the host is.
    pub(crate) fn host() -> Self {
        Self {
            user: geteuid().as_raw(),
            group: getegid().as_raw(),
        }
    }

    /// Who a program is in a user namespace: the host's own numbers, unless they are root's.
    pub(crate) fn sandboxed() -> Self {
        let Self { user, group } = Self::host();
        let harmless = |number| if number == 0 { NOBODY } else { number };
        Self {
            user: harmless(user),
            group: harmless(group),
        }
    }
}
