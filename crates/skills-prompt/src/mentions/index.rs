//! The names of a catalogue, prepared for looking up.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::{Catalog, Entry, Inactive};

use super::names::{look, spoken};
use super::{Input, MentionOptions, Mentions, Outcome, select};
use crate::paths::resolve;
use crate::{Mode, Modes};

/// How alike two names must be, from 0 to 1, for one to be offered instead of the other.
const MIN_SIMILARITY: f64 = 0.75;
/// The most names that are offered instead of another.
const MAX_NEAREST: usize = 3;

/// Finds the skills that a user's input names.
///
/// Made once for a catalogue; finding then takes time in proportion to the input.
#[derive(Debug, Clone)]
pub struct MentionIndex {
    pub(super) catalog: Arc<Catalog>,
    names: HashMap<String, Vec<u32>>,
    inactive: HashMap<String, u32>,
    directories: HashMap<PathBuf, At>,
    links: HashMap<PathBuf, PathBuf>,
    off: HashSet<u32>,
    /// By the name as people say it.
    said: HashMap<String, Vec<u32>>,
    said_inactive: HashMap<String, u32>,
    /// By how the name looks; only where several names look the same or a look differs from the name.
    looks: HashMap<String, Vec<u32>>,
    /// What names as people say them begin with: their first word, or first character where words are not separated.
    starts: HashSet<String>,
    longest: usize,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Used(u32),
    Inactive(u32),
}

impl MentionIndex {
    /// Prepares the names of `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self::with_modes(catalog, &Modes::default())
    }

    /// Prepares the names of `catalog`; naming a skill whose mode is [`Mode::Off`] has no effect.
    #[must_use]
    pub fn with_modes(catalog: Arc<Catalog>, modes: &Modes) -> Self {
        let mut index = Self {
            names: HashMap::new(),
            inactive: HashMap::new(),
            directories: HashMap::new(),
            links: catalog.links().iter().cloned().collect(),
            off: HashSet::new(),
            said: HashMap::new(),
            said_inactive: HashMap::new(),
            looks: HashMap::new(),
            starts: HashSet::new(),
            longest: 0,
            catalog: Arc::clone(&catalog),
        };
        for (inactive, number) in catalog.inactive().iter().zip(0..) {
            let name = inactive.entry().name().as_str();
            index.inactive.entry(name.to_owned()).or_insert(number);
            index.said_inactive.entry(spoken(name)).or_insert(number);
            index.directories.insert(inactive.entry().directory().to_owned(), At::Inactive(number));
            index.start(&spoken(name));
        }
        for (entry, number) in catalog.entries().iter().zip(0..) {
            index.add(entry, number);
            if modes.of(entry) == Mode::Off {
                index.off.insert(number);
            }
        }
        index
    }

    fn add(&mut self, entry: &Entry, number: u32) {
        let name = entry.name().as_str();
        self.names.entry(name.to_owned()).or_default().push(number);
        self.directories.insert(entry.directory().to_owned(), At::Used(number));
        let said = spoken(name);
        self.start(&said);
        self.looks.entry(look(name)).or_default().push(number);
        self.said.entry(said).or_default().push(number);
    }

    fn start(&mut self, said: &str) {
        self.starts.insert(start(said).to_owned());
        self.longest = self.longest.max(said.len());
    }

    /// Finds the skills that `inputs` name.
    #[must_use]
    pub fn find(&self, inputs: &[Input<'_>], options: &MentionOptions) -> Mentions<'_> {
        select::find(self, inputs, options)
    }

    /// Returns the names most like `name`, best first, at most three; it looks at every name.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let wanted = spoken(name);
        let alike = |said: &str| strsim::jaro_winkler(&wanted, said).max(strsim::normalized_damerau_levenshtein(&wanted, said));
        let mut scored: Vec<(f64, &str)> = self
            .said
            .iter()
            .filter(|(said, _)| said.len().abs_diff(wanted.len()) <= wanted.len() / 2 + 2)
            .flat_map(|(said, numbers)| {
                let score = alike(said);
                numbers.iter().map(move |number| (score, self.entry(*number).name().as_str()))
            })
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        scored.dedup_by_key(|(_, name)| *name);
        scored.into_iter().take(MAX_NEAREST).map(|(_, name)| name).collect()
    }

    pub(super) fn entry(&self, number: u32) -> &Entry {
        &self.catalog.entries()[number as usize]
    }

    fn inactive(&self, number: u32) -> &Inactive {
        &self.catalog.inactive()[number as usize]
    }

    /// Whether a name in words may begin so.
    pub(super) fn may_start(&self, said: &str) -> bool {
        self.starts.contains(start(said))
    }

    /// The bytes of the longest name as people say it.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The used skills of exactly this name.
    pub(super) fn named(&self, name: &str) -> &[u32] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inactive_named(&self, name: &str) -> Option<&Inactive> {
        self.inactive.get(name).map(|number| self.inactive(*number))
    }

    /// The used skills of this name as people say it.
    pub(super) fn said(&self, said: &str) -> &[u32] {
        self.said.get(said).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inactive_said(&self, said: &str) -> Option<&Inactive> {
        self.said_inactive.get(said).map(|number| self.inactive(*number))
    }

    /// The used skills whose names look like this.
    pub(super) fn looking_like(&self, name: &str) -> &[u32] {
        self.looks.get(&look(name)).map_or(&[], Vec::as_slice)
    }

    /// What lies at the path of a `SKILL.md`, as it is or behind symlinks that the scan followed.
    pub(super) fn at(&self, path: &Path) -> Outcome<'_> {
        let found = self.exactly_at(path).or_else(|| self.exactly_at(&resolve(&self.links, path)));
        match found {
            Some(At::Used(number)) => self.outcome(number),
            Some(At::Inactive(number)) => Outcome::Inactive(self.inactive(number)),
            None => Outcome::Unknown,
        }
    }

    fn exactly_at(&self, path: &Path) -> Option<At> {
        let at = *self.directories.get(path.parent()?)?;
        let entry = match at {
            At::Used(number) => self.entry(number),
            At::Inactive(number) => self.inactive(number).entry(),
        };
        (entry.location() == path).then_some(at)
    }

    /// What naming exactly this skill comes to.
    pub(super) fn outcome(&self, number: u32) -> Outcome<'_> {
        let entry = self.entry(number);
        if self.off.contains(&number) {
            Outcome::Off(entry)
        } else if !entry.manifest().user_invocable() {
            Outcome::NotForUsers(entry)
        } else {
            Outcome::Selected(entry)
        }
    }
}

/// The first word of a name as people say it, or its first character where words are not separated.
fn start(said: &str) -> &str {
    let end = match said.chars().next() {
        Some(c) if !c.is_ascii() => c.len_utf8(),
        _ => said.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(said.len()),
    };
    &said[..end]
}
