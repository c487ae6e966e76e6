//! What a program was given.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Limits;

/// What a program was given: the proof that a sandbox asks for.
///
/// The fields are private and the only constructor that grants anything is [`Rules::decide`](crate::Rules::decide).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Grants {
    pub(crate) files: Vec<FileGrant>,
    pub(crate) network: Network,
    pub(crate) spawn: Spawn,
    pub(crate) limits: Limits,
}

impl Grants {
    /// Grants nothing: no file, no host, no program, under the default limits.
    #[must_use]
    pub fn none() -> Self {
        Self { files: Vec::new(), network: Network::None, spawn: Spawn::None, limits: Limits::default() }
    }

    /// Returns the directories that may be used, the program's own first. A private scratch directory comes on top.
    #[must_use]
    pub fn files(&self) -> &[FileGrant] {
        &self.files
    }

    /// Returns the hosts that may be reached.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the programs that may be started.
    #[must_use]
    pub fn spawn(&self) -> &Spawn {
        &self.spawn
    }

    /// Returns how much may be used.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// A directory that may be used, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileGrant {
    pub(crate) path: PathBuf,
    pub(crate) guest: &'static str,
    pub(crate) access: Access,
}

impl FileGrant {
    /// Returns the directory on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a program that sees a file system of its own finds it: `/skill`, `/workspace`.
    #[must_use]
    pub fn guest(&self) -> &'static str {
        self.guest
    }

    /// Returns what may be done with it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }
}

/// What may be done with a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read and list.
    ReadOnly,
    /// Read, list, create, change and delete.
    ReadWrite,
}

/// The hosts that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// None.
    None,
    /// These, by name.
    Hosts(BTreeSet<String>),
}

/// The programs that may be started.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawn {
    /// None.
    None,
    /// These, by their names without a path.
    Programs(BTreeSet<String>),
    /// All that the sandbox can see.
    Any,
}

impl Spawn {
    /// Says whether a program of this name may be started.
    #[must_use]
    pub fn allows_program(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Programs(names) => names.contains(name),
            Self::Any => true,
        }
    }
}
