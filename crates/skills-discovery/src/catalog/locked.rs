//! Compares installed skills with lock files.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::resolve::LockCheck;
use crate::content_lock::RequiredContent;
use crate::file_stamp::ScanStart;
use crate::locked_content::{LockedContent, SharedDigests};
use crate::thread_count::ThreadCount;
use crate::{
    ContentLock, Entry, InactiveReason, LOCK_FILE, LockDifference, LockError, SKILL_FILE,
    SkipReason, Skipped, StampSet, parallel,
};

/// The lock files beside the skills of a scan, and beside the directories and symlinks that led to
/// them.
pub(super) struct Locks(HashMap<PathBuf, Result<ContentLock, LockError>>);

/// How the lock files affect one skill.
enum Membership<'a> {
    /// No lock file lists it.
    Unlocked,
    /// A lock file lists its directory.
    Locked(&'a RequiredContent),
    /// A lock file lists a directory around it.
    Inside(&'a Path, &'a RequiredContent),
    Inactive(InactiveReason),
}

impl Locks {
    /// Reads the lock files, and records their stamps.
    ///
    /// The names by which a scan found a skill decide, and not only its canonical directory: a
    /// symlink can replace a locked skill.
    pub(super) fn read(entries: &[Entry], check: &LockCheck<'_>, stamps: &mut StampSet) -> Self {
        let mut locks = HashMap::new();
        // All skills of a root may be missing.
        let roots = check.roots.iter().map(PathBuf::as_path);
        for root in roots.filter(|root| root.is_dir()) {
            read_once(root, &mut locks, stamps, check.scan_start);
        }
        let mut previous = None;
        for parent in entries
            .iter()
            .flat_map(|entry| entry.lock_paths().filter_map(Path::parent))
        {
            // Most entries have the parent of the one before.
            if previous == Some(parent) {
                continue;
            }
            previous = Some(parent);
            read_once(parent, &mut locks, stamps, check.scan_start);
        }
        Self(locks)
    }

    /// Returns the directories below the roots that a lock file lists and that have no skill.
    /// `skipped` is what the scan has already reported.
    pub(super) fn missing(
        &self,
        entries: &[Entry],
        roots: &[PathBuf],
        skipped: &[Skipped],
    ) -> Vec<Skipped> {
        let found: HashSet<&Path> = entries.iter().flat_map(Entry::lock_paths).collect();
        let is_reported = |path: &Path| skipped.iter().any(|one| one.path().starts_with(path));
        let locks = self.0.iter();
        let locked = locks
            .filter(|(parent, _)| roots.iter().any(|root| parent.starts_with(root)))
            .filter_map(|(parent, lock)| Some((parent, lock.as_ref().ok()?)))
            .flat_map(|(parent, lock)| lock.names().map(|name| parent.join(name)));
        locked
            .filter(|path| !found.contains(path.as_path()) && !is_reported(path))
            // A limit can keep the scan from a skill that is there.
            .filter(|path| path.join(SKILL_FILE).symlink_metadata().is_err())
            .map(|path| Skipped::new(path, SkipReason::LockedMissing))
            .collect()
    }

    /// Checks the skills, and returns for each why a lock file makes it inactive. Skills that are
    /// locked, or inside of one, get the content that they must have.
    pub(super) fn check(
        &self,
        entries: &mut [Entry],
        digests: &SharedDigests,
        scan_start: ScanStart,
        threads: ThreadCount,
    ) -> Vec<Option<InactiveReason>> {
        let is_empty = |lock: &Result<_, _>| *lock == Ok(ContentLock::default());
        if self.0.values().all(is_empty) {
            for entry in entries.iter_mut() {
                entry.locked = None;
            }
            return entries.iter().map(|_| None).collect();
        }
        let contents: Vec<Option<Arc<LockedContent>>> = parallel::map(entries, threads, |entry| {
            self.content(entry, digests, scan_start)
        })
        .collect();
        let by_directory: HashMap<&Path, &Arc<LockedContent>> = contents
            .iter()
            .flatten()
            .map(|content| (content.directory(), content))
            .collect();
        let reasons_and_contents: Vec<_> = entries
            .iter()
            .map(|entry| self.decide(entry, &by_directory))
            .collect();
        let decided = entries.iter_mut().zip(reasons_and_contents);
        decided
            .map(|(entry, (reason, content))| {
                entry.locked = content;
                reason
            })
            .collect()
    }

