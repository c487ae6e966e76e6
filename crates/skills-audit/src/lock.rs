//! Locks that exclude other processes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_store::lock_with_timeout;
use skills_store::trusted_file::open_lock;

use crate::error::{AuditError, Repr};

/// A file that this value holds an exclusive lock on. The kernel releases it if the process ends.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Acquires the lock on a file, which is created if it is missing. Fails with
    /// [`AuditErrorKind::Locked`](crate::AuditErrorKind::Locked) after `timeout`.
    pub(crate) fn acquire(path: &Path, timeout: Duration) -> Result<Self, AuditError> {
        let lock = Self::acquire_within(path, timeout);
        let lock = lock.map_err(|error| AuditError::io(path, error))?;
        let path = path.to_owned();
        lock.ok_or_else(|| Repr::Locked { path, timeout }.into())
    }

    /// Acquires the lock like [`acquire`](Self::acquire); `None` if another open file holds it.
    pub(crate) fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        Self::acquire_within(path, Duration::ZERO)
    }

    fn acquire_within(path: &Path, timeout: Duration) -> io::Result<Option<Self>> {
        let file = open_lock(path)?;
        Ok(lock_with_timeout(&file, timeout)?.then(|| Self(file)))
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing alone would not release it: a child that another thread forks has a copy of the
        // descriptor until it executes its program.
        let _ = self.0.unlock();
    }
}

/// Returns the path of a file next to a log, such as that of its lock.
pub(crate) fn with_suffix(log: &Path, suffix: &str) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A forked child has a copy of the descriptor.
    #[test]
    fn a_lock_is_released_although_a_copy_of_its_file_stays_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let _copy = lock.file().try_clone().unwrap();
        drop(lock);
        assert!(FileLock::acquire(&path, Duration::ZERO).is_ok());
    }
}
