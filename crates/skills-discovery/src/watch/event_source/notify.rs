//! Watches directories with the interface of the operating system that `notify` chooses.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::watched::{Depth, WatchState};
use crate::FileStamp;
use crate::watch::WatchProblem;
use crate::watch::signal::Reporter;

/// Watches a set of directories until it reports that it is lost.
pub(super) struct DirectoryWatcher {
    watcher: RecommendedWatcher,
    watched: Arc<WatchedDirectories>,
}

/// The watched directories, with their stamps when the watch began: another directory may be moved
/// to the same path, and the watch stays with the first. `None` once the directory was removed,
/// since one that is created again may get the same inode.
#[derive(Default)]
struct WatchedDirectories(Mutex<Vec<(PathBuf, Option<FileStamp>)>>);

impl WatchedDirectories {
    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, Option<FileStamp>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_removal(&self, removed: &[PathBuf]) {
        for (path, stamp) in self.lock().iter_mut() {
            if removed.contains(path) {
                *stamp = None;
            }
        }
    }
}

impl DirectoryWatcher {
    pub(super) fn new(reporter: Reporter) -> io::Result<Self> {
        // The library ignores that it cannot start its thread, and panics at the first watch.
        skills_threads::check(1)?;
        let watched = Arc::<WatchedDirectories>::default();
        let known = Arc::clone(&watched);
        let report = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.need_rescan() => reporter.lost(WatchProblem::TooManyChanges),
            // The scans of this process cause access events themselves.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            Ok(event) => {
                if matches!(event.kind, EventKind::Remove(_)) {
                    known.record_removal(&event.paths);
                }
                reporter.changed();
            }
            Err(_) => reporter.lost(WatchProblem::TooManyDirectories),
        };
        let watcher = notify::recommended_watcher(report).map_err(io::Error::other)?;
        Ok(Self { watcher, watched })
    }

    /// Watches these directories in addition to those that are watched already.
    pub(super) fn watch(&mut self, directories: Vec<(PathBuf, Depth)>) -> Option<WatchState> {
        let mut state = WatchState::Unchanged;
        for (path, depth) in directories {
            let stamp = FileStamp::from_path(&path);
            if self.is_watched(&path, stamp) {
                continue;
            }
            let mode = match depth {
                Depth::Single => RecursiveMode::NonRecursive,
                Depth::Tree => RecursiveMode::Recursive,
            };
            match self.watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.lock().push((path, stamp));
                    if state != WatchState::Incomplete {
                        state = WatchState::Extended;
                    }
                }
                Err(_) => state = WatchState::Incomplete,
            }
        }
        Some(state)
    }

    /// Returns true if the directory that is at a path now is watched. Ends the watch if it is on
    /// another directory, which was at this path before.
    fn is_watched(&mut self, path: &Path, stamp: Option<FileStamp>) -> bool {
        let mut watched = self.watched.lock();
        let Some(index) = watched.iter().position(|(watched, _)| watched == path) else {
            return false;
        };
        let is_same = watched[index]
            .1
            .zip(stamp)
            .is_some_and(|(before, now)| before.is_same_file(&now));
        if is_same {
            return true;
        }
        watched.swap_remove(index);
        // Not held while the library waits for its thread, which may be recording a removal.
        drop(watched);
        let _ = self.watcher.unwatch(path);
        false
    }
}
