//! Whether the processes of a run may talk over local sockets.

use crate::landlock_abi::LandlockAbi;
use crate::observer::can_copy_descriptors;
use crate::plan::Plan;

/// The local sockets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalSockets {
    /// Connected pairs only.
    Denied,
    /// Those that the run binds, to which the host process connects.
    Supervised,
}

impl LocalSockets {
    /// Returns whether a run may have local sockets: names belong to its own network, Landlock keeps it
    /// from binding in directories of the host, and the host process can make its connections.
    pub(crate) fn of_plan(plan: &Plan, landlock: Option<LandlockAbi>) -> Self {
        let is_confined = plan.network.is_separate() && landlock.is_some();
        if is_confined && plan.executable.is_some() && can_copy_descriptors() {
            Self::Supervised
        } else {
            Self::Denied
        }
    }
}
