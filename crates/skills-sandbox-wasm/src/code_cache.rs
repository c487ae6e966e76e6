//! Compiled components on disk, so that later processes need not compile them again.
//!
//! ```text
//! content, versions --> CacheKey --lock--> compile --store--> temporary file, rename --> evict
//!                           \--load--> check owner and mode, read, verify MAC --> bytes
//! ```
//!
//! A cache entry is machine code: a process that can write it executes code as the host. So the
//! directory and its files must belong to this user alone, and every file has a keyed MAC. The MAC
//! is verified over the bytes that are loaded; files are never memory-mapped, since a mapped file
//! could change later. It detects accidents, files of other users, and files that were copied or
//! restored from elsewhere. It does not stop a program that can already read this user's files.
//!
//! Files are opened relative to a handle of the directory, never through joined paths, and symlinks
//! are not followed. Files are never modified in place.
//!
//! This module must not depend on what is compiled, or on the compiler.

#![cfg_attr(
    not(unix),
    expect(dead_code, reason = "there is no cache on other platforms")
)]

#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod disk;
#[cfg(not(unix))]
// It has the same names as on Unix, so that the rest of this module needs no conditions.
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
mod lookup;
#[cfg(unix)]
mod mac;
#[cfg(unix)]
mod open_store;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod temp_file;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod usage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use disk::CompileLock;
pub use error::{CodeCacheError, CodeCacheErrorKind};
pub(crate) use key::CacheKey;
pub(crate) use lookup::Lookup;
use lookup::MAX_MODULE_BYTES;
pub use usage::CacheUsage;

/// The default limit of all modules together: 1 GiB.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// Compiled WebAssembly on disk, authenticated with a per-user key. Pass it to
/// [`WasmSandbox::code_cache`](crate::WasmSandbox::code_cache).
///
/// Cheap to clone; clones share the directory handle and the key. Several processes may use one
/// directory at the same time.
///
/// Directory (mode 0700) and files (0600) must belong to the user that runs the process; others are
/// rejected, not repaired. The cache requires Unix: on other systems owners and modes cannot be
/// verified, [`open`](Self::open) fails, and each process compiles components once.
#[derive(Debug, Clone)]
pub struct CodeCache {
    store: Arc<disk::DiskStore>,
    max_bytes: u64,
}

impl CodeCache {
    /// Creates a cache in `directory`. The file system is not accessed before the first use, which
    /// creates missing directories.
    ///
    /// # Errors
    ///
    /// Fails if the path is relative, since its meaning would depend on the working directory, and
    /// on systems other than Unix.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, CodeCacheError> {
        Ok(Self {
            store: Arc::new(disk::DiskStore::new(directory.into())?),
            max_bytes: DEFAULT_MAX_BYTES,
        })
    }

    /// Sets the maximum size of all modules together, in bytes; the default is 1 GiB. Beyond it the
    /// least recently used ones are deleted.
    ///
    /// The time of last use has a precision of one hour. A single module may have at most 256 MiB,
    /// regardless of the limit.
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

    /// Counts modules and their bytes. A directory that does not exist is empty.
    ///
    /// # Errors
    ///
    /// Fails if the directory is rejected or cannot be read.
    pub fn usage(&self) -> Result<CacheUsage, CodeCacheError> {
        self.store.usage()
    }

    /// Deletes all modules and the leftovers of dead processes; returns what was deleted. The
    /// user's key stays.
    ///
    /// # Errors
    ///
    /// Fails if the directory is rejected, or if something in it cannot be deleted; the rest is
    /// deleted nevertheless.
    pub fn clear(&self) -> Result<CacheUsage, CodeCacheError> {
        self.store.clear()
    }

    /// Reads and verifies a module.
    ///
    /// # Errors
    ///
    /// Fails if the directory or the user's key is rejected or cannot be read.
    pub(crate) fn load(&self, key: &CacheKey) -> Result<Lookup, CodeCacheError> {
        self.store.load(key)
    }

    /// Writes a module with its MAC, replaces an older one, and evicts others to stay within the
    /// limit.
    ///
    /// # Errors
    ///
    /// Fails if the module alone exceeds the limit of the cache, the directory or the key is
    /// rejected, or the disk is full or read-only: then nothing is left behind, and an older module
    /// stays. Also fails if it is stored but eviction fails.
    pub(crate) fn store(&self, key: &CacheKey, compiled: &[u8]) -> Result<(), CodeCacheError> {
        // Eviction never removes the module that was just stored, so one that is too large would
        // evict all others.
        let limit = self.max_bytes.min(MAX_MODULE_BYTES);
        let bytes = u64::try_from(compiled.len()).unwrap_or(u64::MAX);
        if bytes > limit {
            return Err(CodeCacheError::too_large(bytes, limit));
        }
        self.store.store(key, compiled, self.max_bytes)
    }

    /// Acquires the inter-process compile lock for `key`. Returns `None` after `patience`, or when
    /// `gives_up` returns true.
    ///
    /// After acquiring the lock, look up the module again, since another process may have stored it
    /// meanwhile. The lock is released on drop, and by the kernel when the process dies. Blocks the
    /// thread.
    ///
    /// # Errors
    ///
    /// Fails if the directory is rejected or not writable, or if the file system does not support
    /// locks.
    pub(crate) fn lock(
        &self,
        key: &CacheKey,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<CompileLock>, CodeCacheError> {
        self.store.lock(key, patience, gives_up)
    }
}
