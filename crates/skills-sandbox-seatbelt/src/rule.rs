//! Rules of a profile as data.

use std::fmt;

use crate::parameter::ProfilePath;

/// One rule: applies to its operations if one of its filters matches, or always without filters. If
/// several rules match, the last one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `(allow operations filters)`.
    Allow(Vec<Operation>, Vec<Filter>),
    /// `(deny operations filters)`.
    Deny(Vec<Operation>, Vec<Filter>),
}

impl Rule {
    pub(crate) fn allow(operations: &[Operation], filters: Vec<Filter>) -> Self {
        Self::Allow(operations.to_vec(), filters)
    }
}

/// An operation of a process. A name with a star covers all names with that prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// `default`: everything.
    Default,
    /// `file-read*`.
    FileRead,
    /// `file-read-metadata`.
    FileReadMetadata,
    /// `file-test-existence`.
    FileTestExistence,
    /// `file-write*`.
    FileWrite,
    /// `file-write-create`: an entry is created, also by renaming.
    FileWriteCreate,
    /// `file-write-data`.
    FileWriteData,
    /// `file-write-setugid`: setting the setuid or setgid bit of a file.
    FileWriteSetugid,
    /// `file-write-unlink`: an entry is removed, also by renaming.
    FileWriteUnlink,
    /// `file-ioctl`.
    FileIoctl,
    /// `file-map-executable`: code is loaded from a file.
    FileMapExecutable,
    /// `process-exec`.
    ProcessExec,
    /// `process-fork`.
    ProcessFork,
    /// `process-info*`.
    ProcessInfo,
    /// `sysctl-read`.
    SysctlRead,
    /// `signal`.
    Signal,
    /// `mach-lookup`: looking up a system service.
    MachLookup,
    /// `ipc-posix-sem`.
    IpcPosixSem,
    /// `network-outbound`.
    NetworkOutbound,
}

/// The filter of a rule: what its operations apply to. Filters can be combined with
/// [`All`](Self::All), [`Any`](Self::Any) and [`Not`](Self::Not).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A path and everything below it.
    Subpath(ProfilePath),
    /// Exactly this path.
    Literal(ProfilePath),
    /// Paths that match a regular expression, which never contains a path of a caller.
    Regex(String),
    /// A character device, so that a regular file of the same name does not match.
    CharacterDevice,
    /// The process itself and its descendants.
    SameSandbox,
    /// Kernel values with this name prefix.
    SysctlPrefix(&'static str),
    /// A system service.
    GlobalName(&'static str),
    /// A TCP port of the host.
    LocalPort(u16),
    /// All of these match.
    All(Vec<Self>),
    /// One of these matches.
    Any(Vec<Self>),
    /// This does not match.
    Not(Box<Self>),
}

impl fmt::Display for Rule {
    /// One line, or one per filter if there are several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdict, operations, filters) = match self {
            Self::Allow(operations, filters) => ("allow", operations, filters),
            Self::Deny(operations, filters) => ("deny", operations, filters),
        };
        write!(f, "({verdict}")?;
        operations
            .iter()
            .try_for_each(|operation| write!(f, " {}", operation.as_str()))?;
        let gap = if filters.len() == 1 { " " } else { "\n  " };
        filters
            .iter()
            .try_for_each(|filter| write!(f, "{gap}{filter}"))?;
        f.write_str(")")
    }
}

impl Operation {
    /// Returns the name in the profile language.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::FileRead => "file-read*",
            Self::FileReadMetadata => "file-read-metadata",
            Self::FileTestExistence => "file-test-existence",
            Self::FileWrite => "file-write*",
            Self::FileWriteCreate => "file-write-create",
            Self::FileWriteData => "file-write-data",
            Self::FileWriteSetugid => "file-write-setugid",
            Self::FileWriteUnlink => "file-write-unlink",
            Self::FileIoctl => "file-ioctl",
            Self::FileMapExecutable => "file-map-executable",
            Self::ProcessExec => "process-exec",
            Self::ProcessFork => "process-fork",
            Self::ProcessInfo => "process-info*",
            Self::SysctlRead => "sysctl-read",
            Self::Signal => "signal",
            Self::MachLookup => "mach-lookup",
            Self::IpcPosixSem => "ipc-posix-sem",
            Self::NetworkOutbound => "network-outbound",
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subpath(place) => write!(f, "(subpath {place})"),
            Self::Literal(place) => write!(f, "(literal {place})"),
            // No pattern contains a path of a caller, so nothing in it can end the string.
            Self::Regex(pattern) => write!(f, "(regex #\"{pattern}\")"),
            Self::CharacterDevice => f.write_str("(vnode-type CHARACTER-DEVICE)"),
            Self::SameSandbox => f.write_str("(target same-sandbox)"),
            Self::SysctlPrefix(start) => write!(f, "(sysctl-name-prefix \"{start}\")"),
            Self::GlobalName(name) => write!(f, "(global-name \"{name}\")"),
            Self::LocalPort(port) => write!(f, "(remote tcp \"localhost:{port}\")"),
            Self::All(filters) => write_combined(f, "require-all", filters),
            Self::Any(filters) => write_combined(f, "require-any", filters),
            Self::Not(filter) => write!(f, "(require-not {filter})"),
        }
    }
}

fn write_combined(f: &mut fmt::Formatter<'_>, name: &str, filters: &[Filter]) -> fmt::Result {
    write!(f, "({name}")?;
    filters
        .iter()
        .try_for_each(|filter| write!(f, " {filter}"))?;
    f.write_str(")")
}
