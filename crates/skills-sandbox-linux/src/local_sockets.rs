//! Whether the processes of a run may talk over local sockets.

use std::fs;
use std::ptr::null;
use std::sync::OnceLock;

use nix::errno::Errno;

use crate::landlock_abi::LandlockAbi;
use crate::observer::can_copy_descriptors;
use crate::plan::Plan;

/// The local sockets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LocalSockets {
    /// Connected pairs only.
    #[default]
    Denied,
    /// Those that the run binds, to which the host process connects.
    Supervised,
}

impl LocalSockets {
    /// Returns whether a run may have local sockets: names belong to its own network, Landlock
    /// keeps it from binding in directories of the host, its home directory is in its scratch
    /// space, and the host process can make its connections. It is decided once for each run: the
    /// filter, the ruleset and the observer must agree.
    pub(crate) fn of_plan(plan: &Plan, landlock: Option<LandlockAbi>) -> Self {
        let is_confined = plan.network.is_separate() && landlock.is_some();
        // The scratch space is found by the home directory, which must be its own one.
        let is_home_granted = plan
            .paths()
            .iter()
            .any(|rule| plan.home.starts_with(&rule.path));
        if is_confined && !is_home_granted && plan.executable.is_some() && can_make_connections() {
            Self::Supervised
        } else {
            Self::Denied
        }
    }
}

/// Returns true if the host process can make the connections of its children, found once per
/// process.
fn can_make_connections() -> bool {
    static CAN_MAKE: OnceLock<bool> = OnceLock::new();
    *CAN_MAKE.get_or_init(|| {
        // Yama denies some calls to all processes, and the seccomp profile of a container may too.
        !denies_tracing() && can_copy_descriptors() && answers_once()
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel reports its settings in files"
)]
fn denies_tracing() -> bool {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").is_ok_and(|scope| scope.trim() == "3")
}

/// Returns true if a signal does not restart a call that waits for its answer (Linux 5.19): its
/// connection would be made twice, and fail the second time.
#[expect(unsafe_code, reason = "no wrapper knows this call")]
fn answers_once() -> bool {
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the kernel checks the flags, then fails to read a filter at the null address.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            null::<u8>(),
        )
    };
    Errno::result(result) == Err(Errno::EFAULT)
}
