//! The catalog: the result of a scan.

mod locked;
mod resolve;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use self::resolve::LockCheck;
use crate::file_stamp::ScanStart;
use crate::locked_content::SharedDigests;
use crate::openai_file::OPENAI_FILE;
use crate::stamp_set::is_stamp_current;
use crate::unread_skills::UnreadSkills;
use crate::{
    CatalogSummary, Discovery, Entry, FileStamp, InactiveEntry, Root, Skipped, StampSet, parallel,
};

/// The minimum similarity of two names, from 0 to 1, for one to be suggested instead of the other.
const MIN_SIMILARITY: f64 = 0.6;

/// The result of a scan: all skills that were found, and everything that was skipped.
///
/// A catalog is immutable. Entries are ordered by scope, name, then directory, and two scans of the
/// same files have equal results, whatever the order of the file system and the number of threads.
/// A catalog does not follow changes on disk; see [`Discovery::rescan`].
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
    /// The stamps of what the scan read other than skill files: listed directories, plugin
    /// manifests, missing roots.
    stamps: StampSet,
    /// Symlinks and their targets.
    symlinks: Vec<(PathBuf, PathBuf)>,
    /// The path of each root as it was passed to the scan, and its canonical path, in the order of
    /// the configuration.
    roots: Vec<(PathBuf, PathBuf)>,
    /// The skill files that the scan did not read, found on the first access.
    unread: OnceLock<UnreadSkills>,
    /// The digests of the files of locked skills, for the next scan.
    digests: SharedDigests,
    /// The configuration of the scan; `None` for an empty catalog that no scan made.
    settings: Option<Arc<Discovery>>,
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

/// The collected results of walking all roots, in the order of the walk.
#[derive(Default)]
pub(crate) struct WalkOutput {
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) stamps: StampSet,
    /// The symlinks that were followed, including roots, with their canonical targets.
    pub(crate) symlinks: Vec<(PathBuf, PathBuf)>,
}

