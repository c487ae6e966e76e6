//! The cache on systems where owners and modes of files cannot be verified: it cannot be created.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{CacheError, Repr};
use super::key::Key;
use super::{Loaded, Usage};

/// Cannot exist.
#[derive(Debug)]
pub(super) struct Disk(Infallible);

/// Cannot exist.
#[derive(Debug)]
pub(crate) struct Lock(Infallible);

impl Disk {
    pub(super) fn new(_path: PathBuf) -> Result<Self, CacheError> {
        Err(Repr::Elsewhere.into())
    }

    pub(super) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn load(&self, _key: &Key) -> Result<Loaded, CacheError> {
        match self.0 {}
    }

    pub(super) fn store(
        &self,
        _key: &Key,
        _compiled: &[u8],
        _max_bytes: u64,
    ) -> Result<(), CacheError> {
        match self.0 {}
    }

    pub(super) fn lock(
        &self,
        _key: &Key,
        _patience: Duration,
        _gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<Lock>, CacheError> {
        match self.0 {}
    }

    pub(super) fn usage(&self) -> Result<Usage, CacheError> {
        match self.0 {}
    }

    pub(super) fn clear(&self) -> Result<Usage, CacheError> {
        match self.0 {}
    }
}
