//! What a scan found.

use crate::{Entry, Skipped};

/// How alike two names must be, from 0 to 1, for one to be offered instead of the other.
const MIN_SIMILARITY: f64 = 0.6;

/// The skills that were found, and everything that was passed over.
///
/// Entries are ordered by scope, name, then directory; two scans of the same files give the same catalogue.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    skipped: Vec<Skipped>,
}

/// The answer to a name.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// One skill has the name.
    Found(&'a Entry),
    /// Several have it, and none is chosen: ask by directory.
    Ambiguous(Vec<&'a Entry>),
    /// None has it; the nearest names, best first, at most three.
    Unknown(Vec<&'a str>),
}

impl Catalog {
    pub(crate) fn new(mut entries: Vec<Entry>, mut skipped: Vec<Skipped>) -> Self {
        entries.sort_by(|a, b| (a.scope, &a.name, &a.directory).cmp(&(b.scope, &b.name, &b.directory)));
        skipped.sort_by(|a, b| a.path().cmp(b.path()));
        Self { entries, skipped }
    }

    /// Returns the skills in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns what was passed over, ordered by path.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Looks a skill up by its exact name, or by the path of its directory or `SKILL.md`.
    #[must_use]
    pub fn find(&self, name: &str) -> Lookup<'_> {
        let named: Vec<&Entry> = self.entries.iter().filter(|entry| entry.name.as_str() == name).collect();
        match named.as_slice() {
            [entry] => Lookup::Found(entry),
            [] => self.find_by_path(name).map_or_else(|| Lookup::Unknown(self.nearest(name)), Lookup::Found),
            _ => Lookup::Ambiguous(named),
        }
    }

    fn find_by_path(&self, path: &str) -> Option<&Entry> {
        let path = std::path::Path::new(path);
        self.entries.iter().find(|entry| entry.directory == path || entry.location() == path)
    }

    fn nearest(&self, name: &str) -> Vec<&str> {
        let wanted = name.to_lowercase();
        let mut scored: Vec<(f64, &str)> = self
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .map(|candidate| (similarity(&wanted, &candidate.to_lowercase()), candidate))
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        scored.dedup_by_key(|(_, candidate)| *candidate);
        scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
    }
}

/// The better of two measures: one likes common beginnings, the other forgives swapped letters in short names.
fn similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b))
}
