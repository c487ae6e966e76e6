//! An index over the names of a catalog.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::{Catalog, Entry, InactiveEntry, name_similarity};

use super::input::{MentionOptions, UserInput};
use super::mention::{Mentions, Resolution};
use super::normalize::{confusable_skeleton, normalize_name};
use super::select;
use crate::paths::resolve_symlinks;
use crate::{ListingMode, ListingModes};

/// The minimum similarity of a suggested name, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;
/// The maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// Finds mentions of the skills of a catalog in user input.
///
/// Build one index per catalog. Finding then takes time in proportion to the input, independent of
/// the number of skills. A skill is never selected by similarity; see [`nearest`](Self::nearest)
/// for suggestions.
///
/// ```
/// use std::sync::Arc;
///
/// use skills_discovery::{Discovery, Root, Scope};
/// use skills_prompt::{MentionIndex, MentionOptions, UserInput};
///
/// # fn main() -> std::io::Result<()> {
/// # let directory = tempfile::tempdir()?;
/// # let root = directory.path().canonicalize()?;
/// # std::fs::create_dir(root.join("pdf"))?;
/// # std::fs::write(root.join("pdf/SKILL.md"), "---\nname: pdf\ndescription: d\n---\n")?;
/// let catalog = Discovery::new([Root::new(&root, Scope::Repo)]).scan();
/// let index = MentionIndex::new(Arc::new(catalog));
///
/// let input = [UserInput::Text("Please use the PDF skill.")];
/// let mentions = index.find(&input, &MentionOptions::default());
/// assert_eq!(mentions.selected[0].name().as_str(), "pdf");
///
/// let input = [UserInput::Text("Do not use the pdf skill.")];
/// let mentions = index.find(&input, &MentionOptions::default());
/// assert!(mentions.selected.is_empty());
/// assert_eq!(mentions.all[0].resolution.code(), "suggested");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MentionIndex {
    pub(super) catalog: Arc<Catalog>,
    by_name: HashMap<String, SameName>,
    by_directory: HashMap<PathBuf, EntryRef>,
    symlinks: HashMap<PathBuf, PathBuf>,
    disabled: HashSet<u32>,
    /// By the normalized name, which is how names are compared in phrases.
    by_spoken_name: HashMap<String, SameName>,
    /// By the skeleton of the name; names with the same skeleton look alike.
    by_skeleton: HashMap<String, Vec<u32>>,
    /// The first words of normalized names, or their first characters in scripts that do not
    /// separate words. Most words of a text start no name, which this set tells at once.
    first_words: HashSet<String>,
    max_spoken_bytes: usize,
}

/// The skills with one name, as indexes into the entries of the catalog.
#[derive(Debug, Clone, Default)]
struct SameName {
    active: Vec<u32>,
    /// Of several inactive skills, the first one gives the reason.
    inactive: Option<u32>,
}

/// An index into the active or the inactive entries of the catalog.
#[derive(Debug, Clone, Copy)]
enum EntryRef {
    Active(u32),
    Inactive(u32),
}

