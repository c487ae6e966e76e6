//! Visits one directory of a walk: its skill file and its entries.

mod skill_file;

use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use cap_std::fs::Dir;

use crate::error::{DiscoveryError, DiscoveryErrorKind};
use crate::file_stamp::ScanStart;
use crate::namespace::PluginNamespaces;
use crate::pending_dir::PendingDir;
use crate::read_dir::{DirEntry, for_each_entry};
use crate::skill_location::SkillLocation;
use crate::{
    Entry, EntryWarning, FileStamp, Root, SKILL_FILE, ScanLimits, SearchDepth, SkipReason, Skipped,
    StampSet,
};
use skill_file::{OpenedSkillFile, qualify_name, read_metadata};
pub(crate) use skill_file::{parse_file, resolve_name};

/// A root is listed up to this multiple of the entry limit, so that its first entries by name can
/// be found.
const ROOT_OVERSCAN: usize = 50;

thread_local! {
    /// The own handle of the root of a thread that a walk has started.
    static HANDLE: RefCell<Option<Dir>> = const { RefCell::new(None) };
}

/// Visits directories of one root. Shared by all threads of a walk.
pub(crate) struct Visitor<'a> {
    pub(crate) root: &'a Root,
    pub(crate) root_path: Arc<Path>,
    /// The path of the root without symlinks.
    pub(crate) canonical_root: PathBuf,
    pub(crate) limits: &'a ScanLimits,
    pub(crate) scan_start: ScanStart,
    /// The thread of the walk, which uses the handle of the root itself.
    pub(crate) thread: ThreadId,
    pub(crate) namespaces: PluginNamespaces<'a>,
    /// Returns the entry that an earlier scan found in a directory, if it can be reused.
    pub(crate) previous: &'a (dyn Fn(&Path) -> Option<&'a Entry> + Sync),
}

/// Whether a visit may list the entries of its directory.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Listing {
    Allowed,
    /// The entry limit of the root is exhausted: only the skill file is read.
    SkillFileOnly,
}

#[derive(Default)]
pub(crate) struct VisitResult {
    pub(crate) entry: Option<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    /// The subdirectories and symlinks, by name; empty if the directory was not listed.
    pub(crate) children: Vec<Child>,
    /// The number of entries that were listed; greater than the limit if listing stopped there.
    pub(crate) listed_entries: usize,
    /// The stamps that must be unchanged for another visit to have the same result.
    pub(crate) stamps: StampSet,
}

impl VisitResult {
    fn skip(&mut self, path: impl Into<PathBuf>, reason: SkipReason) {
        self.skipped.push(Skipped::new(path, reason));
    }
}

/// A subdirectory or symlink of a visited directory.
pub(crate) struct Child {
    pub(crate) name: OsString,
    pub(crate) is_symlink: bool,
}

/// Whether a directory has a skill file, valid or not.
#[derive(PartialEq)]
enum SkillPresence {
    Present,
    Absent,
}

