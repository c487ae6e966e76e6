//! The setup steps between `clone` and `execve`, and the errors of steps that fail.

use std::fmt;
use std::io;

use skills_sandbox::SandboxError;

/// A setup step of the child, by the number that the status pipe carries.
#[cfg_attr(
    not(feature = "fault-injection"),
    expect(
        unreachable_pub,
        reason = "public for tests of what happens when a step fails"
    )
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
#[non_exhaustive]
pub enum SetupStep {
    /// Creates a session and process group.
    Session = 1,
    /// Requests a kill signal for the end of the host.
    Lifetime,
    /// Joins the cgroups.
    Cgroup,
    /// Writes the user and group maps of the user namespace.
    Identity,
    /// Mounts an empty root file system.
    Root,
    /// Creates an entry of the root file system.
    RootFs,
    /// Mounts a new `/proc`.
    Proc,
    /// Leaves the root file system of the host.
    Pivot,
    /// Sets up the network namespace: its loopback device and, with granted hosts, its listener.
    Network,
    /// Starts the first process of the process namespace, and the program as its child.
    Init,
    /// Installs the three standard streams.
    Streams,
    /// Closes all other descriptors.
    Descriptors,
    /// Enters the working directory.
    Directory,
    /// Sets resource limits.
    Limits,
    /// Drops all capabilities.
    Capabilities,
    /// Sets `no_new_privs`.
    NoNewPrivileges,
    /// Applies the Landlock ruleset.
    Landlock,
    /// Installs the seccomp filter.
    Seccomp,
    /// Resets signal handlers and the signal mask.
    Signals,
    /// Reports that all restrictions are in effect.
    Ready,
    /// Executes the program.
    Execute,
}

impl SetupStep {
    /// All steps, in the order in which their numbers ascend.
    #[cfg_attr(
        not(feature = "fault-injection"),
        expect(
            unreachable_pub,
            reason = "public for tests of what happens when a step fails"
        )
    )]
    pub const ALL: [Self; 21] = [
        Self::Session,
        Self::Lifetime,
        Self::Cgroup,
        Self::Identity,
        Self::Root,
        Self::RootFs,
        Self::Proc,
        Self::Pivot,
        Self::Network,
        Self::Init,
        Self::Streams,
        Self::Descriptors,
        Self::Directory,
        Self::Limits,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Signals,
        Self::Ready,
        Self::Execute,
    ];

    /// Returns what the step does, as messages say it after "cannot set up the sandbox:".
    fn description(self) -> &'static str {
        match self {
            Self::Session => "creating a session",
            Self::Lifetime => "binding the process to the lifetime of its host",
            Self::Cgroup => "joining a cgroup",
            Self::Identity => "mapping the user of a user namespace",
            Self::Root => "creating the root file system",
            Self::RootFs => "mounting a path in the root file system",
            Self::Proc => "mounting /proc",
            Self::Pivot => "leaving the root file system of the host",
            Self::Network => "setting up the network namespace",
            Self::Init => "starting the first process",
            Self::Streams => "installing the standard streams",
            Self::Descriptors => "closing descriptors",
            Self::Directory => "entering the working directory",
            Self::Limits => "setting resource limits",
            Self::Capabilities => "dropping capabilities",
            Self::NoNewPrivileges => "setting no_new_privs",
            Self::Landlock => "applying Landlock",
            Self::Seccomp => "installing the seccomp filter",
            Self::Signals => "resetting signals",
            Self::Ready => "reporting readiness",
            Self::Execute => "executing the program",
        }
    }
}

/// A message of the child in the status pipe: the number of a step or 0 for "ready", the error
/// number, and the index of the mount operation or -1.
pub(crate) type Message = [i32; 3];

/// The message that all restrictions are in effect and the program is executed next.
pub(crate) const READY: Message = [0, 0, -1];

/// The setup step at which a child failed, or a child that could not be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepFailure {
    /// `None` if `clone` failed, or if the child was killed during the setup.
    pub(crate) step: Option<SetupStep>,
    /// The error number; 0 if the child was killed.
    pub(crate) errno: i32,
    /// The path of the mount operation that failed.
    pub(crate) path: Option<String>,
}

impl StepFailure {
    pub(crate) fn new(step: Option<SetupStep>, errno: i32) -> Self {
        Self {
            step,
            errno,
            path: None,
        }
    }

    pub(crate) fn from_clone_error(error: &io::Error) -> Self {
        Self::new(None, error.raw_os_error().unwrap_or(0))
    }

    /// Returns true if a retry could succeed, since a resource was exhausted at that moment.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self.errno,
            0 | libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EINTR
        )
    }

    pub(crate) fn to_io_error(&self) -> io::Error {
        if self.errno == 0 {
            io::Error::other("the process was killed during the setup")
        } else {
            io::Error::from_raw_os_error(self.errno)
        }
    }
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(describe(self.step))?;
        if let Some(path) = &self.path {
            write!(f, " (`{path}`)")?;
        }
        write!(f, ": {}", self.to_io_error())
    }
}

fn describe(step: Option<SetupStep>) -> &'static str {
    step.map_or("creating the process", SetupStep::description)
}

/// Reports a restriction that the kernel rejects as unavailable, a path that cannot be mounted as
/// rejected, and any other failure as an error of the setup.
impl From<StepFailure> for SandboxError {
    fn from(failure: StepFailure) -> Self {
        match failure.step {
            Some(SetupStep::Landlock) => unavailable("Landlock", &failure),
            Some(SetupStep::Seccomp) => unavailable("seccomp", &failure),
            Some(SetupStep::NoNewPrivileges) => unavailable("no_new_privs", &failure),
            Some(SetupStep::Capabilities) => unavailable("dropping capabilities", &failure),
            // The parent opened the path before, so it was removed or replaced since then.
            Some(SetupStep::RootFs) if matches!(failure.errno, libc::ESTALE | libc::ENOENT) => {
                Self::rejected(
                    "linux",
                    format!("{failure}; the path changed during the setup"),
                )
            }
            // A granted path cannot be mounted in a directory such as `/proc`, which is the run's
            // own.
            Some(SetupStep::RootFs) => {
                Self::rejected("linux", format!("{failure}; use another directory"))
            }
            // The probe succeeded at these steps, or there would be no namespaces in use.
            Some(SetupStep::Identity | SetupStep::Root | SetupStep::Proc | SetupStep::Pivot) => {
                Self::unavailable(
                    "the root file system",
                    failure.to_string(),
                    "try again; `skills doctor` shows what this host supports",
                )
            }
            step => Self::setup(describe(step), failure.to_io_error()),
        }
    }
}

fn unavailable(restriction: &'static str, failure: &StepFailure) -> SandboxError {
    SandboxError::unavailable(
        restriction,
        failure.to_io_error().to_string(),
        "let the container's or service's seccomp profile allow it, or use a skill with a WebAssembly module",
    )
}
