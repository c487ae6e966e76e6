//! Finds skill files that a scan does not read, so that their absence can be explained.
//!
//! A scan neither opens nor lists the directory of a skill, which is why it is fast. Only a caller
//! that reports what is missing pays for looking there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use cap_std::fs::Dir;

use crate::file_stamp::{FileStamp, ScanStart};
use crate::open::open_canonical;
use crate::parallel;
use crate::read_dir::is_never_searched;
use crate::read_dir::{DirEntry, for_each_entry};
use crate::{Catalog, Entry, Root, SKILL_FILE, ScanLimits, SkipReason, Skipped, StampSet};

/// Maximum depth below a directory that the scan did not search: each level keeps a directory open.
const MAX_DEPTH: usize = 64;

/// The skill files that a scan did not read, ordered by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnreadSkills {
    pub(crate) found: Vec<Skipped>,
    /// The stamps of the directories that were listed.
    pub(crate) stamps: StampSet,
}

impl UnreadSkills {
    /// Finds the skill files that the scan of a catalog did not read.
    pub(crate) fn find(catalog: &Catalog) -> Self {
        let Some(settings) = catalog.settings() else {
            return Self::default();
        };
        let mut search = Search::new(largest_limits(settings.roots(), &settings.limits));
        search.below_roots(catalog, settings.roots(), settings.thread_count());
        let Search {
            mut found, stamps, ..
        } = search;
        found.sort_by(|a, b| a.path().cmp(b.path()));
        found.dedup_by(|a, b| a.path() == b.path());
        Self { found, stamps }
    }
}

/// Returns the limits of the root that may list the most entries.
fn largest_limits<'a>(roots: &'a [Root], default: &'a ScanLimits) -> &'a ScanLimits {
    roots
        .iter()
        .map(|root| root.limits_or(default))
        .max_by_key(|limits| limits.max_entries)
        .unwrap_or(default)
}

struct Search {
    found: Vec<Skipped>,
    stamps: StampSet,
    scan_start: ScanStart,
    /// The maximum number of directory entries to list.
    limit: usize,
    /// The number of directory entries that may still be listed.
    left: usize,
}

impl Search {
    fn new(limits: &ScanLimits) -> Self {
        Self {
            found: Vec::new(),
            stamps: StampSet::default(),
            scan_start: ScanStart::now(),
            limit: limits.max_entries,
            left: limits.max_entries,
        }
    }

    /// Searches all directories that the scan of a catalog did not.
    fn below_roots(&mut self, catalog: &Catalog, roots: &[Root], threads: usize) {
        let canonical = |root: &Root| root.path().canonicalize().ok();
        let nested_roots: Vec<PathBuf> = roots
            .iter()
            .filter(|root| root.searches_nested())
            .filter_map(canonical)
            .collect();
        let root_directories: HashSet<PathBuf> = roots.iter().filter_map(canonical).collect();
        // The scan has listed these directories, and searched below them.
        let was_searched = |directory: &Path| {
            root_directories.contains(directory)
                || nested_roots.iter().any(|root| directory.starts_with(root))
        };
        let is_skill =
            |entry: &&Entry| entry.file_name() == SKILL_FILE && !was_searched(entry.directory());
        let skills: Vec<&Entry> = catalog.all_entries().filter(is_skill).collect();
        let scan_start = self.scan_start;
        let left = AtomicUsize::new(self.left);
        let listings = parallel::map(&skills, threads, |entry| {
            SkillListing::read(entry.directory(), scan_start, &left)
        });
        for (entry, listing) in skills.iter().zip(listings) {
            self.below_skill(entry.directory(), listing);
        }
        for skipped in catalog.skipped() {
            let path = skipped.path();
            match skipped.reason() {
                SkipReason::Unreadable(_) | SkipReason::BrokenSymlink
                    if path.ends_with(SKILL_FILE) =>
                {
                    let directory = path.parent().unwrap_or(path);
                    if !was_searched(directory) {
                        self.list_and_search_skill(directory);
                    }
                }
                SkipReason::InvalidName if !was_searched(path) => {
                    self.list_and_search_skill(path);
                }
                SkipReason::Hidden => self.below_hidden(path),
                SkipReason::TooDeep { limit } => {
                    let limit = *limit;
                    self.below(path, &mut |_| SkipReason::TooDeep { limit });
                }
                _ => {}
            }
        }
    }

    fn list_and_search_skill(&mut self, directory: &Path) {
        let left = AtomicUsize::new(self.left);
        let listing = SkillListing::read(directory, self.scan_start, &left);
        self.below_skill(directory, listing);
    }