    /// Returns the content of a skill whose directory is locked. That of the previous scan is
    /// reused if nothing changed.
    fn content(
        &self,
        entry: &Entry,
        digests: &SharedDigests,
        scan_start: ScanStart,
    ) -> Option<Arc<LockedContent>> {
        let Membership::Locked(required) = self.membership(entry) else {
            return None;
        };
        let previous = entry.locked.as_ref();
        if let Some(previous) =
            previous.filter(|content| content.is_result_for(&entry.location, required))
        {
            return Some(Arc::clone(previous));
        }
        let content = LockedContent::read(&entry.location, required, digests, scan_start);
        Some(Arc::new(content))
    }

    /// Returns why a skill is inactive, and the content that it must have.
    fn decide(
        &self,
        entry: &Entry,
        by_directory: &HashMap<&Path, &Arc<LockedContent>>,
    ) -> (Option<InactiveReason>, Option<Arc<LockedContent>>) {
        let content_at = |directory: &Path| by_directory.get(directory).copied().map(Arc::clone);
        match self.membership(entry) {
            Membership::Unlocked => (None, None),
            Membership::Inactive(reason) => (Some(reason), None),
            Membership::Locked(required) => {
                let content = content_at(entry.directory());
                let difference = match &content {
                    Some(content) => content.difference().cloned(),
                    None => Some(LockDifference::Unreadable),
                };
                let reason = difference.map(|difference| changed(required, difference));
                (reason, content)
            }
            Membership::Inside(outer, required) => {
                // Without an entry the locked directory does not contain a skill.
                let content = content_at(outer).filter(|content| content.difference().is_none());
                let difference = LockDifference::Outer(outer.to_owned());
                let reason = content.is_none().then(|| changed(required, difference));
                (reason, content)
            }
        }
    }

    fn membership<'a>(&'a self, entry: &'a Entry) -> Membership<'a> {
        let mut membership = Membership::Unlocked;
        for path in entry.lock_paths() {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                continue;
            };
            let lock = match self.0.get(parent) {
                Some(Ok(lock)) => lock,
                Some(Err(error)) => {
                    return Membership::Inactive(InactiveReason::LockUnreadable {
                        path: parent.join(LOCK_FILE),
                        error: error.clone(),
                    });
                }
                None => continue,
            };
            let required = name.to_str().and_then(|name| lock.required(name));
            match (required, &membership) {
                (Some(required), _)
                    if entry
                        .walk_path
                        .links_to(entry.directory())
                        .any(|link| link == path) =>
                {
                    let difference = LockDifference::Symlink(path.to_owned());
                    return Membership::Inactive(changed(required, difference));
                }
                (Some(required), Membership::Unlocked) => {
                    membership = if path == entry.directory() {
                        Membership::Locked(required)
                    } else {
                        Membership::Inside(path, required)
                    };
                }
                _ => {}
            }
        }
        if matches!(membership, Membership::Unlocked)
            && let Some(required) = self.skill_of_name(entry)
        {
            return Membership::Inactive(changed(required, LockDifference::Name));
        }
        membership
    }

    /// Returns what a lock file requires of the skill with the name of an unlocked one: it must not
    /// be used in place of that skill.
    fn skill_of_name(&self, entry: &Entry) -> Option<&RequiredContent> {
        let mut parents = entry.lock_paths().filter_map(Path::parent);
        parents.find_map(|parent| {
            let lock = self.0.get(parent)?.as_ref().ok()?;
            lock.required(entry.name().as_str())
        })
    }
}

/// Reads the lock file of a directory, unless it was read before, and records its stamp.
fn read_once(
    directory: &Path,
    locks: &mut HashMap<PathBuf, Result<ContentLock, LockError>>,
    stamps: &mut StampSet,
    scan_start: ScanStart,
) {
    if !locks.contains_key(directory) {
        stamps.add_at(directory.join(LOCK_FILE), scan_start);
        let lock = ContentLock::read(directory).map(Option::unwrap_or_default);
        locks.insert(directory.to_owned(), lock);
    }
}

fn changed(required: &RequiredContent, difference: LockDifference) -> InactiveReason {
    InactiveReason::Changed {
        locked: required.digest,
        difference,
    }
}
