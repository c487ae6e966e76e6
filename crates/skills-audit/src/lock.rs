//! Locks that exclude other processes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use skills_store::trusted_file::open_lock;

use crate::AuditError;
use crate::error::Repr;

/// A file that this value holds an exclusive lock on. The kernel releases it if the process ends.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Acquires the lock on a file, which is created if it is missing. Fails with
    /// [`AuditErrorKind::Locked`](crate::AuditErrorKind::Locked) after `timeout`.
    pub(crate) fn acquire(path: &Path, timeout: Duration) -> Result<Self, AuditError> {
        let start = Instant::now();
        Self::acquire_while(path, timeout, || {
            wait_before_retry(start.elapsed(), timeout)
        })
    }

    /// Acquires the lock. While another writer holds it, `wait` returns whether to try again.
    fn acquire_while(
        path: &Path,
        timeout: Duration,
        mut wait: impl FnMut() -> bool,
    ) -> Result<Self, AuditError> {
        let file = open_lock(path).map_err(|error| AuditError::io(path, error.into()))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if wait() => {}
                Err(TryLockError::WouldBlock) => {
                    let path = path.to_owned();
                    return Err(Repr::Locked { path, timeout }.into());
                }
                Err(TryLockError::Error(error)) => return Err(AuditError::io(path, error)),
            }
        }
    }

    /// Acquires the lock on an open file; `None` if another open file holds it.
    pub(crate) fn try_acquire(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the locked file.
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

/// Pause between two attempts to acquire the lock; there is no portable blocking lock with a
/// timeout.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Sleeps before the next attempt and returns true, or returns false after the timeout.
fn wait_before_retry(elapsed: Duration, timeout: Duration) -> bool {
    let is_before_timeout = elapsed < timeout;
    if is_before_timeout {
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
    is_before_timeout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_retries_until_the_lock_is_released() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let timeout = Duration::from_secs(3);
        let mut held = Some(FileLock::acquire(&path, timeout).unwrap());
        let mut attempts = 0;
        let lock = FileLock::acquire_while(&path, timeout, || {
            attempts += 1;
            if attempts == 3 {
                held = None;
            }
            true
        });
        assert_eq!((lock.is_ok(), attempts), (true, 3));
    }

    #[test]
    fn a_writer_stops_waiting_at_the_timeout() {
        let timeout = Duration::from_secs(3);
        assert!(
            wait_before_retry(Duration::ZERO, timeout)
                && wait_before_retry(timeout - Duration::from_nanos(1), timeout)
        );
        assert!(!wait_before_retry(timeout, timeout) && !wait_before_retry(timeout * 2, timeout));
    }

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
