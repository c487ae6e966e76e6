//! What a child does before its run is planned, and the place where it then finds its setup.
//!
//! Creating namespaces takes about as long as planning a run, so both happen at the same time:
//!
//! ```text
//! run:      begin ---- plan the run, open its files ---- give the setup ----
//! spawner:        clone -------------------------------------------------- until `execve`
//! child:         user, network, root, /proc ---- wait ----- mounts, restrictions, execute
//! ```
//!
//! The spawner thread waits until the child executes something, so a child does not wait long: if
//! planning takes longer, such as on a slow file system, it exits, and another child is created when
//! the setup is there. A child that was created for a later run waits longer, until a run claims it
//! or the spawner thread is needed for another child.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::c_int;
use nix::sys::eventfd::{EfdFlags, EventFd};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use skills_policy::Grants;
use skills_sandbox::SandboxError;

use crate::child::system_call;
use crate::child_setup::{ChildSetup, ParentEnds};
use crate::isolation::IsolationLevel;
use crate::plan::Plan;
use crate::rootfs::{BaseRootFs, nul_error};
use crate::rootfs_plan::RootFsPlan;
use crate::run_network::has_own_network;
use crate::sandbox::Assumption;
use crate::setup_step::SetupStep;
use crate::user_ids::UserIds;

/// How long a child waits for the setup of its run. Planning takes a hundredth of it, unless
/// something blocks it.
const MAX_WAIT: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// How long a child waits for a run. Meanwhile it keeps the mounts of the host in use.
const MAX_UNCLAIMED_WAIT: libc::timespec = libc::timespec {
    tv_sec: 30,
    tv_nsec: 0,
};
/// No setup was given yet.
const PENDING: u32 = 0;
/// The setup was given, or never will be.
const CLOSED: u32 = 1;
/// The child exited before the setup was given.
const ABANDONED: u32 = 2;
/// The child belongs to no run yet.
const UNCLAIMED: u32 = 3;

/// What a child does before its run is planned.
#[derive(PartialEq, Eq)]
pub(crate) struct EarlySetup {
    pub(crate) namespaces: Option<EarlyNamespaces>,
    /// A step that fails as if the kernel had rejected it, for tests.
    pub(crate) fault: Option<SetupStep>,
}

/// The new namespaces of a child.
#[derive(PartialEq, Eq)]
pub(crate) struct EarlyNamespaces {
    /// Whether the child has a network namespace.
    pub(crate) own_network: bool,
    /// The lines for `/proc/self/uid_map` and `gid_map`.
    pub(crate) uid_map: CString,
    pub(crate) gid_map: CString,
    pub(crate) rootfs: BaseRootFs,
}

impl EarlySetup {
    /// Returns what the child of a run with these grants does.
    pub(crate) fn new(
        grants: &Grants,
        assumed: Assumption,
        fault: Option<SetupStep>,
    ) -> Result<Self, SandboxError> {
        let own_network = has_own_network(grants, assumed.isolation, assumed.own_network);
        let early = Self::with(Assumption {
            own_network,
            ..assumed
        })?;
        Ok(Self { fault, ..early })
    }

    fn with(assumed: Assumption) -> Result<Self, SandboxError> {
        let namespaces = match assumed.isolation {
            IsolationLevel::Namespaces => Some(EarlyNamespaces::new(assumed)?),
            IsolationLevel::Landlock | IsolationLevel::None => None,
        };
        Ok(Self {
            namespaces,
            fault: None,
        })
    }

    /// Returns what the child of a planned run does.
    pub(crate) fn of_plan(plan: &Plan) -> Result<Self, SandboxError> {
        Self::with(Assumption {
            isolation: plan.isolation,
            mount_proc: plan.rootfs.as_ref().is_some_and(RootFsPlan::has_proc),
            own_network: plan.network.is_separate(),
        })
    }

    /// Returns the flags of `clone` for the namespaces.
    pub(crate) fn clone_flags(&self) -> c_int {
        let Some(namespaces) = &self.namespaces else {
            return 0;
        };
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
        if namespaces.own_network {
            flags | libc::CLONE_NEWNET
        } else {
            flags
        }
    }
}

impl EarlyNamespaces {
    fn new(assumed: Assumption) -> Result<Self, SandboxError> {
        let sandboxed = UserIds::sandboxed();
        let host = UserIds::host();
        Ok(Self {
            own_network: assumed.own_network,
            uid_map: id_map(sandboxed.user, host.user)?,
            gid_map: id_map(sandboxed.group, host.group)?,
            rootfs: BaseRootFs::new(assumed.mount_proc)?,
        })
    }
}

/// Returns a line that maps one ID in the user namespace to one of the host.
fn id_map(sandboxed: u32, host: u32) -> Result<CString, SandboxError> {
    CString::new(format!("{sandboxed} {host} 1")).map_err(|_| nul_error())
}

/// Where a child finds its setup. The run gives it once, before or after the child was created.
pub(crate) struct SetupSlot {
    pub(crate) early: EarlySetup,
    setup: OnceLock<ChildSetup>,
    parent_ends: Mutex<Option<ParentEnds>>,
    /// [`PENDING`], [`CLOSED`], [`ABANDONED`] or [`UNCLAIMED`]. The child waits for a change.
    state: AtomicU32,
    events: WaitEvents,
}

