//! The catalog: the result of a scan.

#[cfg(feature = "fs")]
mod locked;
#[cfg(feature = "fs")]
mod resolve;
#[cfg(feature = "fs")]
mod scan_state;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[cfg(feature = "fs")]
pub(crate) use self::scan_state::WalkOutput;
use crate::{Entry, InactiveEntry, InactiveReason, Skipped};

/// The minimum similarity of two names, from 0 to 1, for one to be suggested instead of the other.
const MIN_SIMILARITY: f64 = 0.6;

/// The result of a scan: all skills that were found, and everything that was skipped.
///
/// A catalog is immutable. Entries are ordered by scope, name, then directory, and two scans of the
/// same files have equal results, whatever the order of the file system and the number of threads.
/// A catalog does not follow changes on disk; see [`Discovery::rescan`](crate::Discovery::rescan).
///
/// ```
/// use skills_discovery::{Discovery, Lookup, Root, Scope};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("pdf"))?;
/// # let text = "---\nname: pdf\ndescription: Reads PDF files.\n---\n";
/// # std::fs::write(directory.path().join("pdf/SKILL.md"), text)?;
/// let catalog = Discovery::new([Root::new(directory.path(), Scope::User)]).scan();
/// assert_eq!(catalog.entries().len(), 1);
/// assert!(matches!(catalog.find("pdf"), Lookup::Found(_)));
/// let Lookup::Unknown(similar) = catalog.find("pfd") else { panic!("`pfd` was found") };
/// assert_eq!(similar, ["pdf"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    inactive: Vec<InactiveEntry>,
    skipped: Vec<Skipped>,
    /// Symlinks and their targets.
    symlinks: Vec<(PathBuf, PathBuf)>,
    /// The path of each root as it was passed to the scan, and its canonical path, in the order of
    /// the configuration.
    roots: Vec<(PathBuf, PathBuf)>,
    #[cfg(feature = "fs")]
    scan: scan_state::ScanState,
}

/// The result of looking up a skill by name or path.
///
/// Only [`Found`](Self::Found) selects a skill. The other results have what a message needs: the
/// candidates, the reason, or similar names. Names are compared exactly, including case.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// Exactly one active skill matches.
    Found(&'a Entry),
    /// Several active skills have the name, in the order of the catalog; look one up by its
    /// directory.
    Ambiguous(Vec<&'a Entry>),
    /// No active skill matches, but an inactive one does.
    Inactive(&'a InactiveEntry),
    /// No skill matches. Contains the names of similar active skills, best first, at most three.
    Unknown(Vec<&'a str>),
}

impl Catalog {
    /// Returns the active skills, ordered by scope, name, then directory.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the skills that were found but are not in use: untrusted, disabled, for other
    /// products or shadowed. The order is that of [`entries`](Self::entries).
    #[must_use]
    pub fn inactive(&self) -> &[InactiveEntry] {
        &self.inactive
    }

    /// Returns what was skipped, ordered by path.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns all skills, active ones first.
    pub fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .chain(self.inactive.iter().map(InactiveEntry::entry))
    }

    /// Returns the symlinks that the scan followed, with their canonical targets. Roots whose path
    /// is not canonical are included.
    #[must_use]
    pub fn symlinks(&self) -> &[(PathBuf, PathBuf)] {
        &self.symlinks
    }

    /// Returns the directories that contain skills, as canonical paths: the roots, and what the
    /// symlinks lead to that the scan followed. Writing there changes skills.
    pub fn skill_directories(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().map(|(_, canonical)| canonical.as_path());
        roots.chain(self.symlinks.iter().map(|(_, target)| target.as_path()))
    }

    /// Returns the canonical path of the root that a skill was found in.
    #[must_use]
    pub fn root_of<'a>(&'a self, entry: &'a Entry) -> &'a Path {
        let root = self.roots.iter().find(|(path, _)| path == entry.root());
        root.map_or(entry.root(), |(_, canonical)| canonical)
    }

    /// Returns the canonical paths of the roots with at least one active skill, in the order of the
    /// configuration.
    #[must_use]
    pub fn used_roots(&self) -> Vec<&Path> {
        let used: HashSet<&Path> = self.entries.iter().map(Entry::root).collect();
        self.roots
            .iter()
            .filter(|(path, _)| used.contains(path.as_path()))
            .map(|(_, canonical)| canonical.as_path())
            .collect()
    }

    /// Finds a skill by its exact name, by the canonical path of its directory or `SKILL.md`, or by
    /// the name of its directory, if only one active skill is in a directory of this name.
    ///
    /// Names go before paths and directories, and active skills before inactive ones. A path also finds
    /// a skill that one of the same name hides.
    #[must_use]
    pub fn find(&self, name: &str) -> Lookup<'_> {
        match self.find_by_name(name) {
            Lookup::Unknown(nearest) => self
                .find_by_path(Path::new(name))
                .or_else(|| self.find_by_directory_name(name))
                .unwrap_or(Lookup::Unknown(nearest)),
            found => found,
        }
    }

    /// Finds a skill by its exact name only, for callers such as a model that must not learn
    /// whether a path exists.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Lookup<'_> {
        let active: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.name.as_str() == name)
            .collect();
        match active.as_slice() {
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
            _ => Lookup::Ambiguous(active),
        }
    }

    fn find_by_path(&self, path: &Path) -> Option<Lookup<'_>> {
        let active = self
            .entries
            .iter()
            .find(|entry| entry.is_located_at(path))
            .map(Lookup::Found);
        active.or_else(|| {
            self.inactive
                .iter()
                .find(|inactive| inactive.entry.is_located_at(path))
                .map(|inactive| match inactive.reason() {
                    // Its name is that of another skill, but its path is its own.
                    InactiveReason::Shadowed { .. } => Lookup::Found(&inactive.entry),
                    _ => Lookup::Inactive(inactive),
                })
        })
    }

    /// Finds a skill whose name differs from that of its directory.
    fn find_by_directory_name(&self, name: &str) -> Option<Lookup<'_>> {
        let is_in = |entry: &&Entry| {
            let directory = entry.directory().file_name();
            directory.is_some_and(|directory| directory == name)
        };
        let mut found = self.entries.iter().filter(is_in);
        match (found.next(), found.next()) {
            (Some(only), None) => Some(Lookup::Found(only)),
            _ => None,
        }
    }

    fn nearest_names(&self, name: &str) -> Vec<&str> {
        // A wrong case is a likely mistake, but the lookup itself stays exact.
        let wanted = name.to_lowercase();
        let mut scored: Vec<(f64, &str)> = self
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .map(|candidate| {
                (
                    name_similarity(&wanted, &candidate.to_lowercase()),
                    candidate,
                )
            })
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        // Several skills may have the same name; equal names have equal scores, so they are
        // adjacent.
        scored.dedup_by_key(|(_, candidate)| *candidate);
        scored
            .into_iter()
            .take(3)
            .map(|(_, candidate)| candidate)
            .collect()
    }
}

/// Returns the similarity of two names, from 0 to 1: the higher of two measures. Jaro-Winkler favors
/// common prefixes, and Damerau-Levenshtein tolerates swapped letters in short names.
#[must_use]
pub fn name_similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b))
}
