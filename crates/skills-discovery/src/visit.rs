//! Looks into one directory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use skills_manifest::{Fence, Frontmatter, MAX_FRONTMATTER_BYTES, Manifest, SkillName};

use crate::content::Content;
use crate::entry::FileOf;
use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::handle::{End, fill, head, open_regular, open_root};
use crate::names::{Name, list};
use crate::namespace::Namespaces;
use crate::place::Place;
use crate::stamp::Moment;
use crate::{Entry, EntryWarning, Limits, Root, SKILL_FILE, SkipReason, Skipped, Stamp, parallel};

/// How much of a `SKILL.md` is read first; nearly every frontmatter fits.
const PREFIX_BYTES: usize = 1024;
/// Of how many times the limit the root's own entries are still read, to find the first by name.
const FAR: usize = 50;
/// Fences and a byte order mark around the largest frontmatter.
const FENCE_BYTES: usize = 64;

thread_local! {
    /// The thread's own handle of a root, and the walk that it was opened for.
    static HANDLE: RefCell<Option<(u64, Dir)>> = const { RefCell::new(None) };
    static PATH: RefCell<OsString> = RefCell::new(OsString::with_capacity(256));
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(PREFIX_BYTES));
}

/// What visits of one root have in common.
pub(crate) struct Visitor<'a> {
    pub(crate) root: &'a Root,
    pub(crate) origin: Arc<Path>,
    pub(crate) limits: &'a Limits,
    pub(crate) moment: Moment,
    /// How many threads there are.
    pub(crate) threads: usize,
    /// The number of this walk; no other has it.
    pub(crate) walk: u64,
    pub(crate) namespaces: Namespaces<'a>,
    /// The entry that an earlier scan found in a directory.
    pub(crate) known: &'a (dyn Fn(&Path) -> Option<&'a Entry> + Sync),
}

/// What a directory holds.
#[derive(Default)]
pub(crate) struct Visited {
    pub(crate) entry: Option<Entry>,
    /// All else, which most directories have nothing of.
    pub(crate) more: Option<Box<More>>,
}

/// What a directory holds beside a skill.
#[derive(Default)]
pub(crate) struct More {
    pub(crate) skipped: Vec<Skipped>,
    /// The directories and symlinks in it, by name; empty when it was not listed.
    pub(crate) children: Vec<Child>,
    /// How many entries were listed; more than the limit when listing stopped at it.
    pub(crate) listed: usize,
    /// What has to look the same for this visit to go the same way.
    pub(crate) stamps: Vec<(PathBuf, Option<Stamp>)>,
}

impl Visited {
    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }
}

pub(crate) struct Child {
    pub(crate) name: OsString,
    pub(crate) is_symlink: bool,
}

#[derive(PartialEq)]
enum Is {
    Skill,
    NoSkill,
}

