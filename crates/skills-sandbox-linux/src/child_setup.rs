//! Everything that a child needs, allocated and opened before the child uses it.
//!
//! Between `clone` and `execve` the child must not allocate, so its strings, descriptors, ruleset
//! and filter are created here, in the parent.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use libc::{c_char, c_int, sock_filter};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use skills_policy::SpawnGrant;
use skills_sandbox::{ProgramTerminal, SandboxError};

use crate::descriptors::{Descriptors, above_standard, pipe, pipe_error, socket_pair};
use crate::disk_limits::writes_without_quota;
use crate::granted_path::{OpenedPath, open_all, open_each};
use crate::init_image::init_image;
use crate::isolation::IsolationLevel;
use crate::landlock_abi::LandlockAbi;
use crate::landlock_ruleset::{
    DeferredRule, add_terminal, build_ruleset, deferred_rules, finish_ruleset,
};
use crate::local_sockets::LocalSockets;
use crate::memory_use::MemoryUse;
use crate::plan::Plan;
use crate::private_terminal::PrivateTerminal;
use crate::processors::Processors;
use crate::rlimits::{MemoryCounting, Rlimits, rlimits};
use crate::rootfs::{RootFs, nul_error};
use crate::run_network::RunNetwork;
use crate::setup_step::SetupStep;
use crate::stack::Stack;
use crate::standard_streams::{ChildStreams, ParentStreams, standard_streams};
use crate::watchdog::Announcement;
use skills_seccomp::{
    AllocationPolicy, FilterConfig, LinkPolicy, LocalSocketPolicy, MetadataPolicy, Observation,
    ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_filter, unobserved_directory,
};

/// All data that the child reads: owned, immutable, and alive until the child has executed its
/// program.
pub(crate) struct ChildSetup {
    /// `None` for a probe: the child exits when all restrictions are in effect.
    pub(crate) exec_target: Option<ExecTarget>,
    pub(crate) directory: CString,
    pub(crate) limits: Rlimits,
    /// The processors that it may use, if the host process may use more.
    pub(crate) processors: Option<libc::cpu_set_t>,
    pub(crate) filter: Arc<[sock_filter]>,
    /// The same filter with notifications of the host process, where the kernel allows them.
    pub(crate) observed: Option<ObservedFilter>,
    pub(crate) ruleset: Option<Ruleset>,
    pub(crate) namespaces: Option<Namespaces>,
    /// The first process of the process namespace, if there is one.
    pub(crate) init: Option<InitSetup>,
    pub(crate) streams: ChildStreams,
    pub(crate) status: RawFd,
    /// The parent's end of the status pipe, of which the child has to close its copy.
    pub(crate) status_reader: RawFd,
    /// The files through which the child joins cgroups.
    pub(crate) cgroup_procs_files: Vec<RawFd>,
    /// The pipe in which the child announces its process group, and the PID of the watchdog that
    /// reads it.
    pub(crate) watchdog: Option<(RawFd, u32)>,
    /// A step that fails as if the kernel had rejected it, for tests.
    pub(crate) fault: Option<SetupStep>,
    /// Keeps the descriptors above open.
    owned: Mutex<Vec<OwnedFd>>,
}

/// A filter that notifies the host process, and the socket through which the child sends the
/// listener.
pub(crate) struct ObservedFilter {
    pub(crate) filter: Arc<[sock_filter]>,
    pub(crate) channel: RawFd,
}

pub(crate) struct ExecTarget {
    /// An absolute path.
    pub(crate) executable: CString,
    /// The directory descriptor for `execveat`, which the kernel ignores.
    pub(crate) directory: c_int,
    pub(crate) args: CStringArray,
    pub(crate) env: CStringArray,
}

pub(crate) struct Ruleset {
    pub(crate) descriptor: RawFd,
    pub(crate) deferred_rules: Vec<DeferredRule>,
}

/// What starts the first process of the process namespace and, as its child, the program.
pub(crate) struct InitSetup {
    /// The executable file of the first process.
    pub(crate) image: Vec<u8>,
    /// The stack of the program's process until it executes the program.
    pub(crate) stack: Stack,
    /// Whether that process uses the memory of the host process.
    pub(crate) memory_use: MemoryUse,
    /// The pipe in which the first process reports the wait status of the program.
    pub(crate) status: RawFd,
    /// The pipe in which it reports that it is ready.
    pub(crate) ready: RawFd,
    pub(crate) ready_writer: RawFd,
}

