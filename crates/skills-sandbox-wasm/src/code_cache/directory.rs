//! The cache directory, accessed through a handle.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use skills_store::create_private_dir;

use super::error::{CodeCacheError, TrustFault};

/// The mode of every file: readable and writable by its owner.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Opening a pipe does not block, and a terminal does not become the controlling one.
const SAFE_OPEN_FLAGS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open directory that belongs to this user alone. Files are always those of this directory,
/// whatever its path refers to later.
#[derive(Debug)]
pub(super) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

/// What a name in the directory refers to.
pub(super) enum DirectoryEntry {
    Missing,
    Untrusted(TrustFault),
    File { file: OwnedFd, stat: Stat },
}

impl Directory {
    /// Opens the directory; `None` if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, CodeCacheError> {
        let failed = |source| CodeCacheError::io("open", path.to_owned(), source);
        let untrusted = |fault| CodeCacheError::untrusted(path.to_owned(), fault);
        match rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | SAFE_OPEN_FLAGS,
            Mode::empty(),
        ) {
            Ok(handle) => {
                check_trust(
                    // Checked on the handle: the path may refer to something else by now.
                    &rustix::fs::fstat(&handle).map_err(failed)?,
                    FileType::Directory,
                )
                .map_err(untrusted)?;
                Ok(Some(Self {
                    handle,
                    path: path.to_owned(),
                }))
            }
            Err(Errno::NOENT) => Ok(None),
            // Systems reject symlinks with different errors, so the file type decides the reason.
            Err(errno) => {
                let stat =
                    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                check_trust(&stat, FileType::Directory).map_err(untrusted)?;
                Err(failed(errno))
            }
        }
    }

    /// Opens the directory, after creating it and its missing parents.
    pub(super) fn create(path: &Path) -> Result<Self, CodeCacheError> {
        if let Some(directory) = Self::open(path)? {
            return Ok(directory);
        }
        create_private_dir(path)
            .map_err(|error| CodeCacheError::io("make", path.to_owned(), error))?;
        // Another process may have created it in the same moment, so it is checked like any other.
        Self::open(path)?.ok_or_else(|| CodeCacheError::io("open", path.to_owned(), Errno::NOENT))
    }

    /// Opens a file for reading and checks it.
    pub(super) fn lookup(&self, name: &str) -> Result<DirectoryEntry, CodeCacheError> {
        let failed = |errno| self.io_error("open", name, errno);
        match rustix::fs::openat(
            &self.handle,
            name,
            OFlags::RDONLY | SAFE_OPEN_FLAGS,
            Mode::empty(),
        ) {
            Ok(file) => {
                // Checked on the open file: the name may refer to another one by now.
                let stat = rustix::fs::fstat(&file).map_err(failed)?;
                Ok(check_trust(&stat, FileType::RegularFile).map_or_else(
                    DirectoryEntry::Untrusted,
                    |()| DirectoryEntry::File { file, stat },
                ))
            }
            Err(Errno::NOENT) => Ok(DirectoryEntry::Missing),
            // Symlinks and files of others cannot be opened. That they are not trusted is a better
            // reason than the error.
            Err(errno) => match self.stat(name)? {
                Some(stat) => check_trust(&stat, FileType::RegularFile).map_or_else(
                    |fault| Ok(DirectoryEntry::Untrusted(fault)),
                    |()| Err(failed(errno)),
                ),
                None => Ok(DirectoryEntry::Missing),
            },
        }
    }

    /// Creates a new file for writing.
    pub(super) fn create_new(&self, name: &str) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(
            &self.handle,
            name,
            // Fails if the name exists, so that no file is written that another user has prepared.
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE_OPEN_FLAGS,
            FILE_MODE,
        )
    }

    /// Opens a file for locking, and creates it if it does not exist.
    pub(super) fn open_or_create(&self, name: &str) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(
            &self.handle,
            name,
            OFlags::RDWR | OFlags::CREATE | SAFE_OPEN_FLAGS,
            FILE_MODE,
        )
    }

    /// Returns the metadata of a name, without following symlinks.
    pub(super) fn stat(&self, name: &str) -> Result<Option<Stat>, CodeCacheError> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.io_error("examine", name, errno)),
        }
    }

    /// Removes a file; a missing file is not an error.
    pub(super) fn remove(&self, name: &str) -> Result<(), CodeCacheError> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.io_error("remove", name, errno)),
        }
    }

    /// Lists all names that are UTF-8, as those of the cache are.
    pub(super) fn names(&self) -> Result<Vec<String>, CodeCacheError> {
        let failed = |source| CodeCacheError::io("list", self.path.clone(), source);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Makes directory entries durable, if the file system supports it.
    pub(super) fn sync(&self) -> Result<(), CodeCacheError> {
        match rustix::fs::fsync(&self.handle) {
            // Some file systems cannot sync directories.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(CodeCacheError::io("sync", self.path.clone(), errno)),
        }
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub(super) fn io_error(
        &self,
        action: &'static str,
        name: &str,
        source: impl Into<std::io::Error>,
    ) -> CodeCacheError {
        CodeCacheError::io(action, self.path.join(name), source)
    }

    pub(super) fn untrusted(&self, name: &str, fault: TrustFault) -> CodeCacheError {
        CodeCacheError::untrusted(self.path.join(name), fault)
    }
}

/// Returns why a file or directory must not be trusted with code, if so.
#[expect(
    clippy::unnecessary_cast,
    reason = "the width of modes differs between systems"
)]
fn check_trust(stat: &Stat, wanted: FileType) -> Result<(), TrustFault> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let mode = Mode::from_raw_mode(stat.st_mode);
    let user = rustix::process::geteuid().as_raw();
    match kind {
        // First, since owner and mode of a symlink say nothing about its target.
        FileType::Symlink => Err(TrustFault::Symlink),
        _ if kind != wanted => Err(TrustFault::Kind),
        _ if stat.st_uid != user => Err(TrustFault::Owner {
            owner: stat.st_uid,
            user,
        }),
        // Reading is refused too: the directory contains the key of the MAC.
        _ if mode.intersects(Mode::RWXG | Mode::RWXO) => Err(TrustFault::Mode {
            mode: mode.bits() as u32,
        }),
        _ => Ok(()),
    }
}