impl Visitor<'_> {
    /// Numbers a walk.
    pub(crate) fn next_walk() -> u64 {
        static WALKS: AtomicU64 = AtomicU64::new(0);
        WALKS.fetch_add(1, Ordering::Relaxed)
    }

    /// Closes the handle that this thread kept for the walk.
    pub(crate) fn close_handle() {
        HANDLE.set(None);
    }

    /// Looks into a directory; without `may_list` only at its `SKILL.md`.
    pub(crate) fn visit(&self, place: &Place, may_list: bool) -> Visited {
        let mut visited = Visited::default();
        if let Err(error) = self.look(place, may_list, &mut visited) {
            visited.more().stamps.push((place.full.to_path_buf(), self.stamp_of(&place.full)));
            visited.more().skipped.push(Skipped::new(&*place.full, SkipReason::unreadable(error)));
        }
        visited
    }

    fn look(&self, place: &Place, may_list: bool, visited: &mut Visited) -> Result<(), DiscoveryError> {
        let goes_on = |is: Is| is == Is::NoSkill || place.depth == 0 || self.root.looks_below_skills();
        let may_be_skill = place.depth > 0 || !self.root.only_children();
        // A skill is nearly always spelled right, and then its directory need not be opened or listed at all.
        let found = if may_be_skill { self.skill(place, None, SKILL_FILE, visited) } else { Is::NoSkill };
        if !goes_on(found) || !may_list {
            return Ok(());
        }
        let handle = place.open()?;
        let stamp = handle.dir_metadata().ok().map(|metadata| Stamp::of_metadata(&metadata).at(self.moment));
        visited.more().stamps.push((place.full.to_path_buf(), stamp));
        let names = self.names(&handle, place.depth, visited)?;
        let misspelled = names.iter().find_map(|entry| entry.name.to_str().filter(|name| is_misspelled(name)));
        if let Some(name) = misspelled
            && may_be_skill
        {
            if names.iter().any(|entry| entry.name == SKILL_FILE) {
                visited.more().skipped.push(Skipped::new(place.full.join(name), SkipReason::CaseClash));
            } else if !goes_on(self.skill(place, Some(&handle), name, visited)) {
                return Ok(());
            }
        }
        let directories = names.into_iter().filter(|entry| entry.is_directory || entry.is_symlink);
        visited.more().children = directories.map(|entry| Child { name: entry.name, is_symlink: entry.is_symlink }).collect();
        Ok(())
    }

    /// Lends the thread's own handle of the root: threads that share one wait for each other at its reference count.
    fn own_handle<R>(&self, root: &Dir, use_it: impl FnOnce(&Dir) -> R) -> R {
        if self.threads == 1 {
            return use_it(root);
        }
        HANDLE.with_borrow_mut(|own| {
            if own.as_ref().is_none_or(|(walk, _)| *walk != self.walk) {
                *own = root.open_dir(".").ok().map(|handle| (self.walk, handle));
            }
            use_it(own.as_ref().map_or(root, |(_, handle)| handle))
        })
    }

    fn stamp_of(&self, path: &Path) -> Option<Stamp> {
        Stamp::of_path(path).map(|stamp| stamp.at(self.moment))
    }

    /// Lists a directory in the order of its names. Of more than the limit the first by name stay, so that the cut does not depend on the
    /// disk; of far more than the limit, and of more than it below the root, none do.
    fn names(&self, handle: &Dir, depth: usize, visited: &mut Visited) -> Result<Vec<Name>, DiscoveryError> {
        let limit = self.limits.max_entries;
        let far = if depth == 0 { limit.saturating_mul(FAR) } else { limit };
        let mut names = Vec::new();
        let more = visited.more();
        let mut is_far = false;
        list(handle, &mut |name| {
            more.listed += 1;
            is_far = more.listed > far;
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

    /// Loads the skill file `name` of the directory, if it is there; a broken one is reported and still makes the directory a skill.
    fn skill(&self, place: &Place, handle: Option<&Dir>, name: &str, visited: &mut Visited) -> Is {
        match self.load(place, handle, name, visited) {
            Ok(entry) => visited.entry = entry,
            Err(error) if error.kind() == ErrorKind::Missing && !is_dangling(place, name) => return Is::NoSkill,
            Err(error) => {
                let path = place.full.join(name);
                visited.more().stamps.push((path.clone(), self.stamp_of(&path)));
                visited.more().skipped.push(Skipped::new(path, SkipReason::unreadable(error)));
                // A note that somebody called `skill.md` hides nothing below it.
                return if name == SKILL_FILE { Is::Skill } else { Is::NoSkill };
            }
        }
        Is::Skill
    }

    fn load(&self, place: &Place, handle: Option<&Dir>, name: &str, visited: &mut Visited) -> Result<Option<Entry>, DiscoveryError> {
        let (mut file, stamp, file_of) = self.open_file(place, handle, name)?;
        if let Some(known) = (self.known)(&place.full).filter(|known| known.is_the_same(&self.origin, name, stamp)) {
            return Ok(Some(known.again()));
        }
        let (namespace, below_plugin) = self.namespaces.of(place).unzip();
        let (written, content) = BUFFER.with_borrow_mut(|buffer| content(&mut file, stamp, buffer, below_plugin))?;
        let mut notes = Vec::new();
        let base = base_name(written, &place.full, &mut notes);
        let Some(name_of) = base.and_then(|base| qualified(namespace.as_deref(), base)) else {
            visited.more().stamps.push((place.full.join(name), Some(stamp.at(self.moment))));
            visited.more().skipped.push(Skipped::new(&*place.full, SkipReason::NoName));
            return Ok(None);
        };
        if name != SKILL_FILE {
            notes.push(EntryWarning::FileName { found: name.to_owned() });
        }
        if let FileOf::Elsewhere(path) = &file_of
            && !path.starts_with(&*place.full)
        {
            notes.push(EntryWarning::LinkedFile { target: path.to_path_buf() });
        }
        Ok(Some(Entry {
            name: name_of,
            content,
            directory: Arc::clone(&place.full),
            file_name: (name != SKILL_FILE).then(|| name.into()),
            file_of,
            scope: self.root.scope(),
            root: Arc::clone(&self.origin),
            notes,
            warnings: OnceLock::new(),
            stamp: stamp.at(self.moment),
        }))
    }

    /// Opens the skill file: by one call where no symlink is on the way, else behind the handle of the skill, else where the root allows it.
    fn open_file(&self, place: &Place, handle: Option<&Dir>, name: &str) -> Result<(cap_std::fs::File, Stamp, FileOf), DiscoveryError> {
        let max_bytes = self.limits.max_file_bytes;
        if let Some(handle) = handle {
            let (file, stamp) = open_regular(handle, Path::new(name), max_bytes)?;
            return Ok((file, stamp, FileOf::Skill));
        }
        if let Some(base) = &place.base.handle
            && let Some(opened) = PATH.with_borrow_mut(|path| {
                path.clear();
                path.push(place.path());
                if !path.is_empty() {
                    path.push(std::path::MAIN_SEPARATOR_STR);
                }
                path.push(name);
                self.own_handle(base, |handle| crate::handle::open_listed_regular(handle, Path::new(path), max_bytes))
            })
        {
            let (file, stamp) = opened?;
            return Ok((file, stamp, FileOf::Skill));
        }
        let handle = place.open()?;
        match open_regular(&handle, Path::new(name), max_bytes) {
            Ok((file, stamp)) => Ok((file, stamp, FileOf::Skill)),
            Err(error) if error.kind() == ErrorKind::Outside => {
                let target = place.full.join(name).canonicalize().map_err(DiscoveryError::from_io)?;
                // An absolute symlink may stay inside as well.
                if !self.root.follows_file_links() && !target.starts_with(&*place.full) {
                    return Err(error);
                }
                let (Some(parent), Some(file_name)) = (target.parent(), target.file_name()) else { return Err(error) };
                let (file, stamp) = open_regular(&open_root(parent)?, Path::new(file_name), max_bytes)?;
                Ok((file, stamp, FileOf::Elsewhere(target.into())))
            }
            Err(error) => Err(error),
        }
    }
}

/// The name that a skill gives itself, and what its files say.
type Named = (Option<SkillName>, Arc<Content>);

/// Reads the head of a skill file: by a glance where that is enough, else entirely.
fn content(
    file: &mut cap_std::fs::File,
    stamp: Stamp,
    buffer: &mut Vec<u8>,
    below_plugin: Option<String>,
) -> Result<Named, DiscoveryError> {
    let manifest = |error| DiscoveryError::from(Repr::Manifest(error));
    if head(file, stamp.bytes(), buffer, PREFIX_BYTES)? == End::NotReached {
        if let Fence::Closed(frontmatter) = Fence::find(buffer).map_err(manifest)? {
            return taken(buffer, &frontmatter, below_plugin);
        }
        fill(file, buffer, MAX_FRONTMATTER_BYTES + FENCE_BYTES)?;
    }
    // The file ends here, or its frontmatter is too long.
    taken(buffer, &Fence::of_file(buffer).map_err(manifest)?, below_plugin)
}

fn taken(buffer: &[u8], frontmatter: &Frontmatter<'_>, below_plugin: Option<String>) -> Result<Named, DiscoveryError> {
    if let Some(glance) = Manifest::glance(frontmatter) {
        return Ok((glance.name, Content::glanced(&buffer[..frontmatter.body_offset()], below_plugin)));
    }
    let read = Manifest::from_frontmatter(frontmatter);
    let (manifest, warnings) = read.map_err(|error| DiscoveryError::from(Repr::Manifest(error)))?;
    Ok((manifest.name().cloned(), Content::parsed(manifest, warnings, below_plugin)))
}

fn is_misspelled(name: &str) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE) && name != SKILL_FILE
}

