//! Compares installed skills with the lock files beside them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file_stamp::ScanStart;
use crate::{
    ContentDigest, ContentLock, DigestCache, Entry, InactiveReason, LOCK_FILE, LockError, StampSet,
    parallel,
};

/// The digests of the files of locked skills, shared by the catalogs of one program.
pub(crate) type SharedDigests = Arc<Mutex<DigestCache>>;

/// The lock files beside the skills of a scan.
pub(super) struct Locks(HashMap<PathBuf, Result<ContentLock, LockError>>);

impl Locks {
    /// Reads the lock file of each directory that contains skills, and records its stamp.
    ///
    /// The directory of a skill decides, not the root: a skill may be reached through a symlink.
    pub(super) fn read(entries: &[Entry], stamps: &mut StampSet, scan_start: ScanStart) -> Self {
        let mut locks = HashMap::new();
        let mut previous = None;
        for entry in entries {
            let Some(parent) = entry.directory().parent() else {
                continue;
            };
            // Most entries have the parent of the one before.
            if previous == Some(parent) {
                continue;
            }
            previous = Some(parent);
            if locks.contains_key(parent) {
                continue;
            }
            stamps.add_at(parent.join(LOCK_FILE), scan_start);
            let lock = ContentLock::read(parent).map(Option::unwrap_or_default);
            locks.insert(parent.to_owned(), lock);
        }
        Self(locks)
    }

    /// Checks the skills, and returns for each why its lock file makes it inactive. Active skills
    /// that are locked get their digest.
    pub(super) fn check(
        &self,
        entries: &mut [Entry],
        digests: &SharedDigests,
        threads: usize,
    ) -> Vec<Option<InactiveReason>> {
        if self
            .0
            .values()
            .all(|lock| *lock == Ok(ContentLock::default()))
        {
            return entries.iter().map(|_| None).collect();
        }
        let reasons: Vec<Option<InactiveReason>> = parallel::map(entries, threads, |entry| {
            self.inactive_reason(entry, digests)
        })
        .collect();
        for entry in entries.iter_mut() {
            entry.locked = self.locked_digest(entry).ok().flatten();
        }
        reasons
    }

    fn locked_digest<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> Result<Option<ContentDigest>, (&'a Path, &'a LockError)> {
        let directory = entry.directory();
        let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
            return Ok(None);
        };
        match self.0.get(parent) {
            Some(Ok(lock)) => Ok(name.to_str().and_then(|name| lock.digest(name))),
            Some(Err(error)) => Err((parent, error)),
            None => Ok(None),
        }
    }

    fn inactive_reason(&self, entry: &Entry, digests: &SharedDigests) -> Option<InactiveReason> {
        match self.locked_digest(entry) {
            Ok(None) => None,
            Ok(Some(locked)) => {
                let actual = current_digest(entry, digests);
                (actual != Some(locked)).then_some(InactiveReason::Changed { locked, actual })
            }
            Err((directory, error)) => Some(InactiveReason::LockUnreadable {
                path: directory.join(LOCK_FILE),
                error: error.clone(),
            }),
        }
    }
}

/// Returns the content digest of a skill; `None` if it has none, for example because a file cannot
/// be read.
fn current_digest(entry: &Entry, digests: &SharedDigests) -> Option<ContentDigest> {
    let files = entry.open().ok()?;
    let cached = {
        let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
        files.cached_digest(&mut digests).ok()?
    };
    if cached.is_some() {
        return cached;
    }
    // Files are read without the lock, so that threads read at the same time.
    let mut new = DigestCache::default();
    let digest = files.digest(&mut new).ok()?;
    let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
    digests.absorb(new);
    Some(digest)
}
