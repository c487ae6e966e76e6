//! A private temporary directory of one run.
#![expect(
    clippy::disallowed_methods,
    reason = "the directory is private, and the processes that used it have been killed"
)]

#[cfg(unix)]
mod directory_lock;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A private temporary directory of one run, removed with all of its content on drop.
///
/// Its name is random and only its owner may enter it (mode 0700). On Unix it is locked while in
/// use. The kernel releases the lock when the process dies for any reason, and a later process
/// [removes](Self::sweep) the unlocked ones.
///
/// ```
/// use skills_process::ScratchDir;
///
/// # let parent = tempfile::tempdir()?;
/// let scratch = ScratchDir::new(parent.path())?;
/// let path = scratch.path().to_owned();
/// std::fs::write(path.join("a"), "temporary")?;
/// drop(scratch);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    is_removed: bool,
    /// Holds the lock.
    #[cfg(unix)]
    _lock: directory_lock::DirectoryLock,
}

/// The number of random characters in a name.
const RANDOM_CHARS: usize = 12;

impl ScratchDir {
    /// The prefix of the names of all scratch directories.
    pub const PREFIX: &str = "skills-run-";
    /// The suffix of the names of all scratch directories.
    pub(crate) const SUFFIX: &str = ".tmp";

    /// Creates a scratch directory below `parent`.
    ///
    /// # Errors
    /// Fails if `parent` does not exist, is full or is not writable.
    #[cfg(unix)]
    pub fn new(parent: &Path) -> io::Result<Self> {
        loop {
            let path = create_directory(parent)?;
            // The cleanup of another process may remove the directory before it is locked.
            if let Some(owner) = directory_lock::DirectoryLock::acquire(&path)? {
                Self::sweep(parent);
                return Ok(Self {
                    path,
                    is_removed: false,
                    _lock: owner,
                });
            }
        }
    }

    /// Creates a scratch directory below `parent`.
    ///
    /// # Errors
    /// Fails if `parent` does not exist, is full or is not writable.
    #[cfg(not(unix))]
    pub fn new(parent: &Path) -> io::Result<Self> {
        Ok(Self {
            path: create_directory(parent)?,
            is_removed: false,
        })
    }

    /// Removes the directories below `parent` that processes of this user left when they were
    /// killed, on a background thread.
    ///
    /// A directory is removed if no process holds its lock; symlinks are not followed. Only the
    /// first call for a parent in a process does anything, so that runs do not list a large
    /// directory: call it at the start of a long-lived process, and otherwise the first
    /// [`new`](Self::new) does it. At most 100,000 entries are listed and 1,000 directories removed.
    /// Failures are ignored, since a later process tries again.
    #[cfg(unix)]
    pub fn sweep(parent: &Path) {
        directory_lock::sweep_once(parent);
    }

    /// Does nothing: without locks it is not known which directories are in use.
    #[cfg(not(unix))]
    pub fn sweep(_parent: &Path) {}

    /// Returns a directory in memory for small scratch directories: `/dev/shm`, if it is a file
    /// system in memory from which programs can be executed. Creating a file there takes a fraction
    /// of the time that it takes on a disk.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn memory_parent() -> Option<&'static Path> {
        use rustix::fs::{StatVfsMountFlags, statfs, statvfs};

        const TMPFS_MAGIC: u64 = 0x0102_1994;
        let directory = Path::new("/dev/shm");
        let kind = u64::try_from(statfs(directory).ok()?.f_type).ok()?;
        let flags = statvfs(directory).ok()?.f_flag;
        let refused = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
        (kind == TMPFS_MAGIC && !flags.intersects(refused)).then_some(directory)
    }

    /// Returns `None`: only Linux has a directory in memory.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn memory_parent() -> Option<&'static Path> {
        None
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with everything that the run created in it, including directories
    /// without permissions, and those nested deeper than the maximum path length.
    ///
    /// # Errors
    /// Fails if an entry cannot be removed, because another user owns it or the disk fails.
    pub fn remove(mut self) -> io::Result<()> {
        // First, so that `drop` does not try again after a failure.
        self.is_removed = true;
        remove_tree(&self.path)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if !self.is_removed {
            // A cancelled run has no caller to report an error to.
            let _ = remove_tree(&self.path);
        }
    }
}

fn create_directory(parent: &Path) -> io::Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    let builder = builder
        .prefix(ScratchDir::PREFIX)
        .suffix(ScratchDir::SUFFIX)
        .rand_bytes(RANDOM_CHARS);
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(
        directory_lock::DIRECTORY_MODE,
    ));
    // `TempDir` cannot remove directories without permissions, so it does not own this one.
    Ok(builder.tempdir_in(parent)?.keep())
}

/// Removes a directory, first with the library, which uses handles; if that fails, level by level.
fn remove_tree(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    empty_directory(path)?;
    fs::remove_dir(path)
}

/// Empties `top`: every directory in it is made accessible, its subdirectories are moved up into
/// `top`, and then it is removed. So no path is longer than two names below `top`, and at most two
/// directories are open. Symlinks are removed, not followed.
fn empty_directory(top: &Path) -> io::Result<()> {
    let mut number = 0u64;
    loop {
        // Listed again after each pass, since directories are moved up during it.
        let mut entries = fs::read_dir(top)?.peekable();
        if entries.peek().is_none() {
            return Ok(());
        }
        for entry in entries {
            let path = entry?.path();
            if is_directory(&path)? {
                number = dissolve(&path, top, number)?;
            } else {
                // A symlink is removed like a file, not followed.
                fs::remove_file(&path)?;
            }
        }
    }
}

/// Removes a directory after its subdirectories were moved up into `top`, under free numbers;
/// returns the next number.
fn dissolve(path: &Path, top: &Path, mut number: u64) -> io::Result<u64> {
    // The program can have removed all permissions of its directories.
    open_up(path)?;
    for child in fs::read_dir(path)? {
        let child = child?.path();
        if is_directory(&child)? {
            number = move_up(&child, top, number)?;
        } else {
            fs::remove_file(&child)?;
        }
    }
    fs::remove_dir(path)?;
    Ok(number)
}

/// Moves a directory into `top` under a free number; returns the next number.
fn move_up(child: &Path, top: &Path, mut number: u64) -> io::Result<u64> {
    // Moving a directory changes its `..` entry.
    open_up(child)?;
    loop {
        let free = top.join(format!("removed-{number}"));
        number += 1;
        // The program can have created a directory of that name.
        if fs::symlink_metadata(&free).is_err() {
            fs::rename(child, free)?;
            return Ok(number);
        }
    }
}

fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_dir())
}

#[cfg(unix)]
fn open_up(path: &Path) -> io::Result<()> {
    use cap_std::ambient_authority;
    use cap_std::fs::{Dir, Permissions, PermissionsExt};

    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Relative to a handle no symlink escapes, whatever replaces the directory. The mode may forbid
    // to open the directory itself.
    Dir::open_ambient_dir(parent, ambient_authority())?
        .set_permissions(name, Permissions::from_mode(directory_lock::DIRECTORY_MODE))
}

#[cfg(not(unix))]
fn open_up(_path: &Path) -> io::Result<()> {
    Ok(())
}
