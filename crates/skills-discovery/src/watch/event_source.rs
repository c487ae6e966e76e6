//! The file system events of the operating system.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::Signal;
use crate::{FileStamp, Generations};

/// Whether everything that should be watched is watched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchState {
    /// Everything is watched, and was before.
    Unchanged,
    /// Everything is watched, but some of it only since now.
    Extended,
    /// Something is not watched.
    Incomplete,
}

/// Receives the file system events of the operating system for a set of directories.
pub(super) struct EventSource {
    watcher: RecommendedWatcher,
    /// The watched directories, with their stamps when the watch began: another directory may be
    /// moved to the same path, and the watch stays with the first.
    watched: Vec<(PathBuf, Option<FileStamp>)>,
    /// Whether the system has reported that it cannot watch something.
    pub(super) has_failed: bool,
}

impl EventSource {
    /// Starts an event source that sends to `sender`; `None` if the system has no events, or does not
    /// start a thread for them.
    pub(super) fn new(sender: Sender<Signal>, generations: Arc<Generations>) -> Option<Self> {
        // The library ignores that it cannot start its thread, and panics at the first watch.
        skills_threads::check(1).ok()?;
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let signal = match event {
                Ok(event) if event.need_rescan() => Signal::Rescan,
                // The scans of this process cause access events themselves.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) if matches!(event.kind, EventKind::Remove(_)) => {
                    Signal::Removed(event.paths)
                }
                Ok(_) => Signal::Changed,
                Err(_) => Signal::Failed,
            };
            // Recorded before it is sent, so that nothing read before the event counts as current
            // during its scan.
            generations.record_change();
            // Sending fails if the thread has ended.
            let _ = sender.send(signal);
        });
        watcher.ok().map(|watcher| Self {
            watcher,
            watched: Vec::new(),
            has_failed: false,
        })
    }

    /// Ends the watches of removed directories, so that they are watched again if they exist. The
    /// stamps do not show that: a directory that is created again may get the same inode.
    pub(super) fn remove_watched(&mut self, is_removed: impl Fn(&Path) -> bool) {
        let watcher = &mut self.watcher;
        self.watched.retain(|(path, _)| {
            let keep = !is_removed(path);
            if !keep {
                // The system may have ended the watch already.
                let _ = watcher.unwatch(path);
            }
            keep
        });
    }

    /// Watches the directories of these paths, each once and recursively. For a missing directory
    /// its nearest existing parent is watched.
    pub(super) fn watch_paths<'a>(&mut self, paths: impl Iterator<Item = &'a Path>) -> WatchState {
        let mut state = if self.has_failed {
            WatchState::Incomplete
        } else {
            WatchState::Unchanged
        };
        for (path, mode) in directories_to_watch(paths) {
            let stamp = FileStamp::from_path(&path);
            if self.is_watched(&path, stamp) {
                continue;
            }
            match self.watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.push((path, stamp));
                    if state != WatchState::Incomplete {
                        state = WatchState::Extended;
                    }
                }
                Err(_) => state = WatchState::Incomplete,
            }
        }
        state
    }

    /// Returns true if the directory that is at a path now is watched. Ends the watch if it is on
    /// another directory, which was at this path before.
    fn is_watched(&mut self, path: &Path, stamp: Option<FileStamp>) -> bool {
        let Some(index) = self.watched.iter().position(|(watched, _)| watched == path) else {
            return false;
        };
        let is_same = self.watched[index]
            .1
            .zip(stamp)
            .is_some_and(|(before, now)| before.is_same_file(&now));
        if !is_same {
            let _ = self.watcher.unwatch(path);
            self.watched.swap_remove(index);
        }
        is_same
    }
}

/// Returns the directories to watch for `paths`, without duplicates and without those that a
/// recursive watch of a parent includes.
fn directories_to_watch<'a>(
    paths: impl Iterator<Item = &'a Path>,
) -> Vec<(PathBuf, RecursiveMode)> {
    let mut wanted: Vec<(PathBuf, RecursiveMode)> = paths.filter_map(nearest_watchable).collect();
    // Parents sort before their subdirectories.
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    wanted.dedup_by(|later, earlier| {
        let is_duplicate = later.0 == earlier.0;
        if is_duplicate && later.1 == RecursiveMode::Recursive {
            earlier.1 = RecursiveMode::Recursive;
        }
        is_duplicate
    });
    let mut directories: Vec<(PathBuf, RecursiveMode)> = Vec::new();
    for (path, mode) in wanted {
        let is_included = directories
            .iter()
            .any(|(parent, mode)| *mode == RecursiveMode::Recursive && path.starts_with(parent));
        if !is_included {
            directories.push((path, mode));
        }
    }
    directories
}

/// Returns the directory to watch for a path: the directory itself, or its nearest existing parent.
/// Of a parent only its own entries matter, since the next component must appear there.
fn nearest_watchable(path: &Path) -> Option<(PathBuf, RecursiveMode)> {
    if path.is_dir() {
        return Some((path.canonicalize().ok()?, RecursiveMode::Recursive));
    }
    let parent = path.ancestors().skip(1).find(|parent| parent.is_dir())?;
    Some((parent.canonicalize().ok()?, RecursiveMode::NonRecursive))
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_event_ends_the_generation_before_it_is_signaled() {
        if skills_test_support::skip_without_file_events() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let generations = Arc::<Generations>::default();
        let (sender, signals) = channel();
        let mut events = EventSource::new(sender, Arc::clone(&generations)).unwrap();
        assert!(events.watch_paths([directory.path()].into_iter()) == WatchState::Extended);
        std::fs::write(directory.path().join("a"), "1").unwrap();
        assert!(signals.recv_timeout(Duration::from_secs(30)).is_ok());
        assert_ne!(generations.change_count(), 0);
    }
}
