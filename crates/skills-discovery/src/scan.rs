//! The breadth-first walk.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::fs::Dir;
use skills_manifest::{Fence, MAX_FRONTMATTER_BYTES, Manifest, SkillName, is_hidden};

use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::handle::{End, fill, open_regular, open_root};
use crate::{Catalog, Entry, EntryWarning, Limits, Root, SKILL_FILE, SkipReason, Skipped};

/// How much of a `SKILL.md` is read first; nearly every frontmatter fits.
const PREFIX_BYTES: usize = 4096;
/// Fences and a byte order mark around the largest frontmatter.
const FENCE_BYTES: usize = 64;

/// Finds the skills below `roots`.
///
/// Each root is walked breadth-first, so that skills near it are found even when a limit bites; directories are taken in the order of
/// their names. A directory with a `SKILL.md` is a skill and is not searched for more, unless it is the root itself. A directory that
/// several roots or symlinks lead to belongs to the first.
///
/// Never fails: what cannot be read is in [`Catalog::skipped`].
#[must_use]
pub fn discover(roots: &[Root], limits: &Limits) -> Catalog {
    let mut scan = Scan { limits, seen: HashSet::new(), entries: Vec::new(), skipped: Vec::new(), buffer: Vec::new() };
    for root in roots {
        scan.root(root);
    }
    Catalog::new(scan.entries, scan.skipped)
}

struct Scan<'a> {
    limits: &'a Limits,
    /// Canonical paths; the walk itself never passes a symlink without resolving it, so joined paths stay canonical.
    seen: HashSet<PathBuf>,
    entries: Vec<Entry>,
    skipped: Vec<Skipped>,
    buffer: Vec<u8>,
}

/// One walk below one root.
struct Walk<'a> {
    root: &'a Root,
    /// The root's canonical path.
    path: PathBuf,
    queue: VecDeque<Place>,
    directories: usize,
    entries: usize,
}

/// A directory to visit: `path` below the directory `base`, which is the root or where a symlink led.
struct Place {
    base: Rc<Base>,
    path: PathBuf,
    depth: usize,
}

/// Where handles start. Only the root's handle stays open, so that a tree of symlinks does not use up file descriptors.
struct Base {
    path: PathBuf,
    handle: Option<Dir>,
}

impl Place {
    fn full(&self) -> PathBuf {
        if self.path.as_os_str().is_empty() { self.base.path.clone() } else { self.base.path.join(&self.path) }
    }

    fn open(&self) -> Result<Dir, DiscoveryError> {
        let base = match &self.base.handle {
            Some(handle) if self.path.as_os_str().is_empty() => return handle.try_clone().map_err(DiscoveryError::from_io),
            Some(handle) => return handle.open_dir(&self.path).map_err(DiscoveryError::from_io),
            None => open_root(&self.base.path)?,
        };
        if self.path.as_os_str().is_empty() { Ok(base) } else { base.open_dir(&self.path).map_err(DiscoveryError::from_io) }
    }
}

