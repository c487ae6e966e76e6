//! Looks into one directory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use skills_manifest::{Frontmatter, FrontmatterScan, MAX_FRONTMATTER_BYTES, Manifest, SkillName};

use crate::entry::SkillFileLocation;
use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::file_stamp::ScanStart;
use crate::lazy_metadata::LazyMetadata;
use crate::namespace::PluginNamespaces;
use crate::open::{ReadEnd, fill_buffer, open_regular, open_root, read_head};
use crate::pending_dir::PendingDir;
use crate::read_dir::{DirEntry, for_each_entry};
use crate::{
    Entry, EntryWarning, FileStamp, Root, SKILL_FILE, ScanLimits, SkipReason, Skipped, parallel,
};

/// How much of a `SKILL.md` is read first; nearly every frontmatter fits.
const HEAD_BYTES: usize = 1024;
/// Of how many times the limit the root's own entries are still read, to find the first by name.
const ROOT_OVERSCAN: usize = 50;
/// Fences and a byte order mark around the largest frontmatter.
const DELIMITER_BYTES: usize = 64;

thread_local! {
    /// The thread's own handle of a root, and the walk that it was opened for.
    static HANDLE: RefCell<Option<(u64, Dir)>> = const { RefCell::new(None) };
    static PATH: RefCell<OsString> = RefCell::new(OsString::with_capacity(256));
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(HEAD_BYTES));
}

/// What visits of one root have in common.
pub(crate) struct Visitor<'a> {
    pub(crate) root: &'a Root,
    pub(crate) root_path: Arc<Path>,
    pub(crate) limits: &'a ScanLimits,
    pub(crate) scan_start: ScanStart,
    /// How many threads there are.
    pub(crate) threads: usize,
    /// The number of this walk; no other has it.
    pub(crate) walk_id: u64,
    pub(crate) namespaces: PluginNamespaces<'a>,
    /// The entry that an earlier scan found in a directory.
    pub(crate) previous: &'a (dyn Fn(&Path) -> Option<&'a Entry> + Sync),
}

/// What a directory holds.
#[derive(Default)]
pub(crate) struct VisitResult {
    pub(crate) entry: Option<Entry>,
    /// All else, which most directories have nothing of.
    pub(crate) details: Option<Box<VisitDetails>>,
}

/// What a directory holds beside a skill.
#[derive(Default)]
pub(crate) struct VisitDetails {
    pub(crate) skipped: Vec<Skipped>,
    /// The directories and symlinks in it, by name; empty when it was not listed.
    pub(crate) children: Vec<Child>,
    /// How many entries were listed; more than the limit when listing stopped at it.
    pub(crate) listed_entries: usize,
    /// What has to look the same for this visit to go the same way.
    pub(crate) stamps: Vec<(PathBuf, Option<FileStamp>)>,
}

impl VisitResult {
    fn details(&mut self) -> &mut VisitDetails {
        self.details.get_or_insert_default()
    }
}

pub(crate) struct Child {
    pub(crate) name: OsString,
    pub(crate) is_symlink: bool,
}

#[derive(PartialEq)]
enum SkillPresence {
    Present,
    Absent,
}