/// What is in the namespaces of the child.
pub(crate) struct Namespaces {
    pub(crate) rootfs: RootFs,
    pub(crate) network: NetworkSetup,
    /// The socket through which the child sends its mount namespace.
    pub(crate) channel: RawFd,
    /// The ports of further listeners, for services of the host's loopback device.
    pub(crate) services: Vec<u16>,
    /// The home directory, relative to the new root.
    pub(crate) home: CString,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum NetworkSetup {
    /// That of the host process, in which the filter denies sockets.
    Shared,
    /// A network namespace with a loopback device.
    Loopback,
    /// The same, with the listener of the proxy.
    Proxy(Listener),
}

/// The port of the listener for the proxy, and the socket through which the child sends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    pub(crate) port: u16,
    pub(crate) channel: RawFd,
}

impl NetworkSetup {
    fn new(network: RunNetwork, channel: RawFd) -> Self {
        match network {
            RunNetwork::None => Self::Shared,
            RunNetwork::Loopback => Self::Loopback,
            RunNetwork::Proxy(port) => Self::Proxy(Listener { port, channel }),
        }
    }
}

/// The parent's ends of pipes and sockets to the child.
pub(crate) struct ParentEnds {
    pub(crate) streams: ParentStreams,
    pub(crate) status: OwnedFd,
    /// The socket through which the child sends the listeners of its network and of its filter.
    pub(crate) channel: OwnedFd,
    /// The pipe with the wait status of the program, if it is not the first process.
    pub(crate) program_status: Option<OwnedFd>,
}

/// Options of a child that are not part of its plan.
#[derive(Default)]
pub(crate) struct ChildOptions<'a> {
    pub(crate) landlock: Option<LandlockAbi>,
    pub(crate) cgroup_procs_files: &'a [OwnedFd],
    pub(crate) announcement: Option<Announcement>,
    pub(crate) memory: MemoryCounting,
    pub(crate) local_sockets: LocalSockets,
    pub(crate) fault: Option<SetupStep>,
    /// The terminal to open.
    pub(crate) terminal: Option<&'a ProgramTerminal>,
}

