//! One compiler per key, across threads and processes.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::directory::{Directory, DirectoryEntry};
use super::error::CodeCacheError;
use super::key::{CacheKey, lock_file_name};
use super::open_store::OpenStore;

const MIN_RETRY_DELAY: Duration = Duration::from_millis(1);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(25);

/// The exclusive right to compile for a key.
#[derive(Debug)]
#[must_use]
pub(crate) struct CompileLock {
    opened: Arc<OpenStore>,
    name: String,
    file: OwnedFd,
}

impl CompileLock {
    /// Polls: a blocking lock could not be abandoned, and the holder may be stopped indefinitely,
    /// for example by Ctrl-Z.
    pub(super) fn acquire(
        opened: &Arc<OpenStore>,
        key: &CacheKey,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, CodeCacheError> {
        let started = Instant::now();
        let name = lock_file_name(key);
        let mut pause = MIN_RETRY_DELAY;
        loop {
            if let Some(file) = try_lock(&opened.directory, &name)? {
                return Ok(Some(Self {
                    opened: Arc::clone(opened),
                    name,
                    file,
                }));
            }
            let remaining = patience.saturating_sub(started.elapsed());
            if remaining.is_zero() || gives_up() {
                return Ok(None);
            }
            std::thread::sleep(pause.min(remaining));
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
    }
}

impl Drop for CompileLock {
    fn drop(&mut self) {
        // Removed while it is held: a waiting process notices that the file has no name any more,
        // and creates a new one.
        let _left_for_a_sweep = self.opened.directory.remove(&self.name);
        // A child process that is being spawned holds a copy of the descriptor, so closing it need
        // not release the lock.
        let _closed = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Acquires the lock if it is free.
fn try_lock(directory: &Directory, name: &str) -> Result<Option<OwnedFd>, CodeCacheError> {
    let file = directory
        .open_or_create(name)
        .map_err(|errno| directory.io_error("lock", name, errno))?;
    Ok(lock_open_file(directory, name, &file)?.then_some(file))
}

/// Locks an open file. Its last holder may have removed it just before, and another process may
/// have created and locked a new one.
fn lock_open_file(
    directory: &Directory,
    name: &str,
    file: &OwnedFd,
) -> Result<bool, CodeCacheError> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        // A lock of a file that has lost its name excludes no other process.
        Ok(()) => is_same_file(directory, name, file),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(directory.io_error("lock", name, errno)),
    }
}

/// Returns true if the name still refers to this file.
fn is_same_file(directory: &Directory, name: &str, file: &OwnedFd) -> Result<bool, CodeCacheError> {
    let ours = rustix::fs::fstat(file).map_err(|errno| directory.io_error("lock", name, errno))?;
    let named = directory.stat(name)?;
    Ok(named.is_some_and(|stat| (stat.st_dev, stat.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// Removes a file that processes lock while they use it, unless it is locked. If the file system
/// does not support locks, as on some networks, it stays.
pub(super) fn remove_unless_locked(
    directory: &Directory,
    name: &str,
) -> Result<(), CodeCacheError> {
    let DirectoryEntry::File { file, .. } = directory.lookup(name)? else {
        return Ok(());
    };
    // If locks fail it is not known whether the file is in use, so it stays.
    if lock_open_file(directory, name, &file).unwrap_or(false) {
        directory.remove(name)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_name_is_not_a_lock() {
        let parent = tempfile::tempdir().unwrap();
        let directory = Directory::create(&parent.path().join("cache")).unwrap();
        let opened = directory.open_or_create("lock").unwrap();
        // Between opening and locking the holder removes it, and another process creates it again.
        directory.remove("lock").unwrap();
        assert!(!lock_open_file(&directory, "lock", &opened).unwrap());
        let other = try_lock(&directory, "lock")
            .unwrap()
            .expect("the lock is free");
        assert!(!lock_open_file(&directory, "lock", &opened).unwrap());
        assert!(try_lock(&directory, "lock").unwrap().is_none());
        drop(other);
        assert!(try_lock(&directory, "lock").unwrap().is_some());
    }
}
