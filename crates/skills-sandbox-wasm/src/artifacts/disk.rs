//! The cache on Unix: the open directory with the user's key, found when they are needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::directory::Directory;
use super::error::{CacheError, Repr};
use super::key::Key;
pub(crate) use super::lock::Lock;
use super::seal::Seal;
use super::{Loaded, Usage, load, store, sweep};

#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    opened: Mutex<Option<Arc<Opened>>>,
}

/// The directory and its key.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) directory: Directory,
    seal: OnceLock<Seal>,
}

impl Disk {
    pub(super) fn new(path: PathBuf) -> Result<Self, CacheError> {
        if !path.is_absolute() {
            return Err(Repr::Relative { path }.into());
        }
        // A slash at the end would follow a symlink that stands before it.
        let path = path.components().collect();
        Ok(Self {
            path,
            opened: Mutex::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn load(&self, key: &Key) -> Result<Loaded, CacheError> {
        self.existing()?
            .map_or(Ok(Loaded::Miss), |opened| load::load(&opened, key))
    }

    pub(super) fn store(
        &self,
        key: &Key,
        compiled: &[u8],
        max_bytes: u64,
    ) -> Result<(), CacheError> {
        self.made(|opened| {
            store::store(opened, key, compiled)
                .and_then(|()| sweep::sweep(&opened.directory, key, max_bytes))
        })
    }

    pub(super) fn lock(
        &self,
        key: &Key,
        patience: Duration,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<Lock>, CacheError> {
        self.made(|opened| Lock::wait(opened, key, patience, gives_up))
    }

    /// Opens the directory anew, as [`clear`](Self::clear) does: the one that is open may have been
    /// deleted and made again.
    pub(super) fn usage(&self) -> Result<Usage, CacheError> {
        Directory::open(&self.path)?
            .map_or(Ok(Usage::default()), |directory| sweep::usage(&directory))
    }

    pub(super) fn clear(&self) -> Result<Usage, CacheError> {
        Directory::open(&self.path)?
            .map_or(Ok(Usage::default()), |directory| sweep::clear(&directory))
    }

    /// Works in a directory that is made when it is missing; once more in a new one when somebody
    /// deleted the one that was open.
    fn made<T>(
        &self,
        work: impl Fn(&Arc<Opened>) -> Result<T, CacheError>,
    ) -> Result<T, CacheError> {
        match work(&self.make()?) {
            Err(error) if error.is_missing() => {
                *self.kept() = None;
                work(&self.make()?)
            }
            outcome => outcome,
        }
    }

    fn make(&self) -> Result<Arc<Opened>, CacheError> {
        let mut kept = self.kept();
        if let Some(opened) = &*kept {
            return Ok(Arc::clone(opened));
        }
        Ok(Arc::clone(
            kept.insert(Opened::new(Directory::make(&self.path)?)),
        ))
    }

    fn existing(&self) -> Result<Option<Arc<Opened>>, CacheError> {
        let mut kept = self.kept();
        if kept.is_none() {
            *kept = Directory::open(&self.path)?.map(Opened::new);
        }
        Ok(kept.clone())
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    fn new(directory: Directory) -> Arc<Self> {
        Arc::new(Self {
            directory,
            seal: OnceLock::new(),
        })
    }

    /// Returns the user's key; none when there is none yet.
    pub(super) fn seal(&self) -> Result<Option<&Seal>, CacheError> {
        if self.seal.get().is_none() {
            let Some(seal) = Seal::find(&self.directory)? else {
                return Ok(None);
            };
            return Ok(Some(self.seal.get_or_init(|| seal)));
        }
        Ok(self.seal.get())
    }

    /// Returns the user's key, which is made when there is none.
    pub(super) fn make_seal(&self) -> Result<&Seal, CacheError> {
        if let Some(seal) = self.seal.get() {
            return Ok(seal);
        }
        let seal = Seal::make(&self.directory)?;
        Ok(self.seal.get_or_init(|| seal))
    }
}
