//! Rules of a profile as data.

use std::fmt;

use crate::parameter::ProfilePath;

/// One rule: what it says of some operations when one of its filters fits, or always without
/// filters. Where several rules fit, the last one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `(allow operations filters)`.
    Allow(Vec<Operation>, Vec<Filter>),
    /// `(deny operations filters)`.
    Deny(Vec<Operation>, Vec<Filter>),
}

/// What a process does. A name with a star covers all whose names begin so.
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
    /// `file-write-create`: a name comes into being, by renaming too.
    FileWriteCreate,
    /// `file-write-data`.
    FileWriteData,
    /// `file-write-setugid`: a file gets the bits that lend its owner's rights.
    FileWriteSetugid,
    /// `file-write-unlink`: a name goes away, by renaming too.
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
    /// `mach-lookup`: a service of the system is asked for.
    MachLookup,
    /// `ipc-posix-sem`.
    IpcPosixSem,
    /// `network-outbound`.
    NetworkOutbound,
}

/// What it does it to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A path and everything below it.
    Subpath(ProfilePath),
    /// A path alone.
    Literal(ProfilePath),
    /// Paths that fit a pattern, which is never made of somebody's path.
    Regex(String),
    /// A device that is read as a stream of bytes, and no file put in its place.
    CharacterDevice,
    /// The process itself and what it started.
    SameSandbox,
    /// Values of the kernel whose names begin so.
    SysctlPrefix(&'static str),
    /// A service of the system.
    GlobalName(&'static str),
    /// A port of this machine, by TCP.
    LocalPort(u16),
    /// All of these fit.
    All(Vec<Self>),
    /// One of these fits.
    Any(Vec<Self>),
    /// This does not fit.
    Not(Box<Self>),
}

impl fmt::Display for Rule {
    /// One line, or one more for each filter when there are several.
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
        let several = |f: &mut fmt::Formatter<'_>, name: &str, filters: &[Self]| {
            write!(f, "({name}")?;
            filters
                .iter()
                .try_for_each(|filter| write!(f, " {filter}"))?;
            f.write_str(")")
        };
        match self {
            Self::Subpath(place) => write!(f, "(subpath {place})"),
            Self::Literal(place) => write!(f, "(literal {place})"),
            Self::Regex(pattern) => write!(f, "(regex #\"{pattern}\")"),
            Self::CharacterDevice => f.write_str("(vnode-type CHARACTER-DEVICE)"),
            Self::SameSandbox => f.write_str("(target same-sandbox)"),
            Self::SysctlPrefix(start) => write!(f, "(sysctl-name-prefix \"{start}\")"),
            Self::GlobalName(name) => write!(f, "(global-name \"{name}\")"),
            Self::LocalPort(port) => write!(f, "(remote tcp \"localhost:{port}\")"),
            Self::All(filters) => several(f, "require-all", filters),
            Self::Any(filters) => several(f, "require-any", filters),
            Self::Not(filter) => write!(f, "(require-not {filter})"),
        }
    }
}
