//! One compiler for a key, across threads and processes.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::directory::{Directory, DirectoryEntry};
use super::disk::OpenStore;
use super::error::CodeCacheError;
use super::eviction::lock_file_name;
use super::key::CacheKey;

const MIN_RETRY_DELAY: Duration = Duration::from_millis(1);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(25);

/// The right to compile for a key.
#[derive(Debug)]
#[must_use]
pub(crate) struct CompileLock {
    opened: Arc<OpenStore>,
    name: String,
    file: OwnedFd,
}

impl CompileLock {
    /// Tries again and again: waiting in the kernel could not be given up, and the holder may be
    /// stopped for good, by Ctrl-Z say.
    pub(super) fn acquire(
        opened: &Arc<OpenStore>,
        key: &CacheKey,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, CodeCacheError> {
        let (started, name) = (Instant::now(), lock_file_name(key));
        let mut pause = MIN_RETRY_DELAY;
        loop {
            if let Some(file) = try_lock(&opened.directory, &name)? {
                return Ok(Some(Self {
                    opened: Arc::clone(opened),
                    name,
                    file,
                }));
            }
            let left = patience.saturating_sub(started.elapsed());
            if left.is_zero() || gives_up() {
                return Ok(None);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
    }
}

impl Drop for CompileLock {
    fn drop(&mut self) {
        // Removed while it is held: whoever waits for it sees that it has no name any more, and
        // makes a new one.
        let _left_for_a_sweep = self.opened.directory.remove(&self.name);
        // A child that is just being started holds a copy of the descriptor, so closing ours need
        // not release it.
        let _closed = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Takes the lock if nobody has it.
fn try_lock(directory: &Directory, name: &str) -> Result<Option<OwnedFd>, CodeCacheError> {
    let file = directory
        .open_or_create(name)
        .map_err(|errno| directory.io_error("lock", name, errno))?;
    Ok(lock_open_file(directory, name, &file)?.then_some(file))
}

/// Locks an open file. Its last holder may have removed it in the moment before, and somebody else
/// made and locked another one.
fn lock_open_file(
    directory: &Directory,
    name: &str,
    file: &OwnedFd,
) -> Result<bool, CodeCacheError> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => is_same_file(directory, name, file),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(directory.io_error("lock", name, errno)),
    }
}

/// Says whether the name still stands for this file.
fn is_same_file(directory: &Directory, name: &str, file: &OwnedFd) -> Result<bool, CodeCacheError> {
    let ours = rustix::fs::fstat(file).map_err(|errno| directory.io_error("lock", name, errno))?;
    let named = directory.stat(name)?;
    Ok(named.is_some_and(|stat| (stat.st_dev, stat.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// Removes a file that a process locks while it uses it, unless one does. Where such a file cannot
/// be locked, over some networks say, it stays.
pub(super) fn remove_unless_locked(
    directory: &Directory,
    name: &str,
) -> Result<(), CodeCacheError> {
    let DirectoryEntry::File { file, .. } = directory.lookup(name)? else {
        return Ok(());
    };
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
    fn a_file_without_its_name_is_no_lock() {
        let parent = tempfile::tempdir().unwrap();
        let directory = Directory::create(&parent.path().join("cache")).unwrap();
        let opened = directory.open_or_create("lock").unwrap();
        // Between opening and locking the holder removes it, and another one makes it again.
        directory.remove("lock").unwrap();
        assert!(!lock_open_file(&directory, "lock", &opened).unwrap());
        let other = try_lock(&directory, "lock")
            .unwrap()
            .expect("nobody has it");
        assert!(!lock_open_file(&directory, "lock", &opened).unwrap());
        assert!(try_lock(&directory, "lock").unwrap().is_none());
        drop(other);
        assert!(try_lock(&directory, "lock").unwrap().is_some());
    }
}
