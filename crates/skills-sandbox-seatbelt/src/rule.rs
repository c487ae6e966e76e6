//! Rules of a profile as data.

use std::fmt;

use crate::quote::Literal;

/// One rule. Where several match, the last one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `(deny default)`.
    DenyDefault,
    /// `(allow operations filters)`; without filters, for everything.
    Allow(Vec<Operation>, Vec<Filter>),
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// `file-read*`.
    FileRead,
    /// `file-read-metadata`.
    FileReadMetadata,
    /// `file-write*`.
    FileWrite,
    /// `file-map-executable`.
    FileMapExecutable,
    /// `process-exec`.
    ProcessExec,
    /// `process-fork`.
    ProcessFork,
    /// `sysctl-read`.
    SysctlRead,
    /// `signal`.
    Signal,
}

/// What it does it to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A path and everything below it.
    Subpath(Path),
    /// A path alone.
    Literal(Path),
    /// The process itself and what it started.
    SameSandbox,
}

/// A path that can be written into a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(pub(crate) Literal);

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DenyDefault => f.write_str("(deny default)"),
            Self::Allow(operations, filters) => {
                f.write_str("(allow")?;
                for operation in operations {
                    write!(f, " {operation}")?;
                }
                for filter in filters {
                    write!(f, " {filter}")?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileRead => "file-read*",
            Self::FileReadMetadata => "file-read-metadata",
            Self::FileWrite => "file-write*",
            Self::FileMapExecutable => "file-map-executable",
            Self::ProcessExec => "process-exec",
            Self::ProcessFork => "process-fork",
            Self::SysctlRead => "sysctl-read",
            Self::Signal => "signal",
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subpath(path) => write!(f, "(subpath {})", path.0.quoted()),
            Self::Literal(path) => write!(f, "(literal {})", path.0.quoted()),
            Self::SameSandbox => f.write_str("(target same-sandbox)"),
        }
    }
}
