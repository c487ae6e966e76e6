//! What a scan found.

mod resolve;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Discovery, Entry, FileStamp, InactiveEntry, Root, ScanStamps, Skipped};

/// How alike two names must be, from 0 to 1, for one to be offered instead of the other.
const MIN_SIMILARITY: f64 = 0.6;

/// The skills that were found, and everything that was passed over.
///
/// Entries are ordered by scope, name, then directory; two scans of the same files give the same
/// catalogue.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    inactive: Vec<InactiveEntry>,
    skipped: Vec<Skipped>,
    stamps: Vec<(PathBuf, Option<FileStamp>)>,
    symlinks: Vec<(PathBuf, PathBuf)>,
    /// The roots as they were given and where they are, in the order in which they were looked
    /// through.
    roots: Vec<(PathBuf, PathBuf)>,
    settings: Option<Arc<Discovery>>,
}

/// What several skills of one name mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precedence {
    /// All are used, and naming one needs its directory (Codex).
    KeepAll,
    /// The one of the first root is used and hides the others (most clients).
    FirstRoot,
    /// The one of the last root is used and hides the others.
    LastRoot,
}

/// The answer to a name.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// One skill has the name.
    Found(&'a Entry),
    /// Several have it, and none is chosen: ask by directory.
    Ambiguous(Vec<&'a Entry>),
    /// A skill has the name and is not used.
    Inactive(&'a InactiveEntry),
    /// None has it; the nearest names, best first, at most three.
    Unknown(Vec<&'a str>),
}

/// What the walk brings together.
#[derive(Default)]
pub(crate) struct WalkOutput {
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) stamps: Vec<(PathBuf, Option<FileStamp>)>,
    /// Paths that lead elsewhere, and where: roots as they were given, and the symlinks that were
    /// followed.
    pub(crate) symlinks: Vec<(PathBuf, PathBuf)>,
}

impl Catalog {
    pub(crate) fn new(found: WalkOutput, discovery: &Discovery) -> Self {
        let WalkOutput {
            entries,
            mut skipped,
            stamps,
            symlinks: links,
        } = found;
        let (mut entries, mut inactive) = resolve::resolve_active(entries, discovery);
        entries.sort_by(compare_entries);
        inactive.sort_by(|a, b| compare_entries(&a.entry, &b.entry));
        resolve::add_name_warnings(&mut entries);
        skipped.sort_by(|a, b| (a.path(), a.reason().code()).cmp(&(b.path(), b.reason().code())));
        // Roots that overlap see the same.
        skipped.dedup_by(|a, b| a.path() == b.path() && a.reason().code() == b.reason().code());
        let canonical = |root: &Root| {
            links
                .iter()
                .find(|(from, _)| from == root.path())
                .map_or(root.path(), |(_, to)| to)
                .to_owned()
        };
        let roots = discovery
            .roots()
            .iter()
            .map(|root| (root.path().to_owned(), canonical(root)))
            .collect();
        Self {
            entries,
            inactive,
            skipped,
            stamps,
            symlinks: links,
            roots,
            settings: Some(Arc::new(discovery.clone())),
        }
    }

    /// Returns the skills that are used, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the skills that were found and are not used: untrusted, disabled, for other
    /// products, shadowed.
    #[must_use]
    pub fn inactive(&self) -> &[InactiveEntry] {
        &self.inactive
    }

    /// Returns what was passed over, ordered by path.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns all skills, those that are used first.
    pub fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .chain(self.inactive.iter().map(InactiveEntry::entry))
    }

    /// Returns how the files looked that this catalogue was made of.
    #[must_use]
    pub fn scan_stamps(&self) -> ScanStamps<'_> {
        ScanStamps::new(self, &self.stamps, &self.symlinks)
    }

    /// Returns the paths that lead to others, and where they lead: roots as they were given, and
    /// the symlinks that were followed.
    #[must_use]
    pub fn symlinks(&self) -> &[(PathBuf, PathBuf)] {
        &self.symlinks
    }

    /// Returns the canonical path of the root that a skill was found in.
    #[must_use]
    pub fn root_of<'a>(&'a self, entry: &'a Entry) -> &'a Path {
        let root = self.roots.iter().find(|(given, _)| given == entry.root());
        root.map_or(entry.root(), |(_, canonical)| canonical)
    }

    /// Returns the canonical paths of the roots that led to skills that are used, in the order in
    /// which they were looked through.
    #[must_use]
    pub fn used_roots(&self) -> Vec<&Path> {
        let used: HashSet<&Path> = self.entries.iter().map(Entry::root).collect();
        self.roots
            .iter()
            .filter(|(given, _)| used.contains(given.as_path()))
            .map(|(_, canonical)| canonical.as_path())
            .collect()
    }

    /// Whether the catalogue was made with these settings.
    pub(crate) fn was_scanned_with(&self, discovery: &Discovery) -> bool {
        self.settings
            .as_deref()
            .is_some_and(|settings| settings.has_same_settings(discovery))
    }

    /// Looks a skill up by its exact name, or by the path of its directory or `SKILL.md`.
    #[must_use]
    pub fn find(&self, name: &str) -> Lookup<'_> {
        let path = Path::new(name);
        match self.find_by_name(name) {
            Lookup::Unknown(nearest) => {
                let used = self
                    .entries
                    .iter()
                    .find(|entry| is_located_at(entry, path))
                    .map(Lookup::Found);
                let inactive = || {
                    self.inactive
                        .iter()
                        .find(|inactive| is_located_at(&inactive.entry, path))
                        .map(Lookup::Inactive)
                };
                used.or_else(inactive).unwrap_or(Lookup::Unknown(nearest))
            }
            found => found,
        }
    }

    /// Looks a skill up by its exact name alone, as whoever may not know where skills lie does.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Lookup<'_> {
        let named: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.name.as_str() == name)
            .collect();
        match named.as_slice() {
            [entry] => Lookup::Found(entry),
            [] => {
                let inactive = self
                    .inactive
                    .iter()
                    .find(|inactive| inactive.entry.name.as_str() == name);
                inactive.map_or_else(
                    || Lookup::Unknown(self.nearest_names(name)),
                    Lookup::Inactive,
                )
            }
            _ => Lookup::Ambiguous(named),
        }
    }

    fn nearest_names(&self, name: &str) -> Vec<&str> {
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
        scored
            .into_iter()
            .take(3)
            .map(|(_, candidate)| candidate)
            .collect()
    }
}

fn is_located_at(entry: &Entry, path: &Path) -> bool {
    *entry.directory == *path
        || path
            .parent()
            .is_some_and(|parent| *entry.directory == *parent)
            && path == entry.location()
}

fn compare_entries(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    (a.scope, &a.name, &a.directory).cmp(&(b.scope, &b.name, &b.directory))
}

/// The better of two measures: one likes common beginnings, the other forgives swapped letters in
/// short names.
fn similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b))
}