impl Visitor<'_> {
    /// Numbers a walk.
    pub(crate) fn next_walk_id() -> u64 {
        static WALKS: AtomicU64 = AtomicU64::new(0);
        WALKS.fetch_add(1, Ordering::Relaxed)
    }

    /// Closes the handle that this thread kept for the walk.
    pub(crate) fn close_thread_handle() {
        HANDLE.set(None);
    }

    /// Looks into a directory; without `may_list` only at its `SKILL.md`.
    pub(crate) fn visit(&self, place: &PendingDir, may_list: bool) -> VisitResult {
        let mut visited = VisitResult::default();
        if let Err(error) = self.try_visit(place, may_list, &mut visited) {
            visited.details().stamps.push((
                place.canonical_path.to_path_buf(),
                self.stamp_path(&place.canonical_path),
            ));
            visited.details().skipped.push(Skipped::new(
                &*place.canonical_path,
                SkipReason::unreadable(error),
            ));
        }
        visited
    }

    fn try_visit(
        &self,
        place: &PendingDir,
        may_list: bool,
        visited: &mut VisitResult,
    ) -> Result<(), DiscoveryError> {
        let goes_on = |is: SkillPresence| {
            is == SkillPresence::Absent || place.depth == 0 || self.root.searches_nested()
        };
        let may_be_skill = place.depth > 0 || !self.root.is_children_only();
        // A skill is nearly always spelled right, and then its directory need not be opened or
        // listed at all.
        let found = if may_be_skill {
            self.load_skill_file(place, None, SKILL_FILE, visited)
        } else {
            SkillPresence::Absent
        };
        if !goes_on(found) || !may_list {
            return Ok(());
        }
        let handle = place.open()?;
        let stamp = handle
            .dir_metadata()
            .ok()
            .map(|metadata| FileStamp::from_metadata(&metadata).with_scan_start(self.scan_start));
        visited
            .details()
            .stamps
            .push((place.canonical_path.to_path_buf(), stamp));
        let names = self.sorted_entries(&handle, place.depth, visited)?;
        let misspelled = names
            .iter()
            .find_map(|entry| entry.name.to_str().filter(|name| is_misspelled(name)));
        if let Some(name) = misspelled
            && may_be_skill
        {
            if names.iter().any(|entry| entry.name == SKILL_FILE) {
                visited.details().skipped.push(Skipped::new(
                    place.canonical_path.join(name),
                    SkipReason::DuplicateSkillFile,
                ));
            } else if !goes_on(self.load_skill_file(place, Some(&handle), name, visited)) {
                return Ok(());
            }
        }
        let directories = names
            .into_iter()
            .filter(|entry| entry.is_directory || entry.is_symlink);
        visited.details().children = directories
            .map(|entry| Child {
                name: entry.name,
                is_symlink: entry.is_symlink,
            })
            .collect();
        Ok(())
    }

    /// Lends the thread's own handle of the root: threads that share one wait for each other at its
    /// reference count.
    fn with_thread_handle<R>(&self, root: &Dir, use_it: impl FnOnce(&Dir) -> R) -> R {
        if self.threads == 1 {
            return use_it(root);
        }
        HANDLE.with_borrow_mut(|own| {
            if own.as_ref().is_none_or(|(walk, _)| *walk != self.walk_id) {
                *own = root.open_dir(".").ok().map(|handle| (self.walk_id, handle));
            }
            use_it(own.as_ref().map_or(root, |(_, handle)| handle))
        })
    }

    fn stamp_path(&self, path: &Path) -> Option<FileStamp> {
        FileStamp::from_path(path).map(|stamp| stamp.with_scan_start(self.scan_start))
    }

    /// Lists a directory in the order of its names. Of more than the limit the first by name stay,
    /// so that the cut does not depend on the disk; of far more than the limit, and of more than it
    /// below the root, none do.
    fn sorted_entries(
        &self,
        handle: &Dir,
        depth: usize,
        visited: &mut VisitResult,
    ) -> Result<Vec<DirEntry>, DiscoveryError> {
        let limit = self.limits.max_entries;
        let far = if depth == 0 {
            limit.saturating_mul(ROOT_OVERSCAN)
        } else {
            limit
        };
        let mut names = Vec::new();
        let more = visited.details();
        let mut is_far = false;
        for_each_entry(handle, &mut |name| {
            more.listed_entries += 1;
            is_far = more.listed_entries > far;
            if is_far {
                return ControlFlow::Break(());
            }
            names.push(name);
            if names.len() > limit.saturating_mul(2) {
                names.sort_unstable();
                names.truncate(limit);
            }
            ControlFlow::Continue(())
        })?;
        if is_far {
            return Ok(Vec::new());
        }
        parallel::sort(&mut names, self.threads);
        names.truncate(limit);
        Ok(names)
    }

    /// Loads the skill file `name` of the directory, if it is there; a broken one is reported and
    /// still makes the directory a skill.
    fn load_skill_file(
        &self,
        place: &PendingDir,
        handle: Option<&Dir>,
        name: &str,
        visited: &mut VisitResult,
    ) -> SkillPresence {
        match self.load_entry(place, handle, name, visited) {
            Ok(entry) => visited.entry = entry,
            Err(error)
                if error.kind() == ErrorKind::NotFound && !is_dangling_symlink(place, name) =>
            {
                return SkillPresence::Absent;
            }
            Err(error) => {
                let path = place.canonical_path.join(name);
                visited
                    .details()
                    .stamps
                    .push((path.clone(), self.stamp_path(&path)));
                visited
                    .details()
                    .skipped
                    .push(Skipped::new(path, SkipReason::unreadable(error)));
                // A note that somebody called `skill.md` hides nothing below it.
                return if name == SKILL_FILE {
                    SkillPresence::Present
                } else {
                    SkillPresence::Absent
                };
            }
        }
        SkillPresence::Present
    }

    fn load_entry(
        &self,
        place: &PendingDir,
        handle: Option<&Dir>,
        name: &str,
        visited: &mut VisitResult,
    ) -> Result<Option<Entry>, DiscoveryError> {
        let (mut file, stamp, file_of) = self.open_skill_file(place, handle, name)?;
        if let Some(known) = (self.previous)(&place.canonical_path)
            .filter(|known| known.is_unchanged(&self.root_path, name, stamp))
        {
            return Ok(Some(known.for_rescan()));
        }
        let (namespace, below_plugin) = self.namespaces.for_skill(place).unzip();
        let (written, content) = BUFFER
            .with_borrow_mut(|buffer| read_metadata(&mut file, stamp, buffer, below_plugin))?;
        let mut notes = Vec::new();
        let base = resolve_name(written, &place.canonical_path, &mut notes);
        let Some(name_of) = base.and_then(|base| qualify_name(namespace.as_deref(), base)) else {
            visited.details().stamps.push((
                place.canonical_path.join(name),
                Some(stamp.with_scan_start(self.scan_start)),
            ));
            visited.details().skipped.push(Skipped::new(
                &*place.canonical_path,
                SkipReason::InvalidName,
            ));
            return Ok(None);
        };
        if name != SKILL_FILE {
            notes.push(EntryWarning::NonStandardFileName {
                found: name.to_owned(),
            });
        }
        if let SkillFileLocation::Linked(path) = &file_of
            && !path.starts_with(&*place.canonical_path)
        {
            notes.push(EntryWarning::SymlinkedSkillFile {
                target: path.to_path_buf(),
            });
        }
        Ok(Some(Entry {
            name: name_of,
            metadata: content,
            directory: Arc::clone(&place.canonical_path),
            file_name: (name != SKILL_FILE).then(|| name.into()),
            file_location: file_of,
            scope: self.root.scope(),
            root: Arc::clone(&self.root_path),
            scan_warnings: notes,
            warnings: OnceLock::new(),
            stamp: stamp.with_scan_start(self.scan_start),
        }))
    }

    /// Opens the skill file: by one call where no symlink is on the way, else behind the handle of
    /// the skill, else where the root allows it.
    fn open_skill_file(
        &self,
        place: &PendingDir,
        handle: Option<&Dir>,
        name: &str,
    ) -> Result<(cap_std::fs::File, FileStamp, SkillFileLocation), DiscoveryError> {
        let max_bytes = self.limits.max_file_bytes;
        if let Some(handle) = handle {
            let (file, stamp) = open_regular(handle, Path::new(name), max_bytes)?;
            return Ok((file, stamp, SkillFileLocation::InDirectory));
        }
        if let Some(base) = &place.base.handle
            && let Some(opened) = PATH.with_borrow_mut(|path| {
                path.clear();
                path.push(place.relative_path());
                if !path.is_empty() {
                    path.push(std::path::MAIN_SEPARATOR_STR);
                }
                path.push(name);
                self.with_thread_handle(base, |handle| {
                    crate::open::open_listed_regular(handle, Path::new(path), max_bytes)
                })
            })
        {
            let (file, stamp) = opened?;
            return Ok((file, stamp, SkillFileLocation::InDirectory));
        }
        let handle = place.open()?;
        match open_regular(&handle, Path::new(name), max_bytes) {
            Ok((file, stamp)) => Ok((file, stamp, SkillFileLocation::InDirectory)),
            Err(error) if error.kind() == ErrorKind::OutsideSkill => {
                let target = place
                    .canonical_path
                    .join(name)
                    .canonicalize()
                    .map_err(DiscoveryError::from_io)?;
                // An absolute symlink may stay inside as well.
                if !self.root.follows_skill_file_symlinks()
                    && !target.starts_with(&*place.canonical_path)
                {
                    return Err(error);
                }
                let (Some(parent), Some(file_name)) = (target.parent(), target.file_name()) else {
                    return Err(error);
                };
                let (file, stamp) =
                    open_regular(&open_root(parent)?, Path::new(file_name), max_bytes)?;
                Ok((file, stamp, SkillFileLocation::Linked(target.into())))
            }
            Err(error) => Err(error),
        }
    }
}

