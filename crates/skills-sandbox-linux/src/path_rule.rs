//! Paths that a program can access, and the facts about the host that they depend on.

use std::path::PathBuf;

use skills_policy::{Access, FileGrant};
use skills_sandbox::Job;

use crate::isolation::IsolationLevel;

/// Host facts that a plan depends on: the isolation level and where the scratch space is. A test
/// can set them to plan a run for a host other than its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanContext {
    /// The isolation level of the run.
    pub isolation: IsolationLevel,
    /// The scratch directory: a directory of the host or, with [`IsolationLevel::Namespaces`], a
    /// path in the root file system of the run, where a file system in memory is mounted.
    pub scratch_path: PathBuf,
    /// Whether the run gets a `/proc` with its own processes; only used with
    /// [`IsolationLevel::Namespaces`].
    pub mount_proc: bool,
    /// Whether the run gets a network of its own, with a loopback device; only used with
    /// [`IsolationLevel::Namespaces`].
    pub own_network: bool,
}

/// A path, and the access of the program to it and to everything below it. Paths that do not exist
/// when the run starts are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path.
    pub path: PathBuf,
    /// The access to it.
    pub access: PathAccess,
    /// Whether symlinks in the path are followed when it is opened.
    pub symlinks: SymlinkPolicy,
}

impl PathRule {
    /// Creates a rule for a path that the policy granted, protected or hid. It was decided for this
    /// path, so a symlink must not lead it elsewhere later.
    pub(crate) fn granted(path: impl Into<PathBuf>, access: PathAccess) -> Self {
        Self {
            path: path.into(),
            access,
            symlinks: SymlinkPolicy::Reject,
        }
    }

    pub(crate) fn of_grant(file: &FileGrant) -> Self {
        let access = match file.access() {
            Access::ReadWrite => PathAccess::Write,
            _ => PathAccess::Read,
        };
        Self::granted(file.path(), access)
    }

    /// Returns true for a rule that lets the program change files.
    pub(crate) fn is_writable(&self) -> bool {
        matches!(self.access, PathAccess::Write | PathAccess::Create)
    }

    /// Returns true for a rule that takes access from a path instead of giving any.
    pub(crate) fn is_exception(&self) -> bool {
        self.access.is_exception()
    }

    /// Returns a rule for the controlling terminal of the process that opens it, if the program has
    /// one: no process of a run belongs to a session of the host.
    pub(crate) fn own_terminal(job: &Job) -> Option<Self> {
        let terminal = job.program_streams().terminal.as_ref();
        terminal.map(|_| Self::system("/dev/tty", PathAccess::Terminal))
    }

    /// Creates a rule for a path of the system, where symlinks such as `/bin` are normal.
    pub(crate) fn system(path: impl Into<PathBuf>, access: PathAccess) -> Self {
        Self {
            path: path.into(),
            access,
            symlinks: SymlinkPolicy::Follow,
        }
    }
}

/// Whether symlinks in a path are followed when it is opened. Paths that the policy decided on use
/// [`Reject`](Self::Reject), so that the decision cannot be redirected afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// Follows symlinks, as for paths of the system.
    Follow,
    /// Rejects the run if any component of the path is a symlink.
    Reject,
}

/// The access of a program to a path and to everything below it. With several rules for nested
/// paths access adds up, except for [`Protected`](Self::Protected), [`Hidden`](Self::Hidden) and
/// [`Withheld`](Self::Withheld).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// Read files and list directories.
    Read,
    /// The same, for settings of the system: skipped unless the path belongs to root and every user
    /// of the host may read it.
    ReadPublic,
    /// Read a file and execute it.
    Execute,
    /// Read and write a device.
    Device,
    /// Read and write a terminal, and change its modes.
    Terminal,
    /// Read a device.
    ReadDevice,
    /// Everything except executing files and creating devices.
    Write,
    /// List directories, without reading files.
    List,
    /// List directories, create entries and write to files, without reading, renaming or removing
    /// them.
    Create,
    /// Read-only inside a writable directory. Grants nothing by itself.
    Protected,
    /// Neither readable nor writable inside a granted directory: an empty directory is mounted over
    /// it.
    Hidden,
    /// Neither readable nor writable inside a granted directory, but visible: opening it is denied.
    Withheld,
}

impl PathAccess {
    /// Returns true for an access that takes rights inside a granted directory.
    pub(crate) fn is_exception(self) -> bool {
        matches!(self, Self::Protected | Self::Hidden | Self::Withheld)
    }
}
