//! Finds skill files that a scan does not read, so that their absence can be explained.
//!
//! A scan neither opens nor lists the directory of a skill, which is why it is fast. Only a caller
//! that reports what is missing pays for looking there.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use cap_std::fs::Dir;

use crate::file_stamp::{FileStamp, ScanStart};
use crate::open::{open_canonical, open_listed_dir};
use crate::parallel;
use crate::read_dir::is_never_searched;
use crate::read_dir::{DirEntry, for_each_entry};
use crate::thread_count::ThreadCount;
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
        search.below_roots(catalog, settings.roots(), settings.threads);
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
    /// The number of directory entries that may still be listed, by all threads.
    left: AtomicUsize,
    is_limit_reported: bool,
}

impl Search {
    fn new(limits: &ScanLimits) -> Self {
        Self {
            found: Vec::new(),
            stamps: StampSet::default(),
            scan_start: ScanStart::now(),
            limit: limits.max_entries,
            left: AtomicUsize::new(limits.max_entries),
            is_limit_reported: false,
        }
    }

    /// Searches all directories that the scan of a catalog did not.
    fn below_roots(&mut self, catalog: &Catalog, roots: &[Root], threads: ThreadCount) {
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
        let skills: Vec<&Entry> = catalog
            .all_entries()
            .filter(|entry| entry.has_directory() && !was_searched(entry.directory()))
            .collect();
        let list = |entry: &&Entry| self.list_skill(entry.directory());
        let listings: Vec<_> = parallel::map(&skills, threads, list).collect();
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
                        self.below_skill(directory, self.list_skill(directory));
                    }
                }
                SkipReason::InvalidName if !was_searched(path) => {
                    self.below_skill(path, self.list_skill(path));
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

    /// Lists the directory of a skill. `None` if it cannot be opened.
    fn list_skill(&self, directory: &Path) -> Option<Listing> {
        let handle = open_canonical(directory).ok()?;
        self.list(&handle)
    }

    fn below_skill(&mut self, directory: &Path, listing: Option<Listing>) {
        let entries = self.record(directory, listing);
        let has_skill_file = entries.iter().any(|entry| entry.name == SKILL_FILE);
        let (directories, files): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.is_directory);
        for file in files.iter().filter(|file| file.name != SKILL_FILE) {
            if has_skill_file {
                let path = directory.join(&file.name);
                self.found
                    .push(Skipped::new(path, SkipReason::DuplicateSkillFile));
            }
        }
        if directories.is_empty() {
            return;
        }
        // Opened again: the handles of all skills would be too many.
        let Ok(handle) = open_canonical(directory) else {
            return;
        };
        let mut reason = |path: &Path| match hidden_reason(path, directory) {
            Some(reason) => reason,
            None => SkipReason::Nested {
                parent: directory.to_owned(),
            },
        };
        for entry in directories {
            self.enter(&handle, directory, &entry, 1, &mut reason);
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
        let listing = self.list(handle);
        let entries = self.record(directory, listing);
        if let Some(name) = skill_file_name(&entries) {
            let path = directory.join(name);
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
        if let Ok(below) = open_listed_dir(handle, Path::new(&entry.name)) {
            self.visit(&below, &directory.join(&entry.name), depth, reason);
        }
    }

    /// Lists what may be or contain a skill file in a directory, as far as the limit allows. `None`
    /// if the limit was reached before.
    fn list(&self, handle: &Dir) -> Option<Listing> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let stamp = FileStamp::from_directory(handle, self.scan_start);
        let take_one = |left: usize| left.checked_sub(1);
        let mut entries = Vec::new();
        // A directory that cannot be listed hides nothing that a scan could read.
        let _ = for_each_entry(handle, &mut |entry| {
            if entry.is_directory || entry.name.eq_ignore_ascii_case(SKILL_FILE) {
                entries.push(entry.to_owned());
            }
            match self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one)
            {
                Ok(2..) => ControlFlow::Continue(()),
                Ok(_) | Err(_) => ControlFlow::Break(()),
            }
        });
        Some(Listing {
            entries,
            stamp,
            has_reached_limit: self.left.load(Ordering::Relaxed) == 0,
        })
    }

    /// Records that a directory was listed, and returns its entries.
    fn record(&mut self, directory: &Path, listing: Option<Listing>) -> Vec<DirEntry> {
        let Some(listing) = listing else {
            return Vec::new();
        };
        self.stamps.push(directory, listing.stamp);
        if listing.has_reached_limit && !self.is_limit_reported {
            self.is_limit_reported = true;
            let limit = self.limit;
            let reason = SkipReason::TooManyEntries { limit };
            self.found.push(Skipped::new(directory, reason));
        }
        listing.entries
    }
}

struct Listing {
    entries: Vec<DirEntry>,
    stamp: Option<FileStamp>,
    has_reached_limit: bool,
}

/// Returns the name of the file that a scan would read as the skill file of a directory.
fn skill_file_name(entries: &[DirEntry]) -> Option<&OsStr> {
    let files = || entries.iter().filter(|entry| !entry.is_directory);
    let standard = files().find(|entry| entry.name == SKILL_FILE);
    let misspelled = || {
        files()
            .filter(|entry| entry.name.eq_ignore_ascii_case(SKILL_FILE))
            .min_by(|a, b| a.name.cmp(&b.name))
    };
    Some(&standard.or_else(misspelled)?.name)
}

fn hidden_reason(path: &Path, base: &Path) -> Option<SkipReason> {
    let below = path.strip_prefix(base).ok()?;
    below
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        .then_some(SkipReason::InHiddenDirectory)
}
