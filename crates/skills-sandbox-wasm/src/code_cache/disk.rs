//! The cache on Unix: the open directory with the user's key, opened on demand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::directory::Directory;
use super::error::{CodeCacheError, Repr};
use super::key::CacheKey;
pub(crate) use super::lock::CompileLock;
use super::lookup::Lookup;
use super::open_store::OpenStore;
use super::usage::CacheUsage;
use super::{eviction, load, store};

#[derive(Debug)]
pub(super) struct DiskStore {
    path: PathBuf,
    opened: Mutex<Option<Arc<OpenStore>>>,
}

impl DiskStore {
    pub(super) fn new(path: PathBuf) -> Result<Self, CodeCacheError> {
        if !path.is_absolute() {
            return Err(Repr::RelativePath { path }.into());
        }
        // A trailing slash would follow a symlink.
        let path = path.components().collect();
        Ok(Self {
            path,
            opened: Mutex::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn load(&self, key: &CacheKey) -> Result<Lookup, CodeCacheError> {
        self.open_existing()?
            .map_or(Ok(Lookup::Miss), |opened| load::load(&opened, key))
    }

    pub(super) fn store(
        &self,
        key: &CacheKey,
        compiled: &[u8],
        max_bytes: u64,
    ) -> Result<(), CodeCacheError> {
        self.with_created_store(|opened| {
            store::store(opened, key, compiled)
                .and_then(|()| eviction::evict(&opened.directory, key, max_bytes))
        })
    }

    pub(super) fn lock(
        &self,
        key: &CacheKey,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<CompileLock>, CodeCacheError> {
        self.with_created_store(|opened| CompileLock::acquire(opened, key, patience, gives_up))
    }

    /// Opens the directory again, as [`clear`](Self::clear) does: the open one may have been
    /// deleted and recreated.
    pub(super) fn usage(&self) -> Result<CacheUsage, CodeCacheError> {
        Directory::open(&self.path)?.map_or(Ok(CacheUsage::default()), |directory| {
            eviction::usage(&directory)
        })
    }

    pub(super) fn clear(&self) -> Result<CacheUsage, CodeCacheError> {
        Directory::open(&self.path)?.map_or(Ok(CacheUsage::default()), |directory| {
            eviction::clear(&directory)
        })
    }

    /// Runs an operation in a directory that is created if missing; retries once in a new directory
    /// if the open one was deleted.
    fn with_created_store<T>(
        &self,
        work: impl Fn(&Arc<OpenStore>) -> Result<T, CodeCacheError>,
    ) -> Result<T, CodeCacheError> {
        match work(&self.create()?) {
            Err(error) if error.is_missing() => {
                // The handle still refers to the deleted directory.
                *self.lock_opened() = None;
                work(&self.create()?)
            }
            outcome => outcome,
        }
    }

    fn create(&self) -> Result<Arc<OpenStore>, CodeCacheError> {
        // The lock is held while the directory is created, so that all threads share one handle.
        let mut kept = self.lock_opened();
        if let Some(opened) = &*kept {
            return Ok(Arc::clone(opened));
        }
        Ok(Arc::clone(
            kept.insert(OpenStore::new(Directory::create(&self.path)?)),
        ))
    }

    fn open_existing(&self) -> Result<Option<Arc<OpenStore>>, CodeCacheError> {
        let mut kept = self.lock_opened();
        if kept.is_none() {
            *kept = Directory::open(&self.path)?.map(OpenStore::new);
        }
        Ok(kept.clone())
    }

    fn lock_opened(&self) -> MutexGuard<'_, Option<Arc<OpenStore>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
