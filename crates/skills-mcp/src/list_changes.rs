//! What clients were told, and whether it is still so.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// The lists that clients are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];
}

/// How often each list has changed since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ListVersions([u64; 3]);

impl ListVersions {
    /// Returns how often one list has changed.
    pub(crate) fn get(self, list: ListKind) -> u64 {
        self.0[list as usize]
    }

    /// Takes what a client knew of the lists that it has read, and for the others what is.
    pub(crate) fn with_seen(mut self, seen: [Option<u64>; 3]) -> Self {
        self.0
            .iter_mut()
            .zip(seen)
            .for_each(|(now, seen)| *now = seen.unwrap_or(*now));
        self
    }

    /// Names the lists that changed since `before`.
    pub(crate) fn changed_since(self, before: Self) -> impl Iterator<Item = ListKind> {
        ListKind::ALL
            .into_iter()
            .filter(move |list| self.0[*list as usize] != before.0[*list as usize])
    }
}

/// What clients were told last of each list, and whoever wants to know when it changes.
#[derive(Default)]
pub(crate) struct ListTracker {
    last_served: Mutex<[Option<[u8; 32]>; 3]>,
    versions: watch::Sender<ListVersions>,
}

impl ListTracker {
    /// Notes how a list is now. When it was another before, whoever listens is told.
    pub(crate) fn update(&self, list: ListKind, items: &impl Serialize) {
        let Ok(bytes) = serde_json::to_vec(items) else {
            return;
        };
        let now = Sha256::digest(bytes).into();
        let before = self
            .last_served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)[list as usize]
            .replace(now);
        if before.is_some_and(|before| before != now) {
            self.versions
                .send_modify(|versions| versions.0[list as usize] += 1);
        }
    }

    /// Says whether anybody was ever told of a list.
    pub(crate) fn was_served(&self, list: ListKind) -> bool {
        self.last_served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)[list as usize]
            .is_some()
    }

    /// Returns how often the lists have changed until now.
    pub(crate) fn versions(&self) -> ListVersions {
        *self.versions.borrow()
    }

    /// Listens from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<ListVersions> {
        self.versions.subscribe()
    }
}

/// What was logged already.
#[derive(Default)]
pub(crate) struct LogOnce(Mutex<HashSet<String>>);

impl LogOnce {
    /// The most that is remembered; what comes then is logged each time.
    const MAX_ENTRIES: usize = 10_000;

    /// Says whether something was not logged before, and remembers that it is now.
    pub(crate) fn should_log(&self, note: &str) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() >= Self::MAX_ENTRIES {
            return !noted.contains(note);
        }
        noted.insert(note.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_that_was_told_and_is_another_now_has_changed() {
        let changes = ListTracker::default();
        let listener = changes.subscribe();
        let before = *listener.borrow();
        let changed =
            |before: ListVersions| listener.borrow().changed_since(before).collect::<Vec<_>>();
        changes.update(ListKind::Tools, &["a"]);
        assert!(changed(before).is_empty(), "nobody was told another one");
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
