//! Files and directories of the host that a program may use, opened once, before it exists.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::{Mode, SFlag, fstat};
use skills_sandbox::SandboxError;

use crate::plan::{PathAccess, PathRule, SymlinkPolicy};

/// Something that may be used, and an open descriptor that names it and nothing else.
pub(crate) struct OpenedPath {
    path: PathBuf,
    /// Where it lies.
    location: PathBuf,
    access: PathAccess,
    kind: Kind,
    identity: (u64, u64),
    /// What the rights are about: for a link, where it leads.
    file: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
}

/// Opens what the rules name. What is not there is left out: the program finds nothing there
/// either.
///
/// In paths that somebody granted no symlink is followed, so that nobody can lead a grant elsewhere
/// after it was decided.
///
/// What lies below the first path of a pair in `moved` is opened below the second.
pub(crate) fn open_all(
    rules: &[PathRule],
    moved: &[(PathBuf, PathBuf)],
) -> Result<Vec<OpenedPath>, SandboxError> {
    let mut sources = Vec::with_capacity(rules.len());
    for rule in rules {
        let below = |(path, location): &(PathBuf, PathBuf)| {
            Some(location.join(rule.path.strip_prefix(path).ok()?))
        };
        let location = moved.iter().find_map(below).map_or_else(
            || rule.path.clone(),
            |location| location.components().collect(),
        );
        match OpenedPath::open(rule, location) {
            Ok(source) => sources.push(source),
            Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            Err(Errno::ELOOP) if rule.symlinks == SymlinkPolicy::Reject => {
                let reason = format!("{} leads through a symlink", rule.path.display());
                return Err(SandboxError::rejected("linux", reason));
            }
            // A part of the system that the host itself may not see.
            Err(Errno::EACCES) if rule.symlinks == SymlinkPolicy::Follow => {}
            Err(error @ (Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)) => {
                return Err(SandboxError::setup("opening a granted path", error.into()));
            }
            Err(Errno::ENOSYS) => {
                let hint = "run outside of any other sandbox, on Linux 5.6 or newer";
                return Err(SandboxError::unavailable(
                    "opening paths without symlinks",
                    "this kernel, or a sandbox around this host, refuses it",
                    hint,
                ));
            }
            Err(error) => {
                let reason = format!("{} cannot be opened: {}", rule.path.display(), error.desc());
                return Err(SandboxError::rejected("linux", reason));
            }
        }
    }
    Ok(sources)
}

impl OpenedPath {
    fn open(rule: &PathRule, location: PathBuf) -> Result<Self, Errno> {
        // With O_NOFOLLOW a link at the very end is opened itself instead of being an error: a
        // protected one is held in its place.
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
            Err(Errno::ELOOP) if rule.symlinks == SymlinkPolicy::Follow => {
                (open(&location, flags, Mode::empty())?, true)
            }
            opened => (opened?, false),
        };
        let found = fstat(&file)?;
        let is_directory =
            SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
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
            identity: (found.st_dev, found.st_ino),
            file,
        })
    }

    /// Opens what is shown without being granted; what is missing, or a symlink, cannot be shown.
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

    /// Says whether rights for directories make sense for it.
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory || self.kind == Kind::Link && self.location.is_dir()
    }
}
