//! The cache on systems where owners and modes of files cannot be verified: it cannot be created.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{CodeCacheError, Repr};
use super::key::CacheKey;
use super::lookup::Lookup;
use super::usage::CacheUsage;

/// Cannot exist.
#[derive(Debug)]
pub(super) struct DiskStore(Infallible);

/// Cannot exist.
#[derive(Debug)]
pub(crate) struct CompileLock(Infallible);

impl DiskStore {
    pub(super) fn new(_path: PathBuf) -> Result<Self, CodeCacheError> {
        Err(Repr::UnsupportedPlatform.into())
    }

    pub(super) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn load(&self, _key: &CacheKey) -> Result<Lookup, CodeCacheError> {
        match self.0 {}
    }

    pub(super) fn store(
        &self,
        _key: &CacheKey,
        _compiled: &[u8],
        _max_bytes: u64,
    ) -> Result<(), CodeCacheError> {
        match self.0 {}
    }

    pub(super) fn lock(
        &self,
        _key: &CacheKey,
        _patience: Duration,
        _gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<CompileLock>, CodeCacheError> {
        match self.0 {}
    }

    pub(super) fn usage(&self) -> Result<CacheUsage, CodeCacheError> {
        match self.0 {}
    }

    pub(super) fn clear(&self) -> Result<CacheUsage, CodeCacheError> {
        match self.0 {}
    }
}
