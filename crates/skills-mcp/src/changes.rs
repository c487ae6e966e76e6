//! What clients were told, and whether it is still so.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// The lists that clients are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

impl List {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];
}

/// How often each list has changed since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Versions([u64; 3]);

impl Versions {
    /// Returns how often one list has changed.
    pub(crate) fn of(self, list: List) -> u64 {
        self.0[list as usize]
    }

    /// Takes what a client knew of the lists that it has read, and for the others what is.
    pub(crate) fn seen(mut self, seen: [Option<u64>; 3]) -> Self {
        self.0
            .iter_mut()
            .zip(seen)
            .for_each(|(now, seen)| *now = seen.unwrap_or(*now));
        self
    }

    /// Names the lists that changed since `before`.
    pub(crate) fn since(self, before: Self) -> impl Iterator<Item = List> {
        List::ALL
            .into_iter()
            .filter(move |list| self.0[*list as usize] != before.0[*list as usize])
    }
}

/// What clients were told last of each list, and whoever wants to know when it changes.
#[derive(Default)]
pub(crate) struct Changes {
    told: Mutex<[Option<[u8; 32]>; 3]>,
    versions: watch::Sender<Versions>,
}

impl Changes {
    /// Notes how a list is now. When it was another before, whoever listens is told.
    pub(crate) fn note(&self, list: List, items: &impl Serialize) {
        let Ok(bytes) = serde_json::to_vec(items) else {
            return;
        };
        let now = Sha256::digest(bytes).into();
        let before =
            self.told.lock().unwrap_or_else(PoisonError::into_inner)[list as usize].replace(now);
        if before.is_some_and(|before| before != now) {
            self.versions
                .send_modify(|versions| versions.0[list as usize] += 1);
        }
    }

    /// Says whether anybody was ever told of a list.
    pub(crate) fn is_told(&self, list: List) -> bool {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)[list as usize].is_some()
    }

    /// Returns how often the lists have changed until now.
    pub(crate) fn versions(&self) -> Versions {
        *self.versions.borrow()
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<Versions> {
        self.versions.subscribe()
    }
}

/// What was logged already.
#[derive(Default)]
pub(crate) struct Noted(Mutex<HashSet<String>>);

impl Noted {
    /// The most that is remembered; what comes then is logged each time.
    const MOST: usize = 10_000;

    /// Says whether something was not logged before, and remembers that it is now.
    pub(crate) fn is_new(&self, note: &str) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() >= Self::MOST {
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
        let changes = Changes::default();
        let listener = changes.listen();
        let before = *listener.borrow();
        let changed = |before: Versions| listener.borrow().since(before).collect::<Vec<_>>();
        changes.note(List::Tools, &["a"]);
        assert!(changed(before).is_empty(), "nobody was told another one");
        changes.note(List::Tools, &["a"]);
        assert!(changed(before).is_empty(), "it is the same");
        changes.note(List::Tools, &["a", "b"]);
        assert_eq!(changed(before), [List::Tools]);
        changes.note(List::Prompts, &["p"]);
        assert_eq!(changed(before), [List::Tools]);
        assert_eq!(
            (
                changes.is_told(List::Prompts),
                changes.is_told(List::Resources)
            ),
            (true, false)
        );
    }
}
