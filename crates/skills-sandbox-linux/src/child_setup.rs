//! Everything a child needs, made before it exists.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use libc::{c_char, c_int, sock_filter};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;
use skills_policy::SpawnGrant;
use skills_sandbox::SandboxError;
use skills_sandbox::interpreter::MemoryRlimit;

use crate::child::Listener;
use crate::granted_path::open_all;
use crate::isolation::IsolationLevel;
use crate::landlock_abi::LandlockAbi;
use crate::landlock_ruleset::{DeferredRule, build_ruleset, deferred_rules};
use crate::plan::Plan;
use crate::rlimits::{Rlimits, rlimits};
use crate::rootfs::RootFs;
use crate::seccomp::{
    AllocationPolicy, FilterConfig, ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_filter,
};
use crate::setup_step::SetupStep;
use crate::user_ids::UserIds;
use crate::watchdog::Announcement;

/// The three streams of the child, as descriptors above 2.
pub(crate) type Streams = [RawFd; 3];

/// All that the child reads: owned, immutable, and alive until the child has executed its program.
pub(crate) struct ChildSetup {
    /// None: the child ends as soon as all walls stand.
    pub(crate) exec_target: Option<ExecTarget>,
    pub(crate) directory: CString,
    pub(crate) limits: Rlimits,
    pub(crate) filter: Arc<[sock_filter]>,
    pub(crate) ruleset: Option<Ruleset>,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) streams: Streams,
    pub(crate) status: RawFd,
    pub(crate) status_reader: RawFd,
    /// The lists of processes of control groups to join.
    pub(crate) cgroup_procs_files: Vec<RawFd>,
    /// Where the child names its group, and the process that reads it.
    pub(crate) guardian: Option<(RawFd, u32)>,
    /// A step that fails as if the kernel had refused it: for tests of what happens then.
    pub(crate) fault: Option<SetupStep>,
    /// Keeps the descriptors above open.
    owned: Vec<OwnedFd>,
}

pub(crate) struct ExecTarget {
    pub(crate) executable: CString,
    pub(crate) args: CStringArray,
    pub(crate) env: CStringArray,
}

pub(crate) struct Ruleset {
    pub(crate) descriptor: RawFd,
    pub(crate) deferred_rules: Vec<DeferredRule>,
}

/// What of the kernel the child has for itself.
pub(crate) struct Namespaces {
    /// The lines that name its user and its group.
    pub(crate) uid_map: CString,
    pub(crate) gid_map: CString,
    pub(crate) rootfs: RootFs,
    pub(crate) listener: Option<Listener>,
}

impl Namespaces {
    pub(crate) fn flags(&self) -> c_int {
        let network = if self.listener.is_some() {
            libc::CLONE_NEWNET
        } else {
            0
        };
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | network
    }
}

/// Our ends of what connects us with the child.
pub(crate) struct ParentEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) status: OwnedFd,
    /// Through which the child hands over its listener.
    pub(crate) channel: Option<OwnedFd>,
}

/// What a child is made with beside its plan.
#[derive(Default)]
pub(crate) struct ChildOptions<'a> {
    pub(crate) landlock: Option<LandlockAbi>,
    pub(crate) cgroup_procs_files: &'a [OwnedFd],
    pub(crate) announcement: Option<Announcement>,
    pub(crate) fault: Option<SetupStep>,
}