impl Visitor<'_> {
    /// Visits a directory. Errors are part of the result.
    pub(crate) fn visit(&self, dir: &PendingDir, listing: Listing) -> VisitResult {
        let mut result = VisitResult::default();
        if let Err(error) = self.try_visit(dir, listing, &mut result) {
            result.stamps.add_at(&*dir.canonical_path, self.scan_start);
            result.skip(&*dir.canonical_path, SkipReason::unreadable(error));
        }
        result
    }

    fn try_visit(
        &self,
        dir: &PendingDir,
        listing: Listing,
        result: &mut VisitResult,
    ) -> Result<(), DiscoveryError> {
        let may_be_skill = dir.depth > 0 || self.root.depth != SearchDepth::Children;
        // Nearly every skill file is named `SKILL.md`. Opening that name first means that the
        // directory of a skill need not be opened or listed at all.
        let presence = if may_be_skill {
            self.load_skill_file(dir, None, SKILL_FILE, result)
        } else {
            SkillPresence::Absent
        };
        if !self.searches_below(dir, &presence) || listing == Listing::SkillFileOnly {
            return Ok(());
        }
        let handle = dir.open()?;
        // The stamp is that of the handle that is listed, and taken before: an entry that is added
        // meanwhile changes the stamp.
        let stamp = FileStamp::from_directory(&handle, self.scan_start);
        result.stamps.push(&*dir.canonical_path, stamp);
        let entries = self.sorted_entries(&handle, dir.depth, result)?;
        if may_be_skill {
            let presence = self.load_misspelled(dir, &handle, &entries, result);
            if !self.searches_below(dir, &presence) {
                return Ok(());
            }
        }
        result.children = entries
            .into_iter()
            .filter(|entry| entry.is_directory || entry.is_symlink)
            .map(|entry| Child {
                name: entry.name,
                is_symlink: entry.is_symlink,
            })
            .collect();
        Ok(())
    }

    /// Returns true if the subdirectories of a directory are searched for skills.
    fn searches_below(&self, dir: &PendingDir, presence: &SkillPresence) -> bool {
        // A root that is a skill itself may be a collection as well.
        *presence == SkillPresence::Absent || dir.depth == 0 || self.root.searches_nested()
    }

    /// Loads a skill file whose name differs from `SKILL.md` in case, if there is no `SKILL.md`.
    fn load_misspelled(
        &self,
        dir: &PendingDir,
        handle: &Dir,
        entries: &[DirEntry],
        result: &mut VisitResult,
    ) -> SkillPresence {
        let misspelled = entries
            .iter()
            .find_map(|entry| entry.name.to_str().filter(|name| is_misspelled(name)));
        let Some(name) = misspelled else {
            return SkillPresence::Absent;
        };
        if entries.iter().any(|entry| entry.name == SKILL_FILE) {
            result.skip(
                dir.canonical_path.join(name),
                SkipReason::DuplicateSkillFile,
            );
            return SkillPresence::Absent;
        }
        self.load_skill_file(dir, Some(handle), name, result)
    }

    /// Calls `work` with the thread's own handle of the root. Threads that share one handle contend
    /// for its reference count in the kernel. The threads that the walk starts visit no other root.
    fn with_thread_handle<R>(&self, root: &Dir, work: impl FnOnce(&Dir) -> R) -> R {
        if self.thread == thread::current().id() {
            return work(root);
        }
        HANDLE.with_borrow_mut(|own| {
            if own.is_none() {
                *own = root.open_dir(".").ok();
            }
            // Without a free file descriptor the shared handle has to do.
            work(own.as_ref().unwrap_or(root))
        })
    }

    /// Returns the entries of a directory, sorted by name, at most as many as the entry limit.
    ///
    /// If there are more, the first by name are returned, so that the result does not depend on the
    /// order of the file system; but none if there are more than the limit below the root, or more
    /// than `ROOT_OVERSCAN` times the limit in the root.
    fn sorted_entries(
        &self,
        handle: &Dir,
        depth: usize,
        result: &mut VisitResult,
    ) -> Result<Vec<DirEntry>, DiscoveryError> {
        let limit = self.limits.max_entries;
        let max_listed = if depth == 0 {
            limit.saturating_mul(ROOT_OVERSCAN)
        } else {
            limit
        };
        let mut entries = Vec::new();
        for_each_entry(handle, &mut |entry| {
            result.listed_entries += 1;
            if result.listed_entries > max_listed {
                return ControlFlow::Break(());
            }
            entries.push(entry.to_owned());
            // Keeps memory bounded: what is dropped is not among the first by name.
            if entries.len() > limit.saturating_mul(2) {
                entries.sort_unstable();
                entries.truncate(limit);
            }
            ControlFlow::Continue(())
        })?;
        if result.listed_entries > max_listed {
            return Ok(Vec::new());
        }
        entries.sort_unstable();
        entries.truncate(limit);
        Ok(entries)
    }

    /// Loads the skill file `name` of a directory, if it exists. An invalid file is reported, and
    /// the directory still counts as a skill.
    fn load_skill_file(
        &self,
        dir: &PendingDir,
        handle: Option<&Dir>,
        name: &str,
        result: &mut VisitResult,
    ) -> SkillPresence {
        let loaded = match self.open_skill_file(dir, handle, name) {
            Ok(None) => return SkillPresence::Absent,
            Ok(Some(opened)) => self.load_entry(dir, opened, name, result),
            Err(error) => Err(error),
        };
        match loaded {
            Ok(entry) => {
                result.entry = entry;
                SkillPresence::Present
            }
            // A symlink without a target is reported, since its author meant a skill.
            Err(error)
                if error.kind() == DiscoveryErrorKind::NotFound
                    && !is_dangling_symlink(dir, name) =>
            {
                SkillPresence::Absent
            }
            Err(error) => {
                let path = dir.canonical_path.join(name);
                result.stamps.add_at(path.clone(), self.scan_start);
                let reason = if error.kind() == DiscoveryErrorKind::NotFound {
                    SkipReason::BrokenSymlink
                } else {
                    SkipReason::unreadable(error)
                };
                result.skip(path, reason);
                // An invalid `skill.md` may be an ordinary note about the skills below it.
                if name == SKILL_FILE {
                    SkillPresence::Present
                } else {
                    SkillPresence::Absent
                }
            }
        }
    }

    /// Reads a skill file, or reuses the entry of an earlier scan. Returns `None` if it has no
    /// valid name, which is reported in `result`.
    fn load_entry(
        &self,
        dir: &PendingDir,
        (mut file, stamp, linked_path): OpenedSkillFile,
        file_name: &str,
        result: &mut VisitResult,
    ) -> Result<Option<Entry>, DiscoveryError> {
        if let Some(previous) = (self.previous)(&dir.canonical_path)
            .filter(|entry| entry.is_unchanged(&self.root_path, file_name, stamp))
        {
            return Ok(Some(previous.for_rescan(&dir.base.walk_path)));
        }
        let stamp = stamp.with_scan_start(self.scan_start);
        // The namespace comes from files outside of the skill, so it is looked up only for skills
        // that are read.
        let (namespace, below_plugin) = self.namespaces.for_skill(dir).unzip();
        let (declared_name, metadata) =
            read_metadata(&mut file, stamp.bytes(), self.root.reading, below_plugin)?;
        let mut warnings = Vec::new();
        let name = resolve_name(
            declared_name,
            &dir.canonical_path,
            self.root.reading.name,
            &mut warnings,
        )
        .and_then(|name| qualify_name(namespace.as_deref(), name));
        let Some(name) = name else {
            result
                .stamps
                .push(dir.canonical_path.join(file_name), Some(stamp));
            // Its stamp was recorded, since an edit of the file may give it a name.
            result.skip(&*dir.canonical_path, SkipReason::InvalidName);
            return Ok(None);
        };
        if file_name != SKILL_FILE {
            warnings.push(EntryWarning::NonStandardFileName {
                found: file_name.to_owned(),
            });
        }
        if let Some(path) = &linked_path
            && !path.starts_with(&*dir.canonical_path)
        {
            warnings.push(EntryWarning::SymlinkedSkillFile {
                target: path.to_path_buf(),
            });
        }
        Ok(Some(Entry {
            name,
            metadata,
            location: SkillLocation {
                directory: Arc::clone(&dir.canonical_path),
                misspelled_name: (file_name != SKILL_FILE).then(|| file_name.into()),
                linked_path,
                reading: self.root.reading,
                source: None,
            },
            scope: self.root.scope(),
            root: Arc::clone(&self.root_path),
            scan_warnings: warnings,
            warnings: OnceLock::new(),
            stamp,
            walk_path: Arc::clone(&dir.base.walk_path),
            locked: None,
        }))
    }
}

fn is_misspelled(name: &str) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE) && name != SKILL_FILE
}

/// Returns true if a file that was not found is a symlink without a target.
fn is_dangling_symlink(dir: &PendingDir, name: &str) -> bool {
    match &dir.base.handle {
        Some(handle) => handle
            .symlink_metadata(dir.relative_path().join(name))
            .is_ok(),
        None => dir
            .open()
            .is_ok_and(|handle| handle.symlink_metadata(name).is_ok()),
    }
}