impl Scan<'_> {
    fn skip(&mut self, path: impl Into<PathBuf>, reason: SkipReason) {
        self.skipped.push(Skipped::new(path, reason));
    }

    fn root(&mut self, root: &Root) {
        let opened = root.path().canonicalize().map_err(DiscoveryError::from_io).and_then(|path| Ok((open_root(&path)?, path)));
        let (handle, path) = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::Missing => return self.skip(root.path(), SkipReason::RootMissing),
            Err(error) => return self.skip(root.path(), SkipReason::Unreadable(error)),
        };
        if !path.to_str().is_some_and(is_printable) {
            return self.skip(path, SkipReason::Unprintable);
        }
        let base = Rc::new(Base { path: path.clone(), handle: Some(handle) });
        let queue = VecDeque::from([Place { base, path: PathBuf::new(), depth: 0 }]);
        let mut walk = Walk { root, path, queue, directories: 0, entries: 0 };
        while let Some(place) = walk.queue.pop_front() {
            let full = place.full();
            if !self.seen.insert(full.clone()) {
                self.skip(full, SkipReason::Seen);
                continue;
            }
            walk.directories += 1;
            if walk.directories > self.limits.max_directories {
                self.skip(root.path(), SkipReason::Directories { limit: self.limits.max_directories });
                break;
            }
            if let Err(error) = self.visit(&mut walk, &place) {
                self.skip(full, SkipReason::Unreadable(error));
            }
        }
        if walk.entries > self.limits.max_entries {
            self.skip(root.path(), SkipReason::Entries { limit: self.limits.max_entries });
        }
    }

    fn visit(&mut self, walk: &mut Walk<'_>, place: &Place) -> Result<(), DiscoveryError> {
        let handle = place.open()?;
        // A skill is nearly always spelled right, and then its directory need not be listed at all.
        if self.skill(walk.root, place, &handle, SKILL_FILE) == Is::Skill && place.depth > 0 {
            return Ok(());
        }
        let names = self.names(walk, &handle)?;
        let misspelled = names.iter().find_map(|(name, ..)| name.to_str().filter(|name| is_misspelled(name)));
        if let Some(name) = misspelled.filter(|_| !names.iter().any(|(name, ..)| name == SKILL_FILE))
            && self.skill(walk.root, place, &handle, name) == Is::Skill
            && place.depth > 0
        {
            return Ok(());
        }
        for (name, is_directory, is_symlink) in &names {
            if *is_directory || *is_symlink {
                let below = self.below(walk, place, name.as_ref(), *is_symlink);
                walk.queue.extend(below);
            }
        }
        Ok(())
    }

    /// Lists a directory in the order of its names, as long as the limit of the walk lasts.
    fn names(&self, walk: &mut Walk<'_>, handle: &Dir) -> Result<Vec<(OsString, bool, bool)>, DiscoveryError> {
        let mut names = Vec::new();
        for entry in handle.entries().map_err(DiscoveryError::from_io)? {
            walk.entries += 1;
            if walk.entries > self.limits.max_entries {
                // Half a directory would be whichever half the disk lists first.
                return Ok(Vec::new());
            }
            let entry = entry.map_err(DiscoveryError::from_io)?;
            let file_type = entry.file_type().map_err(DiscoveryError::from_io)?;
            names.push((entry.file_name(), file_type.is_dir(), file_type.is_symlink()));
        }
        names.sort();
        Ok(names)
    }

    /// Decides whether to enter the directory `name` in `place`.
    fn below(&mut self, walk: &Walk<'_>, place: &Place, name: &Path, is_symlink: bool) -> Option<Place> {
        let path = place.path.join(name);
        let full = place.base.path.join(&path);
        let refusal = self.refusal(name, place.depth);
        let depth = place.depth + 1;
        match refusal {
            Some(_) if is_symlink && !full.is_dir() => None,
            Some(reason) => {
                self.skip(full, reason);
                None
            }
            None if is_symlink => self.behind_symlink(walk, full).map(|base| Place { base, path: PathBuf::new(), depth }),
            None => Some(Place { base: Rc::clone(&place.base), path, depth }),
        }
    }

    /// Says why a directory of this name at this depth is not entered.
    fn refusal(&self, name: &Path, depth: usize) -> Option<SkipReason> {
        let Some(name) = name.to_str().filter(|name| is_printable(name)) else { return Some(SkipReason::Unprintable) };
        if name.starts_with('.') {
            Some(SkipReason::Hidden)
        } else if name == "node_modules" {
            Some(SkipReason::Vendored)
        } else if depth >= self.limits.max_depth {
            Some(SkipReason::Depth { limit: self.limits.max_depth })
        } else {
            None
        }
    }

    /// Resolves a symlink; one that leads to a file is an ordinary resource and no matter of ours.
    fn behind_symlink(&mut self, walk: &Walk<'_>, full: PathBuf) -> Option<Rc<Base>> {
        let Ok(path) = full.canonicalize() else {
            self.skip(full, SkipReason::BrokenSymlink);
            return None;
        };
        if !path.is_dir() {
            return None;
        }
        if !walk.root.follows_symlinks() && !path.starts_with(&walk.path) {
            self.skip(full, SkipReason::SymlinkLeavesRoot);
            return None;
        }
        Some(Rc::new(Base { path, handle: None }))
    }

    /// Loads the skill file `name` of the directory, if it is there; a broken one is reported and still makes the directory a skill.
    fn skill(&mut self, root: &Root, place: &Place, handle: &Dir, name: &str) -> Is {
        let directory = place.full();
        match self.load(root, &directory, handle, name) {
            Ok(entry) => self.entries.extend(entry),
            Err(error) if error.kind() == ErrorKind::Missing && !is_dangling(handle, name) => return Is::NoSkill,
            Err(error) => {
                self.skip(directory.join(name), SkipReason::Unreadable(error));
                // A note that somebody called `skill.md` hides nothing below it.
                return if name == SKILL_FILE { Is::Skill } else { Is::NoSkill };
            }
        }
        Is::Skill
    }

    fn load(&mut self, root: &Root, directory: &Path, handle: &Dir, file_name: &str) -> Result<Option<Entry>, DiscoveryError> {
        let mut file = open_regular(handle, Path::new(file_name), self.limits.max_file_bytes)?;
        self.buffer.clear();
        let mut end = fill(&mut file, &mut self.buffer, PREFIX_BYTES)?;
        let manifest = |error| DiscoveryError::from(Repr::Manifest(error));
        if end == End::NotReached && matches!(Fence::find(&self.buffer).map_err(manifest)?, Fence::Open) {
            end = fill(&mut file, &mut self.buffer, MAX_FRONTMATTER_BYTES + FENCE_BYTES)?;
        }
        let frontmatter = match end {
            End::Reached => Fence::of_file(&self.buffer),
            End::NotReached => match Fence::find(&self.buffer).map_err(manifest)? {
                Fence::Closed(frontmatter) => Ok(frontmatter),
                Fence::Open => Fence::of_file(&self.buffer),
            },
        };
        let (manifest, warnings) = frontmatter.and_then(|found| Manifest::from_frontmatter(&found)).map_err(manifest)?;
        let mut warnings: Vec<EntryWarning> = warnings.into_iter().map(EntryWarning::Manifest).collect();
        let Some(name) = name(&manifest, directory, &mut warnings) else {
            self.skip(directory, SkipReason::NoName);
            return Ok(None);
        };
        if file_name != SKILL_FILE {
            warnings.push(EntryWarning::FileName { found: file_name.to_owned() });
        }
        let (directory, file_name, scope) = (directory.to_owned(), file_name.to_owned(), root.scope());
        Ok(Some(Entry { name, manifest, directory, file_name, scope, warnings }))
    }
}

#[derive(PartialEq)]
enum Is {
    Skill,
    NoSkill,
}

/// The joiners that scripts and emoji need are no reason to pass a directory over.
fn is_printable(name: &str) -> bool {
    !name.chars().any(|c| is_hidden(c) && !matches!(c, '\u{200C}' | '\u{200D}'))
}

fn is_misspelled(name: &str) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE) && name != SKILL_FILE
}

fn is_dangling(handle: &Dir, name: &str) -> bool {
    handle.symlink_metadata(name).is_ok()
}

/// Chooses the name and notes where it differs from the directory's.
fn name(manifest: &Manifest, directory: &Path, warnings: &mut Vec<EntryWarning>) -> Option<SkillName> {
    let base = directory.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let Some(name) = manifest.name() else {
        warnings.push(EntryWarning::NameFromDirectory);
        return SkillName::new(&base).ok();
    };
    if name.as_str() != base {
        warnings.push(EntryWarning::NameDiffers { directory: base.into_owned() });
    }
    Some(name.clone())
}
