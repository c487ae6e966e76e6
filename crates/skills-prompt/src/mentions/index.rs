//! The names of a catalogue, prepared for looking up.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::{Catalog, Entry, InactiveEntry};

use super::normalize::{confusable_skeleton, normalize_name};
use super::{MentionOptions, Mentions, Resolution, UserInput, select};
use crate::paths::resolve_symlinks;
use crate::{ListingMode, ListingModes};

/// How alike two names must be, from 0 to 1, for one to be offered instead of the other.
const MIN_SIMILARITY: f64 = 0.75;
/// The most names that are offered instead of another.
const MAX_SUGGESTIONS: usize = 3;

/// Finds the skills that a user's input names.
///
/// Made once for a catalogue; finding then takes time in proportion to the input.
#[derive(Debug, Clone)]
pub struct MentionIndex {
    pub(super) catalog: Arc<Catalog>,
    by_name: HashMap<String, Vec<u32>>,
    inactive: HashMap<String, u32>,
    by_directory: HashMap<PathBuf, EntryRef>,
    symlinks: HashMap<PathBuf, PathBuf>,
    disabled: HashSet<u32>,
    /// By the name as people say it.
    by_spoken_name: HashMap<String, Vec<u32>>,
    inactive_by_spoken_name: HashMap<String, u32>,
    /// By how the name looks; only where several names look the same or a look differs from the
    /// name.
    by_skeleton: HashMap<String, Vec<u32>>,
    /// What names as people say them begin with: their first word, or first character where words
    /// are not separated.
    first_words: HashSet<String>,
    max_spoken_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum EntryRef {
    Active(u32),
    Inactive(u32),
}

impl MentionIndex {
    /// Prepares the names of `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self::with_modes(catalog, &ListingModes::default())
    }

    /// Prepares the names of `catalog`; naming a skill whose mode is [`ListingMode::Disabled`] has
    /// no effect.
    #[must_use]
    pub fn with_modes(catalog: Arc<Catalog>, modes: &ListingModes) -> Self {
        let mut index = Self {
            by_name: HashMap::new(),
            inactive: HashMap::new(),
            by_directory: HashMap::new(),
            symlinks: catalog.symlinks().iter().cloned().collect(),
            disabled: HashSet::new(),
            by_spoken_name: HashMap::new(),
            inactive_by_spoken_name: HashMap::new(),
            by_skeleton: HashMap::new(),
            first_words: HashSet::new(),
            max_spoken_bytes: 0,
            catalog: Arc::clone(&catalog),
        };
        for (inactive, number) in catalog.inactive().iter().zip(0..) {
            let name = inactive.entry().name().as_str();
            index.inactive.entry(name.to_owned()).or_insert(number);
            index
                .inactive_by_spoken_name
                .entry(normalize_name(name))
                .or_insert(number);
            index.by_directory.insert(
                inactive.entry().directory().to_owned(),
                EntryRef::Inactive(number),
            );
            index.add_first_word(&normalize_name(name));
        }
        for (entry, number) in catalog.entries().iter().zip(0..) {
            index.add(entry, number);
            if modes.get(entry) == ListingMode::Disabled {
                index.disabled.insert(number);
            }
        }
        index
    }

    fn add(&mut self, entry: &Entry, number: u32) {
        let name = entry.name().as_str();
        self.by_name
            .entry(name.to_owned())
            .or_default()
            .push(number);
        self.by_directory
            .insert(entry.directory().to_owned(), EntryRef::Active(number));
        let said = normalize_name(name);
        self.add_first_word(&said);
        self.by_skeleton
            .entry(confusable_skeleton(name))
            .or_default()
            .push(number);
        self.by_spoken_name.entry(said).or_default().push(number);
    }

    fn add_first_word(&mut self, said: &str) {
        self.first_words.insert(first_word(said).to_owned());
        self.max_spoken_bytes = self.max_spoken_bytes.max(said.len());
    }

