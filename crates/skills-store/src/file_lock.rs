//! Locks that exclude other processes.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two attempts to acquire a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Acquires the exclusive lock of an open file. Returns false if another open file still holds it after
/// `timeout`; with a timeout of zero it does not wait. The kernel releases the lock if the process ends.
///
/// # Errors
/// Fails if the file system has no locks, for example.
pub fn lock_with_timeout(file: &File, timeout: Duration) -> io::Result<bool> {
    let start = Instant::now();
    // There is no portable blocking lock with a timeout.
    lock_while(file, || wait_before_retry(start.elapsed(), timeout))
}

/// Acquires the lock. While another open file holds it, `wait` returns whether to try again.
fn lock_while(file: &File, mut wait: impl FnMut() -> bool) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if wait() => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Sleeps before the next attempt and returns true, or returns false after the timeout.
fn wait_before_retry(elapsed: Duration, timeout: Duration) -> bool {
    let is_before_timeout = elapsed < timeout;
    if is_before_timeout {
        thread::sleep(RETRY_INTERVAL);
    }
    is_before_timeout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted_file::open_lock;

    #[test]
    fn a_lock_is_retried_until_it_is_released() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let mut held = Some(open_lock(&path).unwrap());
        assert!(lock_with_timeout(held.as_ref().unwrap(), Duration::ZERO).unwrap());
        let file = open_lock(&path).unwrap();
        assert!(!lock_with_timeout(&file, Duration::ZERO).unwrap());
        let mut attempts = 0;
        let is_locked = lock_while(&file, || {
            attempts += 1;
            if attempts == 3 {
                held = None;
            }
            true
        });
        assert_eq!((is_locked.unwrap(), attempts), (true, 3));
    }

    #[test]
    fn no_attempt_follows_the_timeout() {
        let timeout = Duration::from_secs(3);
        assert!(
            wait_before_retry(Duration::ZERO, timeout)
                && wait_before_retry(timeout - Duration::from_nanos(1), timeout)
        );
        assert!(!wait_before_retry(timeout, timeout) && !wait_before_retry(timeout * 2, timeout));
    }
}