impl ChildSetup {
    /// Creates all data and descriptors of the child, and the parent's ends.
    ///
    /// # Errors
    /// Fails if a granted path is rejected, a restriction is unavailable, or descriptors are
    /// exhausted.
    pub(crate) fn new(
        plan: &Plan,
        mut options: ChildOptions<'_>,
    ) -> Result<(Self, ParentEnds), SandboxError> {
        let announcement = options.announcement.take();
        let mut descriptors = Descriptors::default();
        // Only mounts need all files at once: there can be many rules beside withheld files.
        let sources = match &plan.rootfs {
            Some(_) => open_all(plan.paths(), &plan.relocated)?,
            None => Vec::new(),
        };
        let (terminal, slave) = match options.terminal {
            Some(requested) => {
                let (terminal, slave) = PrivateTerminal::open(requested)?;
                let slave = above_standard(slave)?;
                (Some((terminal, slave.as_raw_fd())), Some(slave))
            }
            None => (None, None),
        };
        let allowed = Allowed {
            sources: &sources,
            terminal: slave.as_ref(),
            local_sockets: options.local_sockets,
        };
        let ruleset = Ruleset::new(plan, options.landlock, &allowed, &mut descriptors)?;
        let (child_streams, streams) = standard_streams(&mut descriptors, terminal)?;
        slave.map(|slave| descriptors.keep(slave));
        let (status, child_status) = pipe()?;
        // The parent reads this pipe while it still holds a copy of the writing end, so a blocking
        // read of an empty pipe would never return.
        fcntl(&status, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(pipe_error)?;
        let (child_channel, channel) = socket_pair()?;
        let child_channel = descriptors.keep(child_channel);
        let network = NetworkSetup::new(plan.network, child_channel);
        let cgroup_procs_files = descriptors.keep_copies(options.cgroup_procs_files)?;
        let watchdog = announcement.map(|announcement| {
            (
                descriptors.keep(announcement.pipe),
                announcement.watchdog_pid,
            )
        });
        let namespaces = match &plan.rootfs {
            Some(rootfs) => Some(Namespaces::new(
                RootFs::new(rootfs, &sources)?,
                network,
                child_channel,
                plan.services.clone(),
                &plan.home,
            )?),
            None => None,
        };
        let (init, program_status) = match &namespaces {
            Some(_) => {
                InitSetup::new(&mut descriptors).map(|(init, status)| (Some(init), Some(status)))?
            }
            None => (None, None),
        };
        let setup = Self {
            exec_target: match &plan.executable {
                Some(executable) => Some(ExecTarget::new(executable, plan)?),
                None => None,
            },
            directory: c_string(plan.current_dir.as_os_str().as_bytes())?,
            limits: rlimits(plan, options.memory),
            processors: Processors::of_run(&plan.limits).set,
            filter: filter(plan, &options, Observation::Disabled),
            observed: is_observed(plan).then(|| ObservedFilter {
                filter: filter(plan, &options, Observation::Enabled),
                channel: child_channel,
            }),
            ruleset,
            namespaces,
            init,
            streams: child_streams,
            status: descriptors.keep(child_status),
            status_reader: status.as_raw_fd(),
            cgroup_procs_files,
            watchdog,
            fault: options.fault,
            owned: Mutex::new(descriptors.into_owned()),
        };
        let parent_ends = ParentEnds {
            streams,
            status,
            channel,
            program_status,
        };
        Ok((setup, parent_ends))
    }

    /// Returns the path of the mount operation with this index.
    pub(crate) fn operation_path(&self, index: i32) -> Option<String> {
        let rootfs = &self.namespaces.as_ref()?.rootfs;
        usize::try_from(index)
            .ok()
            .and_then(|index| rootfs.operations.get(index))
            .map(crate::rootfs::MountOp::path)
    }

    /// Closes the parent's copies of the child's descriptors. Before that, the streams of the child
    /// do not end when it does.
    pub(crate) fn close(&self) {
        self.owned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// Files that the host process opened and the program may use.
struct Allowed<'a> {
    sources: &'a [OpenedPath],
    /// The slave side of the terminal, which programs open again by `/dev/stdout`.
    terminal: Option<&'a OwnedFd>,
    local_sockets: LocalSockets,
}

impl InitSetup {
    /// Returns the pipe with the wait status of the program too, which does not block.
    fn new(descriptors: &mut Descriptors) -> Result<(Self, OwnedFd), SandboxError> {
        let (program_status, status) = pipe()?;
        fcntl(&program_status, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(pipe_error)?;
        let (ready, ready_writer) = pipe()?;
        let init = Self {
            image: init_image(),
            stack: Stack::new()
                .map_err(|error| SandboxError::setup("mapping the stack of a process", error))?,
            memory_use: MemoryUse::default(),
            status: descriptors.keep(status),
            ready: descriptors.keep(ready),
            ready_writer: descriptors.keep(ready_writer),
        };
        Ok((init, program_status))
    }
}

impl ExecTarget {
    fn new(executable: &Path, plan: &Plan) -> Result<Self, SandboxError> {
        let environment: Vec<String> = plan
            .env()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Ok(Self {
            executable: c_string(executable.as_os_str().as_bytes())?,
            directory: unobserved_directory(),
            args: c_string_array(plan.args())?,
            env: c_string_array(&environment)?,
        })
    }
}

impl Ruleset {
    /// Builds the ruleset, or returns `None` if the run has none: without Landlock, and with
    /// sandboxing disabled.
    fn new(
        plan: &Plan,
        landlock: Option<LandlockAbi>,
        allowed: &Allowed<'_>,
        descriptors: &mut Descriptors,
    ) -> Result<Option<Self>, SandboxError> {
        let abi = match (plan.isolation, landlock) {
            (IsolationLevel::None, _) | (IsolationLevel::Namespaces, None) => return Ok(None),
            // The level is selected only if Landlock is available. This check keeps a mistake there
            // from running a program without any restriction of files.
            (IsolationLevel::Landlock, None) => {
                return Err(SandboxError::unavailable(
                    "Landlock",
                    "it is the only restriction of files at this isolation level",
                    "use another isolation level",
                ));
            }
            (_, Some(abi)) => abi,
        };
        let ruleset = match &plan.rootfs {
            Some(_) => build_ruleset(allowed.sources.iter().map(Ok), plan.network, abi)?,
            None => {
                let sources = open_each(plan.paths(), &plan.relocated);
                build_ruleset(sources, plan.network, abi)?
            }
        };
        let ruleset = match allowed.terminal {
            Some(terminal) => add_terminal(ruleset, terminal, abi)?,
            None => ruleset,
        };
        let ruleset = finish_ruleset(ruleset)?;
        let descriptor = descriptors.keep(above_standard(ruleset)?);
        let deferred_rules = match &plan.rootfs {
            Some(rootfs) => deferred_rules(abi, rootfs, allowed.local_sockets)?,
            None => Vec::new(),
        };
        Ok(Some(Self {
            descriptor,
            deferred_rules,
        }))
    }
}

impl Namespaces {
    fn new(
        rootfs: RootFs,
        network: NetworkSetup,
        channel: RawFd,
        services: Vec<u16>,
        home: &Path,
    ) -> Result<Self, SandboxError> {
        let home = home.strip_prefix("/").unwrap_or(home);
        Ok(Self {
            rootfs,
            network,
            channel,
            services,
            home: c_string(home.as_os_str().as_bytes())?,
        })
    }
}

/// Returns true if the host process is notified of calls that the filter refuses. A probe refuses
/// nothing.
fn is_observed(plan: &Plan) -> bool {
    plan.isolation != IsolationLevel::None && plan.executable.is_some()
}

fn filter(plan: &Plan, options: &ChildOptions<'_>, observation: Observation) -> Arc<[sock_filter]> {
    if plan.isolation == IsolationLevel::None {
        return Arc::default();
    }
    build_filter(filter_config(plan, options, observation))
}

fn filter_config(
    plan: &Plan,
    options: &ChildOptions<'_>,
    observation: Observation,
) -> FilterConfig {
    FilterConfig {
        // Landlock does not cover metadata.
        metadata: if plan.isolation == IsolationLevel::Landlock {
            MetadataPolicy::Deny
        } else {
            MetadataPolicy::Any
        },
        links: if plan.isolation == IsolationLevel::Landlock && !plan.keys.is_empty() {
            LinkPolicy::Deny
        } else {
            LinkPolicy::Any
        },
        processes: if plan.spawn == SpawnGrant::None {
            ProcessPolicy::SingleProcess
        } else {
            ProcessPolicy::MultiProcess
        },
        allocation: if writes_without_quota(plan) || !plan.measured_quotas().is_empty() {
            AllocationPolicy::WriteOnly
        } else {
            AllocationPolicy::Any
        },
        sockets: match plan.network {
            RunNetwork::None => SocketPolicy::None,
            RunNetwork::Loopback => SocketPolicy::Loopback,
            RunNetwork::Proxy(_) => SocketPolicy::Proxy,
        },
        local_sockets: match options.local_sockets {
            LocalSockets::Supervised => LocalSocketPolicy::Supervised,
            LocalSockets::Denied if plan.isolation == IsolationLevel::Namespaces => {
                LocalSocketPolicy::Pairs
            }
            LocalSockets::Denied => LocalSocketPolicy::StreamPairs,
        },
        shared_memory: if options.memory == MemoryCounting::Measured {
            SharedMemoryPolicy::Decide
        } else {
            SharedMemoryPolicy::Allow
        },
        observation,
    }
}

/// Strings, and the null-terminated array of pointers to them that `execve` takes.
pub(crate) struct CStringArray {
    pointers: Vec<*const c_char>,
    /// Owns the memory that the pointers refer to.
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
    reason = "raw pointers are `Send` only by a promise of the type that owns their memory"
)]
// SAFETY: the pointers refer to heap memory that `_strings` owns and that never changes.
unsafe impl Send for CStringArray {}

#[expect(
    unsafe_code,
    reason = "raw pointers are `Sync` only by a promise of the type that owns their memory"
)]
// SAFETY: as above.
unsafe impl Sync for CStringArray {}

fn c_string(bytes: &[u8]) -> Result<CString, SandboxError> {
    CString::new(bytes).map_err(|_| nul_error())
}

fn c_string_array(texts: &[String]) -> Result<CStringArray, SandboxError> {
    texts
        .iter()
        .map(|text| c_string(text.as_bytes()))
        .collect::<Result<_, _>>()
        .map(CStringArray::new)
}
