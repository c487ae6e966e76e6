//! One thing that a program may be permitted.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Capability, HostPattern};

/// One thing that a program may be permitted.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// Read this file, or this directory and everything below it.
    Read(#[serde(serialize_with = "crate::path::serialize_lossy")] PathBuf),
    /// Read and write this file, or this directory and everything below it.
    Write(#[serde(serialize_with = "crate::path::serialize_lossy")] PathBuf),
    /// Read and write a path at or below a [protected](crate::PROTECTED_PATHS) one. No wider rule,
    /// approval or mode gives it: only a rule or an answer for the protected path itself, or for a
    /// path in it.
    WriteProtected {
        /// What is to be written, and everything below it.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        path: PathBuf,
        /// The innermost protected path at or above it.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        protected: PathBuf,
    },
    /// Reach these hosts.
    Host(HostPattern),
    /// Reach whichever hosts the rules list: a wish, which becomes [`Host`](Self::Host)s before
    /// anything is decided.
    ListedHosts,
    /// Start this program, named without a path.
    Program(String),
    /// Start any program.
    AnyProgram,
    /// See this variable.
    Variable(String),
    /// Run as a hook, at this event, this command. No rule allows it, only approvals and answers
    /// do.
    Hook(String),
    /// Something that was asked for in words that mean nothing here; it is always denied.
    #[serde(alias = "unreadable")]
    Invalid(Capability, String),
}

impl Permission {
    /// Returns the kind of power.
    #[must_use]
    pub fn capability(&self) -> Capability {
        match self {
            Self::Read(_) => Capability::Read,
            Self::Write(_) | Self::WriteProtected { .. } => Capability::Write,
            Self::Host(_) | Self::ListedHosts => Capability::Network,
            Self::Program(_) | Self::AnyProgram | Self::Hook(_) => Capability::Spawn,
            Self::Variable(_) => Capability::Environment,
            Self::Invalid(capability, _) => *capability,
        }
    }

    /// Says whether whoever has this needs not ask for `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Write(path), Self::Write(below) | Self::Read(below))
            | (Self::Read(path), Self::Read(below)) => below.starts_with(path),
            (
                Self::WriteProtected { path, .. },
                Self::WriteProtected {
                    path: below,
                    protected,
                },
            ) => below.starts_with(path) && path.starts_with(protected),
            (Self::WriteProtected { path, .. }, Self::Read(below)) => below.starts_with(path),
            (Self::Host(wide), Self::Host(narrow)) => wide.covers(narrow),
            (Self::AnyProgram, Self::Program(_)) => true,
            (Self::Invalid(..), _) => false,
            _ => self == other,
        }
    }

    /// Returns the file or directory that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::WriteProtected { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {}", path.display()),
            Self::Write(path) => write!(f, "write {}", path.display()),
            Self::WriteProtected { path, .. } => {
                write!(
                    f,
                    "write {}, which is PROTECTED: other programs run or obey what lies there",
                    path.display()
                )
            }
            Self::Host(pattern) if *pattern == HostPattern::ANY => f.write_str("reach any host"),
            Self::Host(pattern) => write!(f, "reach {pattern}"),
            Self::ListedHosts => f.write_str("reach hosts"),
            Self::Program(name) => write!(f, "start {name}"),
            Self::AnyProgram => f.write_str("start programs"),
            Self::Variable(name) => write!(f, "see the variable {name}"),
            Self::Hook(command) => write!(f, "run as a hook: {command}"),
            Self::Invalid(Capability::Spawn, text) => write!(f, "start {:?}", truncate(text)),
            Self::Invalid(_, text) => write!(f, "reach {:?}", truncate(text)),
        }
    }
}

/// Cuts what a skill wrote to a length that a reader takes in.
pub(crate) fn truncate(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    if text.chars().nth(MAX_CHARACTERS).is_none() {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARACTERS).chain(['…']).collect()
}
