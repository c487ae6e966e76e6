//! Directories that only their owner can access: lasting ones, and temporary ones that are removed.

#[cfg(unix)]
mod directory_lock;
mod remove_tree;

use std::io;
use std::path::{Path, PathBuf};

use self::remove_tree::remove_tree;

/// The mode of the directories on Unix.
#[cfg(unix)]
const DIRECTORY_MODE: u32 = 0o700;
/// The number of random characters in the name of a temporary directory.
const RANDOM_CHARS: usize = 12;
/// The suffix of these names.
const SUFFIX: &str = ".tmp";

/// Creates a directory and its missing parents, which only their owner can access: mode 0700 on Unix.
/// Directories that exist keep their mode.
///
/// # Errors
/// Fails if a directory cannot be created, or a component of the path is not a directory.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    // Part of the creation: until the mode is changed later, others could open the directory.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY_MODE);
    builder.create(path)
}

/// A private temporary directory, removed with all of its content on drop.
///
/// Its name is a prefix of the caller, random characters and `.tmp`, and only its owner may enter it
/// (mode 0700). On Unix it is locked while in use. The kernel releases the lock when the process dies
/// for any reason, and a later process [removes](Self::sweep) the unlocked ones of the same prefix.
///
/// ```
/// use skills_store::PrivateDir;
///
/// # let parent = tempfile::tempdir()?;
/// let directory = PrivateDir::create(parent.path(), "example-")?;
/// let path = directory.path().to_owned();
/// std::fs::write(path.join("a"), "temporary")?;
/// drop(directory);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    is_removed: bool,
    /// Holds the lock.
    #[cfg(unix)]
    _lock: directory_lock::DirectoryLock,
}

impl PrivateDir {
    /// Creates a directory below `parent`, and starts to [sweep](Self::sweep) it.
    ///
    /// # Errors
    /// Fails if `parent` does not exist, is full or is not writable.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let created = Self::create_with(parent, prefix, |_| {})?;
        Self::sweep(parent, prefix);
        Ok(created)
    }

    /// Creates a directory. `before_lock` gets the path before each step that follows the creation.
    #[cfg(unix)]
    fn create_with(
        parent: &Path,
        prefix: &str,
        mut before_lock: impl FnMut(&Path),
    ) -> io::Result<Self> {
        loop {
            let path = create_directory(parent, prefix)?;
            // The sweep of another process may remove the directory before it is locked.
            if let Some(lock) = directory_lock::DirectoryLock::acquire(&path, &mut before_lock)? {
                return Ok(Self {
                    path,
                    is_removed: false,
                    _lock: lock,
                });
            }
        }
    }

    #[cfg(not(unix))]
    fn create_with(parent: &Path, prefix: &str, _: impl FnMut(&Path)) -> io::Result<Self> {
        Ok(Self {
            path: create_directory(parent, prefix)?,
            is_removed: false,
        })
    }

    /// Removes the directories with this prefix below `parent` that processes of this user left when
    /// they were killed, on a background thread.
    ///
    /// A directory is removed if no process holds its lock; symlinks are not followed. Only the
    /// first call for a parent and prefix in a process does anything, so that runs do not list a
    /// large directory: call it at the start of a long-lived process, and otherwise the first
    /// [`create`](Self::create) does it. At most 100,000 entries are listed and 1,000 directories
    /// removed. Failures are ignored, since a later process tries again.
    ///
    /// On other systems than Unix it does nothing: without locks it is not known which directories
    /// are in use.
    pub fn sweep(parent: &Path, prefix: &str) {
        #[cfg(unix)]
        directory_lock::sweep_once(parent, prefix);
        #[cfg(not(unix))]
        let _ = (parent, prefix);
    }

    /// Sweeps like [`sweep`](Self::sweep), but at each call and before it returns. Returns the number
    /// of directories that were removed.
    ///
    /// # Errors
    /// Fails if `parent` cannot be listed.
    #[cfg(unix)]
    pub fn sweep_now(parent: &Path, prefix: &str) -> io::Result<usize> {
        directory_lock::sweep(parent, prefix)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with everything that programs created in it, including directories
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

impl Drop for PrivateDir {
    fn drop(&mut self) {
        if !self.is_removed {
            // A cancelled run has no caller to report an error to.
            let _ = remove_tree(&self.path);
        }
    }
}

fn create_directory(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    let builder = builder
        .prefix(prefix)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARS);
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(DIRECTORY_MODE));
    // `TempDir` cannot remove directories without permissions, so it does not own this one.
    Ok(builder.tempdir_in(parent)?.keep())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test has its own files")]
    fn a_sweep_removes_no_directory_of_a_process_that_starts() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        // Before the directory is opened, and before it is locked.
        for removed_at in 0..2 {
            let mut calls = 0;
            let created = PrivateDir::create_with(parent, "test-", |_| {
                if calls == removed_at {
                    assert_eq!(PrivateDir::sweep_now(parent, "test-").unwrap(), 1);
                }
                calls += 1;
            });
            let created = created.unwrap();
            assert_eq!(calls, removed_at + 3, "it was created again");
            fs::write(created.path().join("file"), "").unwrap();
            assert_eq!(PrivateDir::sweep_now(parent, "test-").unwrap(), 0);
            assert!(created.path().join("file").exists());
        }
        // While a sweep has it.
        let mut held = None;
        let created = PrivateDir::create_with(parent, "test-", |path| {
            if held.is_none() {
                let directory = File::open(path).unwrap();
                directory.try_lock().unwrap();
                held = Some((path.to_owned(), directory));
            }
        });
        assert_ne!(created.unwrap().path(), held.unwrap().0);
    }
}
