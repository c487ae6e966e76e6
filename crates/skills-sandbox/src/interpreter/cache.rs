//! What was found before, as long as nothing that led to it has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::SkipReason;
use super::resolve::{self, ResolvedPath};
use super::tracked_fs::{FileState, TrackedFs};

/// More paths than this are not kept; then it starts anew.
const MAX_PATHS: usize = 1024;

type CachedResult = Result<ResolvedPath, SkipReason>;
type Dependencies = Vec<(PathBuf, FileState)>;

/// The answers for paths, shared by clones.
#[derive(Debug, Clone, Default)]
pub(super) struct ResolutionCache {
    entries: Arc<Mutex<BTreeMap<PathBuf, (Dependencies, CachedResult)>>>,
}

impl ResolutionCache {
    /// Resolves a path, unless that was done before and nothing that was looked at then has another
    /// device, inode or time now. `None` when nothing is there, which costs nothing to see and is
    /// not kept.
    pub(super) fn resolve(&self, found: &Path) -> Option<CachedResult> {
        if let Some((seen, answer)) = self.lookup(found)
            && seen
                .iter()
                .all(|(path, state)| FileState::read(path) == *state)
        {
            return Some(answer);
        }
        let mut disk = TrackedFs::default();
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