    /// Finds the skills that `inputs` name.
    #[must_use]
    pub fn find(&self, inputs: &[UserInput<'_>], options: &MentionOptions) -> Mentions<'_> {
        select::select_mentions(self, inputs, options)
    }

    /// Returns the names most like `name`, best first, at most three; it looks at every name.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let wanted = normalize_name(name);
        let alike = |said: &str| {
            strsim::jaro_winkler(&wanted, said)
                .max(strsim::normalized_damerau_levenshtein(&wanted, said))
        };
        let mut scored: Vec<(f64, &str)> = self
            .by_spoken_name
            .iter()
            .filter(|(said, _)| said.len().abs_diff(wanted.len()) <= wanted.len() / 2 + 2)
            .flat_map(|(said, numbers)| {
                let score = alike(said);
                numbers
                    .iter()
                    .map(move |number| (score, self.entry(*number).name().as_str()))
            })
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        scored.dedup_by_key(|(_, name)| *name);
        scored
            .into_iter()
            .take(MAX_SUGGESTIONS)
            .map(|(_, name)| name)
            .collect()
    }

    pub(super) fn entry(&self, number: u32) -> &Entry {
        &self.catalog.entries()[number as usize]
    }

    fn inactive(&self, number: u32) -> &InactiveEntry {
        &self.catalog.inactive()[number as usize]
    }

    /// Whether a name in words may begin so.
    pub(super) fn may_start_name(&self, said: &str) -> bool {
        self.first_words.contains(first_word(said))
    }

    /// The bytes of the longest name as people say it.
    pub(super) fn max_spoken_bytes(&self) -> usize {
        self.max_spoken_bytes
    }

    /// The used skills of exactly this name.
    pub(super) fn with_name(&self, name: &str) -> &[u32] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inactive_with_name(&self, name: &str) -> Option<&InactiveEntry> {
        self.inactive.get(name).map(|number| self.inactive(*number))
    }

    /// The used skills of this name as people say it.
    pub(super) fn by_spoken_name(&self, said: &str) -> &[u32] {
        self.by_spoken_name.get(said).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inactive_with_spoken_name(&self, said: &str) -> Option<&InactiveEntry> {
        self.inactive_by_spoken_name
            .get(said)
            .map(|number| self.inactive(*number))
    }

    /// The used skills whose names look like this.
    pub(super) fn with_skeleton(&self, name: &str) -> &[u32] {
        self.by_skeleton
            .get(&confusable_skeleton(name))
            .map_or(&[], Vec::as_slice)
    }

    /// What lies at the path of a `SKILL.md`, as it is or behind symlinks that the scan followed.
    pub(super) fn resolve_path(&self, path: &Path) -> Resolution<'_> {
        let found = self
            .entry_ref_at(path)
            .or_else(|| self.entry_ref_at(&resolve_symlinks(&self.symlinks, path)));
        match found {
            Some(EntryRef::Active(number)) => self.resolution(number),
            Some(EntryRef::Inactive(number)) => Resolution::Inactive(self.inactive(number)),
            None => Resolution::Unknown,
        }
    }

    fn entry_ref_at(&self, path: &Path) -> Option<EntryRef> {
        let at = *self.by_directory.get(path.parent()?)?;
        let entry = match at {
            EntryRef::Active(number) => self.entry(number),
            EntryRef::Inactive(number) => self.inactive(number).entry(),
        };
        (entry.location() == path).then_some(at)
    }

    /// What naming exactly this skill comes to.
    pub(super) fn resolution(&self, number: u32) -> Resolution<'_> {
        let entry = self.entry(number);
        if self.disabled.contains(&number) {
            Resolution::Disabled(entry)
        } else if !entry.manifest().user_invocable() {
            Resolution::NotUserInvocable(entry)
        } else {
            Resolution::Selected(entry)
        }
    }
}

/// The first word of a name as people say it, or its first character where words are not separated.
fn first_word(said: &str) -> &str {
    let end = match said.chars().next() {
        Some(c) if !c.is_ascii() => c.len_utf8(),
        _ => said
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(said.len()),
    };
    &said[..end]
}
