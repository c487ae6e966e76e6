//! The steps between `clone` and `execve`, and what is said about one that failed.

use std::fmt;
use std::io;

use skills_sandbox::SandboxError;

/// A step of the child, as it travels through the status pipe.
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
    /// A session and process group of its own.
    Session = 1,
    /// Dying with the host.
    Lifetime,
    /// Joining a control group.
    Cgroup,
    /// Naming its user and group inside the user namespace.
    Identity,
    /// A file tree of its own.
    Root,
    /// A path of that tree.
    RootFs,
    /// A `/proc` of its own.
    Proc,
    /// Leaving the host's file tree.
    Pivot,
    /// The loopback device and the listener of a network of its own.
    Network,
    /// Its three streams.
    Streams,
    /// Closing all other descriptors.
    Descriptors,
    /// Its working directory.
    Directory,
    /// Resource limits.
    Limits,
    /// Dropping capabilities.
    Capabilities,
    /// Giving up new privileges.
    NoNewPrivileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// Signals as a new program expects them.
    Signals,
    /// Saying that all walls stand.
    Ready,
    /// Starting the program.
    Execute,
}

impl SetupStep {
    /// All steps, in their order.
    #[cfg_attr(
        not(feature = "fault-injection"),
        expect(
            unreachable_pub,
            reason = "public for tests of what happens when a step fails"
        )
    )]
    pub const ALL: [Self; 20] = [
        Self::Session,
        Self::Lifetime,
        Self::Cgroup,
        Self::Identity,
        Self::Root,
        Self::RootFs,
        Self::Proc,
        Self::Pivot,
        Self::Network,
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

    /// Says what the step does, to follow "failed at".
    fn description(self) -> &'static str {
        match self {
            Self::Session => "making a session",
            Self::Lifetime => "binding the process to its host",
            Self::Cgroup => "joining a control group",
            Self::Identity => "naming the user of a user namespace",
            Self::Root => "making a file tree",
            Self::RootFs => "placing a path in the file tree",
            Self::Proc => "mounting /proc",
            Self::Pivot => "leaving the host's file tree",
            Self::Network => "making a network",
            Self::Streams => "preparing standard streams",
            Self::Descriptors => "closing descriptors",
            Self::Directory => "entering the skill's directory",
            Self::Limits => "setting resource limits",
            Self::Capabilities => "dropping capabilities",
            Self::NoNewPrivileges => "giving up new privileges",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
            Self::Signals => "resetting signals",
            Self::Ready => "reporting readiness",
            Self::Execute => "starting the interpreter",
        }
    }
}

/// What a child says through its status pipe: a step or 0 for "ready", the kernel's error, and
/// which path of the tree it was about.
pub(crate) type Message = [i32; 3];

/// What the child says when every wall stands and only the program is missing.
pub(crate) const READY: Message = [0, 0, -1];

/// Where a child failed, or that it could not be made at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepFailure {
    /// None when `clone` failed, or when something killed the child on its way.
    pub(crate) step: Option<SetupStep>,
    pub(crate) errno: i32,
    /// The path that it was about.
    pub(crate) path: Option<String>,
}

impl StepFailure {
    pub(crate) fn from_clone_error(error: &io::Error) -> Self {
        Self {
            step: None,
            errno: error.raw_os_error().unwrap_or(0),
            path: None,
        }
    }

    /// Says whether another try may well succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self.errno,
            0 | libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EINTR
        )
    }

    pub(crate) fn to_io_error(&self) -> io::Error {
        if self.errno == 0 {
            io::Error::other("it was killed before its walls stood")
        } else {
            io::Error::from_raw_os_error(self.errno)
        }
    }
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.step.map_or("making a process", SetupStep::description))?;
        if let Some(path) = &self.path {
            write!(f, " ({path})")?;
        }
        write!(f, ": {}", self.to_io_error())
    }
}

/// A wall that the kernel refuses is missing; the rest went wrong.
impl From<StepFailure> for SandboxError {
    fn from(failure: StepFailure) -> Self {
        const CONTAINER: &str = "let the container's or service's seccomp profile allow it, or use a skill with a WebAssembly module";
        let wall = |layer| Self::unavailable(layer, failure.to_io_error().to_string(), CONTAINER);
        match failure.step {
            Some(SetupStep::Landlock) => wall("Landlock"),
            Some(SetupStep::Seccomp) => wall("seccomp"),
            Some(SetupStep::NoNewPrivileges) => wall("no_new_privs"),
            Some(SetupStep::Capabilities) => wall("dropping capabilities"),
            // It was opened a moment ago.
            Some(SetupStep::RootFs) if matches!(failure.errno, libc::ESTALE | libc::ENOENT) => {
                Self::rejected(
                    "linux",
                    format!("{failure}; it was changed while the run was being prepared"),
                )
            }
            // A place that is the program's own, such as `/proc`, cannot hold a granted path.
            Some(SetupStep::RootFs) => {
                Self::rejected("linux", format!("{failure}; use another directory"))
            }
            Some(SetupStep::Identity | SetupStep::Root | SetupStep::Proc | SetupStep::Pivot) => {
                Self::unavailable(
                    "the file tree",
                    failure.to_string(),
                    "try again; `skills doctor` says what this machine offers",
                )
            }
            step => Self::setup(
                step.map_or("making a process", SetupStep::description),
                failure.to_io_error(),
            ),
        }
    }
}
