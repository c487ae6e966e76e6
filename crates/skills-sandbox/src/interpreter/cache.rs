//! What was found before, as long as nothing that led to it has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Reason;
use super::disk::{Disk, State};
use super::resolve::{self, Resolved};

/// More paths than this are not kept; then it starts anew.
const MAX_PATHS: usize = 1024;

type Answer = Result<Resolved, Reason>;
type Seen = Vec<(PathBuf, State)>;

/// The answers for paths, shared by clones.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    answers: Arc<Mutex<BTreeMap<PathBuf, (Seen, Answer)>>>,
}

impl Cache {
    /// Resolves a path, unless that was done before and nothing that was looked at then has another
    /// device, inode or time now. `None` when nothing is there, which costs nothing to see and is
    /// not kept.
    pub(super) fn resolve(&self, found: &Path) -> Option<Answer> {
        if let Some((seen, answer)) = self.known(found)
            && seen.iter().all(|(path, state)| State::of(path) == *state)
        {
            return Some(answer);
        }
        let mut disk = Disk::default();
        let answer = resolve::resolve(found, &mut disk)?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_PATHS {
            answers.clear();
        }
        answers.insert(found.to_owned(), (disk.seen(), answer.clone()));
        Some(answer)
    }

    fn known(&self, found: &Path) -> Option<(Seen, Answer)> {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(found)
            .cloned()
    }
}