/// The name that a skill gives itself, and what its files say.
type NamedMetadata = (Option<SkillName>, Arc<LazyMetadata>);

/// Reads the head of a skill file: by a glance where that is enough, else entirely.
fn read_metadata(
    file: &mut cap_std::fs::File,
    stamp: FileStamp,
    buffer: &mut Vec<u8>,
    below_plugin: Option<String>,
) -> Result<NamedMetadata, DiscoveryError> {
    let manifest = |error| DiscoveryError::from(Repr::Manifest(error));
    if read_head(file, stamp.bytes(), buffer, HEAD_BYTES)? == ReadEnd::More {
        if let FrontmatterScan::Complete(frontmatter) =
            FrontmatterScan::scan_prefix(buffer).map_err(manifest)?
        {
            return parse_head(buffer, &frontmatter, below_plugin);
        }
        fill_buffer(file, buffer, MAX_FRONTMATTER_BYTES + DELIMITER_BYTES)?;
    }
    // The file ends here, or its frontmatter is too long.
    parse_head(
        buffer,
        &FrontmatterScan::parse_file(buffer).map_err(manifest)?,
        below_plugin,
    )
}

fn parse_head(
    buffer: &[u8],
    frontmatter: &Frontmatter<'_>,
    below_plugin: Option<String>,
) -> Result<NamedMetadata, DiscoveryError> {
    if let Some(glance) = Manifest::peek_name(frontmatter) {
        return Ok((
            glance.name,
            LazyMetadata::deferred(&buffer[..frontmatter.body_offset()], below_plugin),
        ));
    }
    let read = Manifest::from_frontmatter(frontmatter);
    let (manifest, warnings) = read.map_err(|error| DiscoveryError::from(Repr::Manifest(error)))?;
    Ok((
        manifest.name().cloned(),
        LazyMetadata::parsed(manifest, warnings, below_plugin),
    ))
}

