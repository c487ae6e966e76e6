//! Cached resolutions, valid while nothing on their path has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::SkipReason;
use super::resolve::{self, ResolvedPath};
use super::tracked_fs::{FileState, TrackedFs};

/// The maximum number of cached paths; beyond it the cache is cleared.
const MAX_PATHS: usize = 1024;

type CachedResult = Result<ResolvedPath, SkipReason>;
type Dependencies = Vec<(PathBuf, FileState)>;

/// The cached results by path, shared by clones.
#[derive(Debug, Clone, Default)]
pub(super) struct ResolutionCache {
    entries: Arc<Mutex<BTreeMap<PathBuf, (Dependencies, CachedResult)>>>,
}

impl ResolutionCache {
    /// Resolves a path, or returns the cached result if the device, inode and times of everything
    /// that was read then are unchanged. `None` if nothing exists there; this is cheap to check and
    /// not cached.
    pub(super) fn resolve(&self, found: &Path) -> Option<CachedResult> {
        // Compared with the disk each time, since a version manager can replace any file on the
        // way.
        if let Some((seen, answer)) = self.lookup(found)
            && seen
                .iter()
                .all(|(path, state)| FileState::read(path) == *state)
        {
            return Some(answer);
        }
        let mut disk = TrackedFs::default();
        // Without the lock, so that a slow disk does not block other searches.
        let answer = resolve::resolve(found, &mut disk)?;
        let mut answers = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_PATHS {
            answers.clear();
        }
        answers.insert(found.to_owned(), (disk.into_dependencies(), answer.clone()));
        Some(answer)
    }

    fn lookup(&self, found: &Path) -> Option<(Dependencies, CachedResult)> {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(found)
            .cloned()
    }
}
