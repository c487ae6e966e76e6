//! The file system events of the operating system.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod notify;
#[cfg(target_os = "linux")]
mod watch_tree;
mod watched;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

#[cfg(target_os = "linux")]
use self::inotify::DirectoryWatcher;
#[cfg(not(target_os = "linux"))]
use self::notify::DirectoryWatcher;
use self::watched::Depth;
use super::signal::{Reporter, Signal};
use crate::Generations;

pub(super) use self::watched::WatchState;

/// Receives the file system events of the operating system for a set of directories, until it
/// reports that it is lost.
pub(super) struct EventSource {
    watcher: DirectoryWatcher,
}

impl EventSource {
    /// Starts an event source that sends to `sender`. `source` is the number by which it reports
    /// that it is lost.
    ///
    /// # Errors
    /// Fails if the system has no events, or does not start a thread for them.
    pub(super) fn new(
        sender: Sender<Signal>,
        generations: Arc<Generations>,
        source: u64,
    ) -> io::Result<Self> {
        let watcher = DirectoryWatcher::new(Reporter::new(sender, generations, source))?;
        Ok(Self { watcher })
    }

    /// Watches the directories of these paths, each once and recursively. For a missing directory
    /// its nearest existing parent is watched. `None` if the source is lost, which it reports.
    pub(super) fn watch_paths<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a Path>,
    ) -> Option<WatchState> {
        self.watcher.watch(directories_to_watch(paths))
    }
}

/// Returns the directories to watch for `paths`, without duplicates and without those that a
/// recursive watch of a parent includes.
fn directories_to_watch<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<(PathBuf, Depth)> {
    let mut wanted: Vec<(PathBuf, Depth)> = paths.filter_map(nearest_watchable).collect();
    // Parents sort before their subdirectories.
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    wanted.dedup_by(|later, earlier| {
        let is_duplicate = later.0 == earlier.0;
        if is_duplicate && later.1 == Depth::Tree {
            earlier.1 = Depth::Tree;
        }
        is_duplicate
    });
    let mut directories: Vec<(PathBuf, Depth)> = Vec::new();
    for (path, depth) in wanted {
        // Everything below a tree follows it, so only the last tree can include a path.
        let last_tree = directories.iter().rfind(|(_, depth)| *depth == Depth::Tree);
        if !last_tree.is_some_and(|(tree, _)| path.starts_with(tree)) {
            directories.push((path, depth));
        }
    }
    directories
}

/// Returns the directory to watch for a path: the directory itself, or its nearest existing parent.
/// Of a parent only its own entries matter, since the next component must appear there.
fn nearest_watchable(path: &Path) -> Option<(PathBuf, Depth)> {
    if path.is_dir() {
        return Some((path.canonicalize().ok()?, Depth::Tree));
    }
    let parent = path.ancestors().skip(1).find(|parent| parent.is_dir())?;
    Some((parent.canonicalize().ok()?, Depth::Single))
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
        let mut events = EventSource::new(sender, Arc::clone(&generations), 0).unwrap();
        assert_eq!(
            events.watch_paths([directory.path()].into_iter()),
            Some(WatchState::Extended)
        );
        std::fs::write(directory.path().join("a"), "1").unwrap();
        assert!(signals.recv_timeout(Duration::from_secs(30)).is_ok());
        assert_ne!(generations.change_count(), 0);
    }

    #[test]
    fn a_directory_below_a_watched_tree_is_not_watched_again() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::create_dir_all(base.join("a-c")).unwrap();
        let paths = ["a/b", "a", "a-c", "a/b/missing", "missing/too"].map(|path| base.join(path));
        let found = directories_to_watch(paths.iter().map(PathBuf::as_path));
        let expected = [
            (base.clone(), Depth::Single),
            (base.join("a"), Depth::Tree),
            (base.join("a-c"), Depth::Tree),
        ];
        assert_eq!(found, expected);
    }
}
