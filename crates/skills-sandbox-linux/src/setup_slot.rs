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
//! the setup is there.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::c_int;
use nix::sys::eventfd::{EfdFlags, EventFd};
use skills_policy::Grants;
use skills_sandbox::SandboxError;

use crate::child::system_call;
use crate::child_setup::{ChildSetup, ParentEnds};
use crate::isolation::{Assumption, IsolationLevel};
use crate::plan::Plan;
use crate::rootfs::{BaseRootFs, nul_error};
use crate::rootfs_plan::RootFsPlan;
use crate::run_network::has_own_network;
use crate::setup_step::SetupStep;
use crate::user_ids::UserIds;

/// How long a child waits for the setup of its run. Planning takes a hundredth of it, unless
/// something blocks it.
const MAX_WAIT: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// No setup was given yet.
const PENDING: u32 = 0;
/// The setup was given, or never will be.
const CLOSED: u32 = 1;
/// The child exited before the setup was given.
const ABANDONED: u32 = 2;

/// What a child does before its run is planned.
pub(crate) struct EarlySetup {
    pub(crate) namespaces: Option<EarlyNamespaces>,
    /// A step that fails as if the kernel had rejected it, for tests.
    pub(crate) fault: Option<SetupStep>,
}

/// The new namespaces of a child.
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
    /// [`PENDING`], [`CLOSED`] or [`ABANDONED`].
    state: AtomicU32,
    /// Readable when the slot is closed. In the table of descriptors that the child shares with the
    /// host process.
    closed: EventFd,
}

impl SetupSlot {
    /// Creates the slot of a child.
    pub(crate) fn new(early: EarlySetup) -> Result<Self, SandboxError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let closed = EventFd::from_flags(flags)
            .map_err(|error| SandboxError::setup("preparing a process", error.into()))?;
        Ok(Self {
            early,
            setup: OnceLock::new(),
            parent_ends: Mutex::new(None),
            state: AtomicU32::new(PENDING),
            closed,
        })
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

    /// Ends the wait of the child, which exits if no setup was given. Has no effect after the child
    /// stopped waiting.
    pub(crate) fn close(&self) {
        self.end_wait(CLOSED);
        // Fails only after as many calls as a number can count.
        let _ = self.closed.write(1);
    }

    /// Returns false if the child no longer waits.
    fn end_wait(&self, state: u32) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state
            .compare_exchange(PENDING, state, success, failure)
            .is_ok()
    }

    /// Returns true if the setup was given or never will be.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
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
    #[expect(
        unsafe_code,
        reason = "system calls between clone and exec have no safe form"
    )]
    pub(crate) fn wait(&self) -> Option<&ChildSetup> {
        let mut closed = libc::pollfd {
            fd: self.closed.as_fd().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut timeout = MAX_WAIT;
        // SAFETY: the addresses are those of local data, with the length of the array; the kernel
        // stores the rest of the time. Without a mask all signals stay blocked.
        let ready = unsafe {
            system_call!(
                libc::SYS_ppoll,
                &raw mut closed,
                1,
                &raw mut timeout,
                null::<u8>(),
                0,
            )
        };
        if ready <= 0 && self.end_wait(ABANDONED) {
            return None;
        }
        self.setup.get()
    }
}