fn is_dangling(place: &Place, name: &str) -> bool {
    match &place.base.handle {
        Some(handle) => handle.symlink_metadata(place.path().join(name)).is_ok(),
        None => place.open().is_ok_and(|handle| handle.symlink_metadata(name).is_ok()),
    }
}

/// Chooses the name and notes where it differs from the directory's.
fn base_name(written: Option<SkillName>, directory: &Path, warnings: &mut Vec<EntryWarning>) -> Option<SkillName> {
    let base = last_part(directory);
    let Some(name) = written else {
        warnings.push(EntryWarning::NameFromDirectory);
        return SkillName::new(&base).ok();
    };
    if name.as_str() != base {
        warnings.push(EntryWarning::NameDiffers { directory: base.into_owned() });
    }
    Some(name)
}

/// The name of a directory whose path is canonical: what stands behind the last separator.
fn last_part(directory: &Path) -> Cow<'_, str> {
    let bytes = directory.as_os_str().as_encoded_bytes();
    let start = bytes.iter().rposition(|b| *b == std::path::MAIN_SEPARATOR as u8).map_or(0, |at| at + 1);
    String::from_utf8_lossy(&bytes[start..])
}

/// Puts the namespace before a name; together they must be a name again.
fn qualified(namespace: Option<&str>, base: SkillName) -> Option<SkillName> {
    match namespace {
        None => Some(base),
        Some(namespace) => SkillName::new(&format!("{namespace}:{base}")).ok(),
    }
}
