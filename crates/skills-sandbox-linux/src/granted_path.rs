//! Files and directories of the host that a program may use, opened once by the parent.
//!
//! The descriptor, not the path, is what Landlock allows, so a path that is replaced later gets no
//! access. Mounts cannot use it and compare the identity of the file instead.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use skills_sandbox::SandboxError;

use crate::path_rule::{PathAccess, PathRule, SymlinkPolicy};

/// A path with its access, and an open descriptor (`O_PATH`) of the file.
pub(crate) struct OpenedPath {
    path: PathBuf,
    /// The path under which the file was opened, which differs for relocated paths.
    location: PathBuf,
    access: PathAccess,
    kind: Kind,
    /// Device and inode number.
    identity: (u64, u64),
    /// The file; for a symlink of the system its target.
    file: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
}

/// Opens the paths of the rules. Paths that do not exist are skipped: the program does not find
/// them either.
///
/// In granted paths no symlink is followed, so that a grant cannot be redirected after it was
/// decided. A path below the first path of a pair in `relocated` is opened below the second.
///
/// # Errors
/// Fails if a granted path leads through a symlink or cannot be opened, or if the kernel has no
/// `openat2`.
pub(crate) fn open_all(
    rules: &[PathRule],
    relocated: &[(PathBuf, PathBuf)],
) -> Result<Vec<OpenedPath>, SandboxError> {
    open_each(rules, relocated).collect()
}

/// Opens the paths of the rules as [`open_all`] does, one after the other.
pub(crate) fn open_each<'a>(
    rules: &'a [PathRule],
    relocated: &'a [(PathBuf, PathBuf)],
) -> impl Iterator<Item = Result<OpenedPath, SandboxError>> + 'a {
    // Of withheld paths the identity is known.
    let rules = rules
        .iter()
        .filter(|rule| rule.access != PathAccess::Withheld);
    rules.filter_map(
        |rule| match OpenedPath::open(rule, find_location(&rule.path, relocated)) {
            Ok(path) => Some(Ok(path)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => None,
            // A path of the system that the host process itself cannot access.
            Err(Errno::EACCES) if rule.symlinks == SymlinkPolicy::Follow => None,
            Err(error) => Some(Err(open_error(rule, error))),
        },
    )
}

/// Returns true if a file belongs to root and every user of the host may read it.
fn is_public(stat: &FileStat) -> bool {
    stat.st_uid == 0 && Mode::from_bits_truncate(stat.st_mode).contains(Mode::S_IROTH)
}

fn find_location(path: &Path, relocated: &[(PathBuf, PathBuf)]) -> PathBuf {
    relocated
        .iter()
        .find_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)))
        // Joining an empty path leaves a trailing slash, with which a file cannot be opened.
        .map_or_else(|| path.to_owned(), |path| path.components().collect())
}

fn open_error(rule: &PathRule, error: Errno) -> SandboxError {
    let path = rule.path.display();
    match error {
        Errno::ELOOP if rule.symlinks == SymlinkPolicy::Reject => SandboxError::rejected(
            "linux",
            format!("the granted path `{path}` leads through a symlink"),
        ),
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => {
            SandboxError::setup("opening a granted path", error.into())
        }
        Errno::ENOSYS => SandboxError::unavailable(
            "opening paths without symlinks",
            "this kernel, or a sandbox around the host process, rejects `openat2`",
            "run outside of any other sandbox, on Linux 5.6 or newer",
        ),
        _ => SandboxError::rejected("linux", format!("cannot open `{path}`: {}", error.desc())),
    }
}

impl OpenedPath {
    fn open(rule: &PathRule, location: PathBuf) -> Result<Self, Errno> {
        // With O_NOFOLLOW a symlink as the last component is opened itself instead of being an
        // error: a protected symlink is mounted over itself, so that it cannot be replaced.
        let nofollow = if rule.access == PathAccess::Protected {
            OFlag::O_NOFOLLOW
        } else {
            OFlag::empty()
        };
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | nofollow;
        let how = OpenHow::new()
            .flags(flags)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        let (file, is_link) = match openat2(AT_FDCWD, &location, how) {
            // The first attempt fails on symlinks also where they are allowed, to learn whether the
            // path has one: the root file system then shows a symlink instead of a mount.
            Err(Errno::ELOOP) if rule.symlinks == SymlinkPolicy::Follow => {
                (open(&location, flags, Mode::empty())?, true)
            }
            opened => (opened?, false),
        };
        let stat = fstat(&file)?;
        if rule.access == PathAccess::ReadPublic && !is_public(&stat) {
            return Err(Errno::EACCES);
        }
        let is_directory =
            SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
        let kind = match (is_link, is_directory) {
            (true, _) => Kind::Link,
            (false, true) => Kind::Directory,
            (false, false) => Kind::File,
        };
        Ok(Self {
            path: rule.path.clone(),
            location,
            access: rule.access,
            kind,
            identity: (stat.st_dev, stat.st_ino),
            file,
        })
    }

    /// Opens a path that is mounted without being granted, such as a directory above a protected
    /// path. Returns `None` if it does not exist or leads through a symlink.
    pub(crate) fn open_ungranted(path: &Path) -> Option<Self> {
        let rule = PathRule {
            path: path.to_owned(),
            access: PathAccess::Read,
            symlinks: SymlinkPolicy::Reject,
        };
        Self::open(&rule, path.to_owned()).ok()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn location(&self) -> &Path {
        &self.location
    }

    pub(crate) fn access(&self) -> PathAccess {
        self.access
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns true if the kernel accepts access rights of directories for it.
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory || self.kind == Kind::Link && self.location.is_dir()
    }
}
