//! The lock of a directory of skills, which one process has at a time.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skills_discovery::{INSTALL_DIRECTORY, LOCK_FILE};
use skills_store::lock_with_timeout;

use crate::error::{InstallError, Repr};

/// The file that processes lock.
const PROCESS_LOCK: &str = ".skills-install/lock";
/// How long to wait for a process that has the lock.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of times that another process removes the file before the directory is busy.
const MAX_ATTEMPTS: usize = 3;

/// The lock, with what was created for it.
pub(super) struct ProcessLock {
    file: File,
    /// True if the directory of the file was created, too.
    is_new: bool,
    /// The directories that were created, from the directory of skills outwards.
    created: Vec<PathBuf>,
}

impl ProcessLock {
    /// Creates and locks a directory. Waits a little for a process that is about to end, and for
    /// programs that this process starts: until they run, they hold its files.
    pub(super) fn acquire(root: &Path) -> Result<(Dir, Self), InstallError> {
        for _ in 0..MAX_ATTEMPTS {
            let created = create_directories(root)
                .map_err(|error| InstallError::io("create", root, error))?;
            let (handle, file, is_new) = match open(root) {
                // Another process that used nothing has removed a directory meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| {
                    InstallError::io("open", &root.join(INSTALL_DIRECTORY), error)
                })?,
            };
            lock(&file, root)?;
            let lock = Self {
                file,
                is_new,
                created,
            };
            if lock.is_at_its_path(&handle) {
                return Ok((handle, lock));
            }
        }
        Err(Repr::Busy(root.to_owned()).into())
    }

    /// Removes what was created, if nothing was installed. It stays where a file cannot be removed
    /// while it is open.
    pub(super) fn remove_unused(&self, handle: &Dir) {
        let has_skills = handle.symlink_metadata(LOCK_FILE).is_ok();
        if !cfg!(unix) || !self.is_new || has_skills || !self.is_at_its_path(handle) {
            return;
        }
        let removed = handle
            .remove_file(PROCESS_LOCK)
            .and_then(|()| handle.remove_dir(INSTALL_DIRECTORY));
        if removed.is_ok() {
            // Those that are in use are not empty.
            let mut created = self.created.iter();
            let _ = created.try_for_each(std::fs::remove_dir);
        }
    }

    /// Returns true if other processes find the file that is locked. A process that waited may have
    /// the lock of a removed file, which excludes no other process.
    #[cfg(unix)]
    fn is_at_its_path(&self, handle: &Dir) -> bool {
        use cap_std::fs::MetadataExt as _;
        use std::os::unix::fs::MetadataExt as _;
        let (Ok(own), Ok(found)) = (self.file.metadata(), handle.symlink_metadata(PROCESS_LOCK))
        else {
            return false;
        };
        (own.dev(), own.ino()) == (found.dev(), found.ino())
    }

    #[cfg(not(unix))]
    fn is_at_its_path(&self, _handle: &Dir) -> bool {
        true
    }
}

/// Creates a directory with those above it, and returns the new ones, from the innermost.
fn create_directories(root: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = root
        .ancestors()
        .take_while(|directory| {
            let found = directory.symlink_metadata();
            found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        })
        .map(Path::to_owned)
        .collect();
    std::fs::create_dir_all(root)?;
    Ok(missing)
}

/// Creates the directory of the file, and returns true if it was missing.
fn create_if_missing(handle: &Dir) -> io::Result<bool> {
    match handle.create_dir(INSTALL_DIRECTORY) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a directory and the file in it. Returns true if the directory of the file was missing.
fn open(root: &Path) -> io::Result<(Dir, File, bool)> {
    let handle = Dir::open_ambient_dir(root, ambient_authority())?;
    let is_new = create_if_missing(&handle)?;
    let file = open_file(&handle)?;
    Ok((handle, file, is_new))
}

/// Opens the file, without waiting for a reader if it is a FIFO.
fn open_file(handle: &Dir) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = handle.open_with(PROCESS_LOCK, &options)?;
    if file.metadata()?.is_file() {
        Ok(file.into_std())
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

fn lock(file: &File, root: &Path) -> Result<(), InstallError> {
    match lock_with_timeout(file, MAX_LOCK_WAIT) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Repr::Busy(root.to_owned()).into()),
        Err(error) => Err(InstallError::io("lock", &root.join(PROCESS_LOCK), error)),
    }
}