    fn below_skill(&mut self, directory: &Path, listing: Option<SkillListing>) {
        let Some(listing) = listing.filter(|_| self.left > 0) else {
            return;
        };
        self.stamps.push(directory, listing.stamp);
        self.count(listing.listed, directory);
        for name in listing.other_skill_files {
            let path = directory.join(name);
            self.found
                .push(Skipped::new(path, SkipReason::DuplicateSkillFile));
        }
        // Opened again: the handles of all skills would be too many.
        if listing.directories.is_empty() {
            return;
        }
        let Ok(handle) = open_canonical(directory) else {
            return;
        };
        let mut reason = |path: &Path| match hidden_reason(path, directory) {
            Some(reason) => reason,
            None => SkipReason::Nested {
                parent: directory.to_owned(),
            },
        };
        for entry in listing.directories {
            self.enter(&handle, directory, &entry, 1, &mut reason);
        }
    }

    /// Takes listed entries from the limit, and reports the directory that exceeds it.
    fn count(&mut self, listed: usize, directory: &Path) {
        self.left = self.left.saturating_sub(listed);
        if self.left == 0 {
            let limit = self.limit;
            let reason = SkipReason::TooManyEntries { limit };
            self.found.push(Skipped::new(directory, reason));
        }
    }

    fn below_hidden(&mut self, directory: &Path) {
        let name = directory.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| !is_never_searched(name)) {
            self.below(directory, &mut |_| SkipReason::InHiddenDirectory);
        }
    }

    /// Adds the skill files in and below a directory that was not searched at all.
    fn below(&mut self, directory: &Path, reason: &mut dyn FnMut(&Path) -> SkipReason) {
        if let Ok(handle) = open_canonical(directory) {
            self.visit(&handle, directory, 0, reason);
        }
    }

    fn visit(
        &mut self,
        handle: &Dir,
        directory: &Path,
        depth: usize,
        reason: &mut dyn FnMut(&Path) -> SkipReason,
    ) {
        let entries = self.list(handle, directory);
        if entries.iter().any(|entry| entry.name == SKILL_FILE) {
            let path = directory.join(SKILL_FILE);
            let reason = reason(&path);
            self.found.push(Skipped::new(path, reason));
        }
        for entry in entries.iter().filter(|entry| entry.is_directory) {
            self.enter(handle, directory, entry, depth + 1, reason);
        }
    }

    fn enter(
        &mut self,
        handle: &Dir,
        directory: &Path,
        entry: &DirEntry,
        depth: usize,
        reason: &mut dyn FnMut(&Path) -> SkipReason,
    ) {
        let is_searched = entry
            .name
            .to_str()
            .is_some_and(|name| name != "node_modules" && !is_never_searched(name));
        if !is_searched || depth > MAX_DEPTH {
            return;
        }
        if let Ok(below) = handle.open_dir(&entry.name) {
            self.visit(&below, &directory.join(&entry.name), depth, reason);
        }
    }

    /// Returns the entries of a directory, as many as the budget allows; none if it cannot be read.
    fn list(&mut self, handle: &Dir, directory: &Path) -> Vec<DirEntry> {
        let mut entries = Vec::new();
        if self.left == 0 {
            return entries;
        }
        self.stamps.add_at(directory, self.scan_start);
        // A directory that cannot be listed hides nothing that a scan could read.
        let left = self.left;
        let _ = for_each_entry(handle, &mut |entry| {
            entries.push(entry);
            continue_if(entries.len() < left)
        });
        self.count(entries.len(), directory);
        entries
    }
}

/// What is in the directory of a skill and may be or contain a skill file that the scan did not
/// read.
struct SkillListing {
    stamp: Option<FileStamp>,
    /// The number of entries that were listed.
    listed: usize,
    directories: Vec<DirEntry>,
    /// Names that differ from that of the skill file in case.
    other_skill_files: Vec<OsString>,
}

impl SkillListing {
    /// Lists at most `left` entries, which threads share. `None` if the directory cannot be opened, or
    /// none are left.
    fn read(directory: &Path, scan_start: ScanStart, left: &AtomicUsize) -> Option<Self> {
        let take_one = |left: usize| left.checked_sub(1);
        if left.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let handle = open_canonical(directory).ok()?;
        let stamp = FileStamp::from_path(directory);
        let mut listing = Self {
            stamp: stamp.map(|stamp| stamp.with_scan_start(scan_start)),
            listed: 0,
            directories: Vec::new(),
            other_skill_files: Vec::new(),
        };
        let mut has_skill_file = false;
        // A directory that cannot be listed hides nothing that a scan could read.
        let _ = for_each_entry(&handle, &mut |entry| {
            listing.listed += 1;
            if entry.is_directory {
                listing.directories.push(entry);
            } else if entry.name == SKILL_FILE {
                has_skill_file = true;
            } else if entry.name.eq_ignore_ascii_case(SKILL_FILE) {
                listing.other_skill_files.push(entry.name);
            }
            continue_if(
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one)
                    .is_ok_and(|before| before > 1),
            )
        });
        if !has_skill_file {
            listing.other_skill_files.clear();
        }
        Some(listing)
    }
}

fn continue_if(condition: bool) -> ControlFlow<()> {
    if condition {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

fn hidden_reason(path: &Path, base: &Path) -> Option<SkipReason> {
    let below = path.strip_prefix(base).ok()?;
    below
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        .then_some(SkipReason::InHiddenDirectory)
}