impl Catalog {
    pub(crate) fn new(
        output: WalkOutput,
        discovery: &Discovery,
        digests: SharedDigests,
        scan_start: ScanStart,
    ) -> Self {
        let WalkOutput {
            entries,
            mut skipped,
            mut stamps,
            symlinks,
        } = output;
        let canonical = |root: &Root| {
            symlinks
                .iter()
                .find(|(from, _)| from == root.path())
                .map_or(root.path(), |(_, to)| to)
                .to_owned()
        };
        let roots = discovery.roots().iter();
        let trusted_roots: Vec<PathBuf> = roots
            .filter(|root| root.is_trusted())
            .map(canonical)
            .collect();
        let (mut entries, mut inactive) = resolve::resolve_active(
            entries,
            discovery,
            &LockCheck {
                digests: &digests,
                scan_start,
                roots: &trusted_roots,
            },
            &mut stamps,
            &mut skipped,
        );
        // Sorted only after precedence, which needs the order of the roots.
        entries.sort_by(compare_entries);
        inactive.sort_by(|a, b| compare_entries(&a.entry, &b.entry));
        resolve::add_name_warnings(&mut entries);
        // The walk is breadth-first and root by root; users look for a path.
        skipped.sort_by(|a, b| (a.path(), a.reason().code()).cmp(&(b.path(), b.reason().code())));
        // Roots may overlap, and then each reports the same path.
        skipped.dedup_by(|a, b| a.path() == b.path() && a.reason().code() == b.reason().code());
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
            symlinks,
            roots,
            unread: OnceLock::new(),
            digests,
            settings: Some(Arc::new(discovery.clone())),
        }
    }

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

    /// Returns the skill files that the scan did not read because it did not search their
    /// directories: below other skills, in hidden directories and beyond the depth; and those in
    /// another spelling beside a `SKILL.md`. Ordered by path.
    ///
    /// The first call lists those directories, which a scan avoids, within the limits of their
    /// roots; a limit that is reached is part of the result. From then on a change of these
    /// directories makes the catalog outdated.
    #[must_use]
    pub fn unread_skills(&self) -> &[Skipped] {
        &self.unread.get_or_init(|| UnreadSkills::find(self)).found
    }

    /// Returns the digests of the files of locked skills.
    pub(crate) fn shared_digests(&self) -> SharedDigests {
        Arc::clone(&self.digests)
    }

    /// Returns the configuration of the scan; `None` for an empty catalog that no scan made.
    pub(crate) fn settings(&self) -> Option<&Discovery> {
        self.settings.as_deref()
    }

    /// Returns how many skills were read, rejected and not searched for, and why. The first call
    /// looks for [`unread_skills`](Self::unread_skills).
    #[must_use]
    pub fn summary(&self) -> CatalogSummary {
        CatalogSummary::new(self)
    }

    /// Returns all skills, active ones first.
    pub fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .chain(self.inactive.iter().map(InactiveEntry::entry))
    }

    /// Returns true if nothing changed since the scan, so that a new one would have the same
    /// result. Reads the metadata of what the scan read, and of all files of locked skills, on up to
    /// `threads` threads, but no content. Files with stamps from the clock tick of the scan count as changed.
    #[must_use]
    pub fn is_current(&self, threads: usize) -> bool {
        // The stamps of directories do not show that a symlink in a parent was replaced.
        let are_symlinks_current = || {
            self.symlinks
                .iter()
                .all(|(path, target)| path.canonicalize().is_ok_and(|now| now == *target))
        };
        let is_unread_current = || {
            let unread = self.unread.get();
            unread.is_none_or(|unread| unread.stamps.is_current_on(threads))
        };
        if !self.stamps.is_current_on(threads) || !are_symlinks_current() || !is_unread_current() {
            return false;
        }
        let entries: Vec<&Entry> = self.all_entries().collect();
        parallel::map(&entries, threads, |entry| is_entry_current(entry))
            .all(|is_current| is_current)
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

    /// Returns true if both catalogs have the same skills, from files that did not change, and have
    /// skipped the same paths.
    #[cfg(feature = "watch")]
    pub(crate) fn is_same(&self, newer: &Self) -> bool {
        let inactive = |catalog: &Self| -> Vec<(PathBuf, &'static str)> {
            let inactive = catalog.inactive.iter();
            let inactive = inactive.map(|one| (one.entry.location(), one.reason.code()));
            let skipped = catalog.skipped.iter();
            let skipped = skipped.map(|one| (one.path().to_owned(), one.reason().code()));
            inactive.chain(skipped).collect()
        };
        self.entries.len() == newer.entries.len()
            && self
                .entries
                .iter()
                .zip(&newer.entries)
                .all(|(old, new)| old.is_same(new))
            && inactive(self) == inactive(newer)
    }

    /// Returns true if the catalog is the result of a scan with these settings.
    pub(crate) fn was_scanned_with(&self, discovery: &Discovery) -> bool {
        self.settings
            .as_deref()
            .is_some_and(|settings| settings.has_same_settings(discovery))
    }

    /// Finds a skill by its exact name, by the canonical path of its directory or `SKILL.md`, or by
    /// the name of its directory, if only one active skill is in a directory of this name.
    ///
    /// Names go before paths and directories, and active skills before inactive ones.
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
                .map(Lookup::Inactive)
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

fn is_entry_current(entry: &Entry) -> bool {
    // One buffer for both paths: this runs for each skill before each call.
    let mut path =
        PathBuf::with_capacity(entry.directory().as_os_str().len() + OPENAI_FILE.len() + 1);
    path.push(entry.directory());
    path.push(entry.file_name());
    if !entry.stamp.is_unchanged(FileStamp::from_path(&path)) {
        return false;
    }
    if entry
        .locked
        .as_ref()
        .is_some_and(|locked| !locked.is_current())
    {
        return false;
    }
    // If no caller has read `agents/openai.yaml`, the first access will read its current content.
    let Some(openai) = entry.metadata.loaded_openai() else {
        return true;
    };
    path.pop();
    path.push(OPENAI_FILE);
    is_stamp_current(&path, openai.stamp)
}

fn compare_entries(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    // The directory makes the order total, so that it does not depend on the file system.
    (a.scope, &a.name, &a.directory).cmp(&(b.scope, &b.name, &b.directory))
}

/// Returns the similarity of two names, from 0 to 1: the higher of two measures. Jaro-Winkler favors
/// common prefixes, and Damerau-Levenshtein tolerates swapped letters in short names.
#[must_use]
pub fn name_similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b))
}