/// What ends the wait of a child. Both descriptors are in the table that it shares with the host
/// process.
struct WaitEvents {
    /// The host process, which is readable when it has ended. The signal for its death does not
    /// arrive if it ends before the child asks for that.
    host: OwnedFd,
    /// Readable when the state has changed since the child read it.
    changed: EventFd,
}

impl SetupSlot {
    /// Creates the slot of a child for a run.
    pub(crate) fn new(early: EarlySetup) -> Result<Self, SandboxError> {
        Self::in_state(early, PENDING)
    }

    /// Creates the slot of a child that a later run may claim.
    pub(crate) fn unclaimed(early: EarlySetup) -> Result<Self, SandboxError> {
        Self::in_state(early, UNCLAIMED)
    }

    fn in_state(early: EarlySetup, state: u32) -> Result<Self, SandboxError> {
        let events =
            WaitEvents::new().map_err(|error| SandboxError::setup("preparing a process", error))?;
        Ok(Self {
            early,
            setup: OnceLock::new(),
            parent_ends: Mutex::new(None),
            state: AtomicU32::new(state),
            events,
        })
    }

    /// Claims the child for a run. Returns false if it was claimed or exited before.
    pub(crate) fn claim(&self) -> bool {
        let is_claimed = self.change_state(UNCLAIMED, PENDING);
        self.events.notify();
        is_claimed
    }

    /// Gives the setup to the child.
    pub(crate) fn give(&self, setup: ChildSetup, parent_ends: ParentEnds) {
        *self
            .parent_ends
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(parent_ends);
        // Given once, since the caller's handle is consumed.
        let _ = self.setup.set(setup);
        self.close();
    }

    /// Lets another child use the setup after the first one exited without it.
    pub(crate) fn reuse(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Gives the child up before a run has claimed it, such as after an early step failed, so that
    /// each run reports its own failures. Returns false if it was claimed or closed before.
    pub(crate) fn abandon_unclaimed(&self) -> bool {
        self.change_state(UNCLAIMED, ABANDONED)
    }

    /// Ends the wait of the child, which exits if no setup was given. Has no effect after the child
    /// stopped waiting.
    pub(crate) fn close(&self) {
        if !self.change_state(UNCLAIMED, CLOSED) {
            self.change_state(PENDING, CLOSED);
        }
        self.events.notify();
    }

    /// Returns false if the state is another one than `from`.
    fn change_state(&self, from: u32, to: u32) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state
            .compare_exchange(from, to, success, failure)
            .is_ok()
    }

    /// Returns true if the setup was given or never will be.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Returns true if the child still waits for a run.
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.state.load(Ordering::Acquire) == UNCLAIMED
    }

    /// Returns true if the child exited before the setup was given.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABANDONED
    }

    /// Returns the setup and takes the parent's ends, if the setup was given.
    pub(crate) fn take(&self) -> Option<(&ChildSetup, ParentEnds)> {
        let parent_ends = self
            .parent_ends
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        Some((self.setup.get()?, parent_ends))
    }

    /// Returns the setup, if it was given.
    pub(crate) fn setup(&self) -> Option<&ChildSetup> {
        self.setup.get()
    }

    /// Waits for the setup. Returns `None` if none will be given, or if it takes too long; then the
    /// child has to exit. Called by the child: takes no lock and no memory.
    pub(crate) fn wait(&self) -> Option<&ChildSetup> {
        loop {
            let state = self.state.load(Ordering::Acquire);
            let timeout = match state {
                UNCLAIMED => MAX_UNCLAIMED_WAIT,
                PENDING => MAX_WAIT,
                _ => return self.setup.get(),
            };
            if !self.events.wait(timeout) && self.change_state(state, ABANDONED) {
                return None;
            }
        }
    }
}

impl WaitEvents {
    fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            host: pidfd_open(getpid(), PidfdFlags::empty())?,
            changed: EventFd::from_flags(flags)?,
        })
    }

    /// Reports a change of the state.
    fn notify(&self) {
        // Fails only after as many changes as a number can count.
        let _ = self.changed.write(1);
    }

    /// Waits until the state changes. Returns false if the host process ended or it takes too long.
    /// Called by the child.
    #[expect(
        unsafe_code,
        reason = "system calls between clone and exec have no safe form"
    )]
    fn wait(&self, mut timeout: libc::timespec) -> bool {
        let event = |descriptor: BorrowedFd<'_>| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut events = [event(self.host.as_fd()), event(self.changed.as_fd())];
        // SAFETY: the addresses are those of local data, with the length of the array; the kernel
        // stores the rest of the time. Without a mask all signals stay blocked.
        let ready = unsafe {
            system_call!(
                libc::SYS_ppoll,
                events.as_mut_ptr(),
                events.len(),
                &raw mut timeout,
                null::<u8>(),
                0,
            )
        };
        let mut count = 0u64;
        // SAFETY: writes a local number of this size. If nothing changed, it does not block.
        unsafe {
            system_call!(
                libc::SYS_read,
                events[1].fd,
                &raw mut count,
                size_of::<u64>(),
            );
        }
        ready > 0 && events[0].revents == 0
    }
}
