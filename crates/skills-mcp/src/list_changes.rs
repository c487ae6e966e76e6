//! Tracks which lists clients have been served, and their changes.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};

use serde::Serialize;
use sha2::{Digest, Sha256};
use skills_threads::lock;
use skills_tools::runtime::discovery::RootWatcher;
use tokio::sync::watch;

/// The lists of which clients are notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];
}

/// The versions of all lists.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListVersions([ListVersion; 3]);

#[derive(Debug, Clone, Copy, Default)]
struct ListVersion {
    /// Digest of the content as last served.
    digest: Option<[u8; 32]>,
    /// The number of changes since the server started.
    changes: u64,
}

impl ListVersions {
    /// Returns the number of changes of a list.
    pub(crate) fn get(self, list: ListKind) -> u64 {
        self.0[list as usize].changes
    }

    /// Replaces the versions of the lists that a client has read by those that it has seen.
    pub(crate) fn with_seen(mut self, seen: [Option<u64>; 3]) -> Self {
        for (version, seen) in self.0.iter_mut().zip(seen) {
            version.changes = seen.unwrap_or(version.changes);
        }
        self
    }

    pub(crate) fn changed_since(self, before: Self) -> impl Iterator<Item = ListKind> {
        let lists = ListKind::ALL.into_iter();
        lists.filter(move |list| self.get(*list) != before.get(*list))
    }
}

/// Holds the version of each list, and notifies subscribers of changes.
#[derive(Default)]
pub(crate) struct ListTracker(watch::Sender<ListVersions>);

impl ListTracker {
    /// Records the current content of a list. Notifies subscribers if it differs from the last one.
    pub(crate) fn update(&self, list: ListKind, items: &impl Serialize) {
        let Ok(bytes) = serde_json::to_vec(items) else {
            return;
        };
        let now = Sha256::digest(bytes).into();
        self.0.send_if_modified(|versions| {
            let version = &mut versions.0[list as usize];
            let before = version.digest.replace(now);
            // The first content is not a change: no client has seen another one.
            let is_changed = before.is_some_and(|before| before != now);
            version.changes += u64::from(is_changed);
            is_changed
        });
    }

    /// Returns true if a list was ever served.
    pub(crate) fn was_served(&self, list: ListKind) -> bool {
        self.versions().0[list as usize].digest.is_some()
    }

    /// Returns the current versions.
    pub(crate) fn versions(&self) -> ListVersions {
        *self.0.borrow()
    }

    /// Subscribes to changes from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<ListVersions> {
        self.0.subscribe()
    }
}

/// The watcher of a server, shared by all clients.
#[derive(Default)]
pub(crate) struct ListWatcher {
    pub(crate) is_started: AtomicBool,
    pub(crate) handle: OnceLock<RootWatcher>,
}

/// Remembers which messages were logged, by their hashes.
#[derive(Default)]
pub(crate) struct LogOnce {
    hasher: RandomState,
    logged: Mutex<HashSet<u64>>,
}

impl LogOnce {
    /// Maximum number of remembered messages; further ones are logged each time. A large catalog
    /// can have a message for each skill.
    const MAX_ENTRIES: usize = 200_000;

    /// Returns true if a message was not logged before, and remembers it.
    pub(crate) fn should_log(&self, message: &str) -> bool {
        let hash = self.hasher.hash_one(message);
        let mut logged = lock(&self.logged);
        // Messages contain names of skills, whose number is not limited.
        if logged.len() >= Self::MAX_ENTRIES {
            return !logged.contains(&hash);
        }
        logged.insert(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_a_large_catalog_is_logged_once() {
        let log = LogOnce::default();
        let messages: Vec<String> = (0..50_000).map(|n| format!("skill `{n}`")).collect();
        for expected in [messages.len(), 0] {
            let new = messages.iter().filter(|message| log.should_log(message));
            assert_eq!(new.count(), expected);
        }
    }

    #[test]
    fn only_a_served_list_with_other_content_has_changed() {
        let changes = ListTracker::default();
        let listener = changes.subscribe();
        let before = *listener.borrow();
        let changed =
            |before: ListVersions| listener.borrow().changed_since(before).collect::<Vec<_>>();
        changes.update(ListKind::Tools, &["a"]);
        assert!(changed(before).is_empty(), "no other one was served");
        changes.update(ListKind::Tools, &["a"]);
        assert!(changed(before).is_empty(), "it is the same");
        changes.update(ListKind::Tools, &["a", "b"]);
        assert_eq!(changed(before), [ListKind::Tools]);
        changes.update(ListKind::Prompts, &["p"]);
        assert_eq!(changed(before), [ListKind::Tools]);
        assert_eq!(
            (
                changes.was_served(ListKind::Prompts),
                changes.was_served(ListKind::Resources)
            ),
            (true, false)
        );
    }
}