impl ChildSetup {
    /// Does all that can be done before the child exists.
    pub(crate) fn new(
        plan: &Plan,
        extras: ChildOptions<'_>,
    ) -> Result<(Self, ParentEnds), SandboxError> {
        let failed = |error| SandboxError::setup("pipes", error);
        let sources = open_all(plan.paths(), &plan.relocated)?;
        let mut owned = Vec::new();
        let mut keep = |descriptor: OwnedFd| {
            let number = descriptor.as_raw_fd();
            owned.push(descriptor);
            number
        };
        if plan.isolation == IsolationLevel::Landlock && extras.landlock.is_none() {
            return Err(SandboxError::unavailable(
                "Landlock",
                "it is this tier's only wall for files",
                "use another tier",
            ));
        }
        let ruleset = match extras
            .landlock
            .filter(|_| plan.isolation != IsolationLevel::None)
        {
            Some(version) => {
                let descriptor = above_standard(build_ruleset(&sources, plan.listener, version)?)
                    .map_err(failed)?;
                let inside = plan
                    .rootfs
                    .as_ref()
                    .map_or(Ok(Vec::new()), |view| deferred_rules(version, view))?;
                Some(Ruleset {
                    descriptor: keep(descriptor),
                    deferred_rules: inside,
                })
            }
            None => None,
        };
        let ((stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr), (our_status, status)) = (
            pipe().map_err(failed)?,
            pipe().map_err(failed)?,
            pipe().map_err(failed)?,
            pipe().map_err(failed)?,
        );
        fcntl(&our_status, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(|error| failed(error.into()))?;
        let (channel, our_channel) = plan
            .listener
            .map(|_| socket_pair())
            .transpose()
            .map_err(failed)?
            .unzip();
        let listener = plan.listener.zip(channel).map(|(port, channel)| Listener {
            port,
            channel: keep(channel),
        });
        // Their numbers must stay theirs even if the run is cancelled while the child waits to be
        // made.
        let copies = extras
            .cgroup_procs_files
            .iter()
            .map(OwnedFd::try_clone)
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let control_groups = copies.into_iter().map(&mut keep).collect();
        let guardian = extras
            .announcement
            .map(|Announcement { pipe, guardian }| (keep(pipe), guardian));
        let prepared = Self {
            exec_target: plan
                .executable
                .as_ref()
                .map(|executable| ExecTarget::new(executable.as_os_str().as_bytes(), plan))
                .transpose()?,
            directory: c_string(plan.current_dir.as_os_str().as_bytes())?,
            limits: rlimits(plan),
            filter: if plan.isolation == IsolationLevel::None {
                Arc::default()
            } else {
                build_filter(filter_config(plan))
            },
            ruleset,
            namespaces: match &plan.rootfs {
                Some(view) => Some(Namespaces::new(RootFs::new(view, &sources)?, listener)?),
                None => None,
            },
            streams: [keep(stdin), keep(stdout), keep(stderr)],
            status: keep(status),
            status_reader: our_status.as_raw_fd(),
            cgroup_procs_files: control_groups,
            guardian,
            fault: extras.fault,
            owned,
        };
        let ours = ParentEnds {
            stdin: our_stdin,
            stdout: our_stdout,
            stderr: our_stderr,
            status: our_status,
            channel: our_channel,
        };
        Ok((prepared, ours))
    }

    /// Returns the path that operation number `index` of the child's tree is about.
    pub(crate) fn operation_path(&self, index: i32) -> Option<String> {
        let tree = &self.namespaces.as_ref()?.rootfs;
        usize::try_from(index)
            .ok()
            .and_then(|index| tree.operations.get(index))
            .map(crate::rootfs::MountOp::path)
    }

    /// Closes the child's ends of everything.
    pub(crate) fn close(self) {
        drop(self.owned);
    }
}

impl ExecTarget {
    fn new(executable: &[u8], plan: &Plan) -> Result<Self, SandboxError> {
        let environment: Vec<String> = plan
            .env()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Ok(Self {
            executable: c_string(executable)?,
            args: c_string_array(plan.args())?,
            env: c_string_array(&environment)?,
        })
    }
}

impl Namespaces {
    fn new(tree: RootFs, listener: Option<Listener>) -> Result<Self, SandboxError> {
        let (inside, outside) = (UserIds::sandboxed(), UserIds::host());
        let line = |inside: u32, outside: u32| c_string(format!("{inside} {outside} 1").as_bytes());
        Ok(Self {
            uid_map: line(inside.user, outside.user)?,
            gid_map: line(inside.group, outside.group)?,
            rootfs: tree,
            listener,
        })
    }
}

fn filter_config(plan: &Plan) -> FilterConfig {
    FilterConfig {
        isolation: plan.isolation,
        processes: if plan.spawn == SpawnGrant::None {
            ProcessPolicy::SingleProcess
        } else {
            ProcessPolicy::MultiProcess
        },
        allocation: if plan.measured_quotas().is_empty() {
            AllocationPolicy::Any
        } else {
            AllocationPolicy::WriteOnly
        },
        sockets: if plan.listener.is_some() {
            SocketPolicy::Streams
        } else {
            SocketPolicy::None
        },
        shared_memory: if plan.memory == MemoryRlimit::Data {
            SharedMemoryPolicy::Deny
        } else {
            SharedMemoryPolicy::Allow
        },
    }
}

/// Strings and the null-terminated array of pointers to them that `execve` wants.
pub(crate) struct CStringArray {
    pointers: Vec<*const c_char>,
    /// Owns what the pointers point to.
    _strings: Vec<CString>,
}

impl CStringArray {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings
            .iter()
            .map(|string| CStr::as_ptr(string))
            .chain([std::ptr::null()])
            .collect();
        Self {
            pointers,
            _strings: strings,
        }
    }

    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

#[expect(
    unsafe_code,
    reason = "pointers are not sent between threads unless somebody says why they may be"
)]
// SAFETY: the pointers lead to heap memory that `_strings` owns and nobody changes.
unsafe impl Send for CStringArray {}

/// A pipe whose ends close on exec and lie above the three standard descriptors, even in a host
/// that closed those.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((above_standard(reader)?, above_standard(writer)?))
}

/// The child's end and ours of a pair of sockets.
fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (theirs, ours) = socketpair(AddressFamily::Unix, SockType::Datagram, None, flags)?;
    Ok((above_standard(theirs)?, above_standard(ours)?))
}

#[expect(
    unsafe_code,
    reason = "the wrapper returns the new descriptor as a bare number"
)]
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    let copy = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: the descriptor was just made and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

fn c_string(bytes: &[u8]) -> Result<CString, SandboxError> {
    CString::new(bytes).map_err(|_| {
        SandboxError::rejected("linux", "a path, argument or variable holds a NUL byte")
    })
}

fn c_string_array(texts: &[String]) -> Result<CStringArray, SandboxError> {
    texts
        .iter()
        .map(|text| c_string(text.as_bytes()))
        .collect::<Result<_, _>>()
        .map(CStringArray::new)
}