fn is_misspelled(name: &str) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE) && name != SKILL_FILE
}

fn is_dangling_symlink(place: &PendingDir, name: &str) -> bool {
    match &place.base.handle {
        Some(handle) => handle
            .symlink_metadata(place.relative_path().join(name))
            .is_ok(),
        None => place
            .open()
            .is_ok_and(|handle| handle.symlink_metadata(name).is_ok()),
    }
}

/// Chooses the name and notes where it differs from the directory's.
fn resolve_name(
    written: Option<SkillName>,
    directory: &Path,
    warnings: &mut Vec<EntryWarning>,
) -> Option<SkillName> {
    let base = directory_name(directory);
    let Some(name) = written else {
        warnings.push(EntryWarning::NameFromDirectory);
        return SkillName::new(&base).ok();
    };
    if name.as_str() != base {
        warnings.push(EntryWarning::NameMismatch {
            directory: base.into_owned(),
        });
    }
    Some(name)
}

/// The name of a directory whose path is canonical: what stands behind the last separator.
fn directory_name(directory: &Path) -> Cow<'_, str> {
    let bytes = directory.as_os_str().as_encoded_bytes();
    let start = bytes
        .iter()
        .rposition(|b| *b == std::path::MAIN_SEPARATOR as u8)
        .map_or(0, |at| at + 1);
    String::from_utf8_lossy(&bytes[start..])
}

/// Puts the namespace before a name; together they must be a name again.
fn qualify_name(namespace: Option<&str>, base: SkillName) -> Option<SkillName> {
    match namespace {
        None => Some(base),
        Some(namespace) => SkillName::new(&format!("{namespace}:{base}")).ok(),
    }
}