impl MentionIndex {
    /// Builds an index for `catalog`, with default listing modes.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self::with_modes(catalog, &ListingModes::default())
    }

    /// Builds an index for `catalog` with listing modes. A mention of a skill with the mode
    /// [`ListingMode::Off`] has no effect.
    #[must_use]
    pub fn with_modes(catalog: Arc<Catalog>, modes: &ListingModes) -> Self {
        let mut index = Self {
            by_name: HashMap::new(),
            by_directory: HashMap::new(),
            symlinks: catalog.symlinks().iter().cloned().collect(),
            disabled: HashSet::new(),
            by_spoken_name: HashMap::new(),
            by_skeleton: HashMap::new(),
            first_words: HashSet::new(),
            max_spoken_bytes: 0,
            catalog: Arc::clone(&catalog),
        };
        // Inactive skills are in the index as well, so that a mention can say why it has no effect.
        for (inactive, number) in catalog.inactive().iter().zip(0..) {
            index.add_inactive(inactive.entry(), number);
        }
        for (entry, number) in catalog.entries().iter().zip(0..) {
            index.add(entry, number);
            if modes.get(entry) == ListingMode::Off {
                index.disabled.insert(number);
            }
        }
        index
    }

    fn add_inactive(&mut self, entry: &Entry, number: u32) {
        for name in self.names_of(entry) {
            name.inactive.get_or_insert(number);
        }
        self.by_directory
            .insert(entry.directory().to_owned(), EntryRef::Inactive(number));
    }

    fn add(&mut self, entry: &Entry, number: u32) {
        for name in self.names_of(entry) {
            name.active.push(number);
        }
        self.by_directory
            .insert(entry.directory().to_owned(), EntryRef::Active(number));
        self.by_skeleton
            .entry(confusable_skeleton(entry.name().as_str()))
            .or_default()
            .push(number);
    }

    /// Returns the skills with the name of an entry: exactly that name, and the normalized one.
    fn names_of(&mut self, entry: &Entry) -> [&mut SameName; 2] {
        let name = entry.name().as_str();
        let normalized = normalize_name(name);
        self.first_words.insert(first_word(&normalized).to_owned());
        self.max_spoken_bytes = self.max_spoken_bytes.max(normalized.len());
        [
            self.by_name.entry(name.to_owned()).or_default(),
            self.by_spoken_name.entry(normalized).or_default(),
        ]
    }

    /// Finds the mentions in `inputs` and resolves them.
    ///
    /// Structured input is resolved first and settles its names for the texts.
    #[must_use]
    pub fn find(&self, inputs: &[UserInput<'_>], options: &MentionOptions) -> Mentions<'_> {
        select::select_mentions(self, inputs, options)
    }

    /// Returns the names most similar to `name`, best first, at most three.
    ///
    /// Compares with every name of the catalog, so it is meant for error messages.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let wanted = normalize_name(name);
        let mut scored: Vec<(f64, &str)> = self
            .by_spoken_name
            .iter()
            // Without this, Jaro-Winkler would find `pdf-tools` similar to `pdf`.
            .filter(|(candidate, _)| candidate.len().abs_diff(wanted.len()) <= wanted.len() / 2 + 2)
            .flat_map(|(candidate, same_name)| {
                let score = name_similarity(&wanted, candidate);
                let numbers = same_name.active.iter();
                numbers.map(move |number| (score, self.entry(*number).name().as_str()))
            })
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        // The iteration order of a hash map is random, so ties are sorted by name.
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

    /// Returns true if a name begins with the first word of this normalized text.
    pub(super) fn may_start_name(&self, normalized: &str) -> bool {
        self.first_words.contains(first_word(normalized))
    }

    /// Returns the length of the longest normalized name, in bytes.
    pub(super) fn max_spoken_bytes(&self) -> usize {
        self.max_spoken_bytes
    }

    /// Returns the active skills with exactly this name, and the inactive one.
    pub(super) fn with_name(&self, name: &str) -> (&[u32], Option<&InactiveEntry>) {
        self.split(self.by_name.get(name))
    }

    /// Returns the active skills with this normalized name, and the inactive one.
    pub(super) fn with_spoken_name(&self, normalized: &str) -> (&[u32], Option<&InactiveEntry>) {
        self.split(self.by_spoken_name.get(normalized))
    }

    fn split<'i>(&'i self, name: Option<&'i SameName>) -> (&'i [u32], Option<&'i InactiveEntry>) {
        name.map_or((&[], None), |name| {
            let inactive = name.inactive.map(|number| self.inactive(number));
            (&name.active, inactive)
        })
    }

    /// Returns the active skills whose names look like `name`.
    pub(super) fn with_skeleton(&self, name: &str) -> &[u32] {
        self.by_skeleton
            .get(&confusable_skeleton(name))
            .map_or(&[], Vec::as_slice)
    }

    /// Resolves the path of a `SKILL.md`, also through symlinks that the scan followed.
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

    /// Resolves the exact name of a skill.
    pub(super) fn resolve_exact_name(&self, name: &str) -> Resolution<'_> {
        match self.with_name(name) {
            ([number], _) => self.resolution(*number),
            ([], Some(inactive)) => Resolution::Inactive(inactive),
            ([], None) => Resolution::Unknown,
            (numbers, _) => self.ambiguous(numbers),
        }
    }

    fn entry_ref_at(&self, path: &Path) -> Option<EntryRef> {
        let entry_ref = *self.by_directory.get(path.parent()?)?;
        let entry = match entry_ref {
            EntryRef::Active(number) => self.entry(number),
            EntryRef::Inactive(number) => self.inactive(number).entry(),
        };
        // The path must be that of the `SKILL.md`, not of another file in the directory.
        (entry.location() == path).then_some(entry_ref)
    }

    /// Returns the resolution of a mention that can mean each of these skills.
    pub(super) fn ambiguous(&self, numbers: &[u32]) -> Resolution<'_> {
        Resolution::Ambiguous(numbers.iter().map(|number| self.entry(*number)).collect())
    }

    /// Returns the resolution of a mention that can only mean this skill.
    pub(super) fn resolution(&self, number: u32) -> Resolution<'_> {
        let entry = self.entry(number);
        // The user's mode is reported before a property of the skill, as it is easier to change.
        if self.disabled.contains(&number) {
            Resolution::Off(entry)
        } else if !entry.manifest().user_invocable() {
            Resolution::NotUserInvocable(entry)
        } else {
            Resolution::Selected(entry)
        }
    }
}

/// Returns the first word of a normalized name, or its first character in scripts that do not
/// separate words.
fn first_word(normalized: &str) -> &str {
    let end = match normalized.chars().next() {
        Some(c) if !c.is_ascii() => c.len_utf8(),
        _ => normalized
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(normalized.len()),
    };
    &normalized[..end]
}
