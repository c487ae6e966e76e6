//! Compiled components on disk, so that a new process need not compile what an older one has
//! compiled.
//!
//! ```text
//! content + engine + versions --> Key --lock--> compile --store--> temp file, fsync, rename --> evict what was used longest ago
//!                                  \--load--> open, look at owner and mode, read, verify the seal --> bytes
//! ```
//!
//! Compiled code is machine code: whoever changes it runs as the host. So the directory and its
//! files belong to this user alone, and every file is sealed with a key that only this user has.
//! The seal is verified over the very bytes that are handed out; a file that could change meanwhile
//! is never mapped. A seal stops accidents, files of other users, and files that were copied or
//! restored from elsewhere. It does not stop a program that may already read this user's files.
//!
//! Files are reached through a handle to the directory, never by joined paths, and symlinks are not
//! followed. Nothing is written in place.
//!
//! This module must never know what is compiled or by what.

#![cfg_attr(
    not(unix),
    expect(
        dead_code,
        reason = "elsewhere there is no cache, so nothing is found, judged or counted"
    )
)]

#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod disk;
#[cfg(not(unix))]
#[path = "code_cache/unsupported.rs"]
mod disk;
mod error;
#[cfg(unix)]
mod eviction;
mod key;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod mac;
#[cfg(unix)]
mod store;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use disk::CompileLock;
pub(crate) use error::Rejection;
pub use error::{CodeCacheError, CodeCacheErrorKind};
pub(crate) use key::CacheKey;

/// The size of all artifacts together when nothing else is asked for: 1 GiB.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;
/// The largest artifact that is written or read. Compiled code of the largest component that is
/// loaded has about a third of it.
const MAX_MODULE_BYTES: u64 = 256 << 20;

/// Compiled components on disk, sealed with a key that only this user has.
///
/// Cheap to clone; clones share the handle to the directory and the key. Several processes may use
/// one directory at a time.
///
/// Directory (mode 0700) and files (0600) must belong to the user that runs the process; others are
/// refused, not repaired. The cache is for Unix: elsewhere owners and modes cannot be told,
/// [`open`](Self::open) fails, and components are compiled once in each process.
#[derive(Debug, Clone)]
pub struct CodeCache {
    store: Arc<disk::DiskStore>,
    max_bytes: u64,
}

/// What became of looking for an artifact.
#[derive(Debug)]
#[must_use]
pub(crate) enum Lookup {
    /// The compiled code, which this user sealed for this key.
    Hit(Vec<u8>),
    /// There is none.
    Miss,
    /// There was a file that cannot be trusted; it is deleted as far as that is possible.
    Rejected(Rejection),
}

/// How much a cache holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct CacheUsage {
    modules: u64,
    bytes: u64,
}

impl CodeCache {
    /// Names the directory of the cache. Nothing is made or looked at before the first use; then
    /// missing directories are made.
    ///
    /// # Errors
    ///
    /// When the path is relative, since it would mean another directory after a change of the
    /// working directory, and on systems other than Unix.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, CodeCacheError> {
        Ok(Self {
            store: Arc::new(disk::DiskStore::new(directory.into())?),
            max_bytes: DEFAULT_MAX_BYTES,
        })
    }

    /// Limits the size of all artifacts together, in bytes; the default is 1 GiB. When there are
    /// more, those used longest ago are deleted.
    ///
    /// The times of use are kept with a precision of an hour. A single artifact may have at most
    /// 256 MiB, whatever the limit.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Returns the directory of the cache, which need not exist.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.store.path()
    }

    /// Counts artifacts and their bytes. A directory that does not exist holds none.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be read.
    pub fn usage(&self) -> Result<CacheUsage, CodeCacheError> {
        self.store.usage()
    }

    /// Deletes all artifacts, and what processes that died left behind; returns what was deleted.
    /// The user's key stays.
    ///
    /// # Errors
    ///
    /// When the directory is refused, or something in it cannot be deleted; the rest is deleted
    /// nevertheless.
    pub fn clear(&self) -> Result<CacheUsage, CodeCacheError> {
        self.store.clear()
    }

    /// Reads and verifies an artifact.
    ///
    /// # Errors
    ///
    /// When the directory or the user's key is refused or cannot be read.
    pub(crate) fn load(&self, key: &CacheKey) -> Result<Lookup, CodeCacheError> {
        self.store.load(key)
    }

    /// Seals and writes an artifact, in place of an older one, and makes room by deleting others.
    ///
    /// # Errors
    ///
    /// When the artifact alone is larger than the cache may be, the directory or the key is
    /// refused, or the disk is full or read-only: then nothing is left behind, and an older
    /// artifact stays. Also when it is stored, but no room can be made.
    pub(crate) fn store(&self, key: &CacheKey, compiled: &[u8]) -> Result<(), CodeCacheError> {
        let limit = self.max_bytes.min(MAX_MODULE_BYTES);
        let bytes = u64::try_from(compiled.len()).unwrap_or(u64::MAX);
        if bytes > limit {
            return Err(CodeCacheError::too_large(bytes, limit));
        }
        self.store.store(key, compiled, self.max_bytes)
    }

    /// Becomes the only one in all processes that compiles for this key; waits for another one at
    /// most as long as `patience` and until `gives_up` says so, then returns nothing.
    ///
    /// Whoever gets the lock should look for the artifact again, since another one may have stored
    /// it meanwhile. The lock is released when the value is dropped, and by the kernel when the
    /// process dies. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When the directory is refused or cannot be written, or the file system knows no locks.
    pub(crate) fn lock(
        &self,
        key: &CacheKey,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<CompileLock>, CodeCacheError> {
        self.store.lock(key, patience, gives_up)
    }
}

impl CacheUsage {
    /// Returns the number of artifacts.
    #[must_use]
    pub fn modules(&self) -> u64 {
        self.modules
    }

    /// Returns the size of all artifacts together, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
