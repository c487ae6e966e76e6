//! The breadth-first walk.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_manifest::is_hidden;

use crate::catalog::Found;
use crate::error::{DiscoveryError, ErrorKind};
use crate::handle::open_canonical;
use crate::namespace::Namespaces;
use crate::place::{Base, Place};
use crate::seen::Seen;
use crate::stamp::Moment;
use crate::visit::{Child, Visited, Visitor};
use crate::{Catalog, Discovery, Entry, Namespace, Root, SkipReason, Skipped, Stamp, Symlinks, parallel};

/// Walks all roots; entries of `known` whose files look as before are not read again. `moment` is when the walk begins.
pub(crate) fn walk(discovery: &Discovery, known: Option<&Catalog>, moment: Moment) -> Catalog {
    let mut walk = Walk {
        discovery,
        known: HashMap::new(),
        seen: Seen::default(),
        found: Found::default(),
        roots: HashSet::new(),
        claimed: HashSet::new(),
        moment,
    };
    walk.known = known.into_iter().flat_map(Catalog::all).map(|entry| (entry.directory(), entry)).collect();
    // What nobody has agreed to must not claim a directory that a trusted root leads to as well.
    let (trusted, untrusted): (Vec<&Root>, Vec<&Root>) = discovery.roots.iter().partition(|root| root.is_trusted());
    for root in trusted.into_iter().chain(untrusted) {
        walk.root(root);
    }
    Catalog::new(walk.found, discovery)
}

struct Walk<'a> {
    discovery: &'a Discovery,
    known: HashMap<&'a Path, &'a Entry>,
    /// Canonical paths; the walk itself never passes a symlink without resolving it, so joined paths stay canonical.
    seen: Seen,
    found: Found,
    /// The canonical paths of the roots so far.
    roots: HashSet<PathBuf>,
    /// The directories of the skills so far, when there are several roots: the first that leads to one has it.
    claimed: HashSet<Arc<Path>>,
    moment: Moment,
}

/// How many directories are visited before the limits are looked at.
const PORTION: usize = 16_384;

/// What one root has used up of its limits.
#[derive(Default)]
struct Spent {
    directories: usize,
    entries: usize,
}

impl Walk<'_> {
    fn skip(&mut self, path: impl Into<PathBuf>, reason: SkipReason) {
        self.found.skipped.push(Skipped::new(path, reason));
    }

    fn root(&mut self, root: &Root) {
        let opened = root.path().canonicalize().map_err(DiscoveryError::from_io).and_then(|path| Ok((open_canonical(&path)?, path)));
        let (handle, path) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.found.stamps.push((root.path().to_owned(), Stamp::of_path(root.path()).map(|stamp| stamp.at(self.moment))));
                let missing = error.kind() == ErrorKind::Missing;
                return self.skip(root.path(), if missing { SkipReason::RootMissing } else { SkipReason::unreadable(error) });
            }
        };
        if !path.to_str().is_some_and(is_printable) {
            return self.skip(path, SkipReason::Unprintable);
        }
        let known = std::mem::take(&mut self.known);
        let visitor = Visitor {
            root,
            origin: Arc::from(root.path()),
            limits: &self.discovery.limits,
            moment: self.moment,
            threads: self.discovery.thread_count(),
            walk: Visitor::next_walk(),
            namespaces: Namespaces::new(root),
            // A name with a namespace depends on more than the skill's own file.
            known: &|directory| known.get(directory).copied().filter(|_| *root.namespace_policy() != Namespace::FromManifests),
        };
        if !self.roots.insert(path.clone()) {
            return self.skip(path, SkipReason::Seen);
        }
        // Roots may overlap, and one may look deeper than the other; only skills belong to the first.
        self.seen = Seen::default();
        if path != root.path() {
            self.found.links.push((root.path().to_owned(), path.clone()));
        }
        let base = Base { path: path.clone(), handle: Some(handle), is_root: true };
        let mut level = vec![Place::at(Arc::new(base), 0)];
        let mut spent = Spent::default();
        while !level.is_empty() {
            let places = self.claim(&path, level, &mut spent);
            level = Vec::new();
            // In portions, so that a limit ends the work and not only its result.
            for portion in places.chunks(PORTION) {
                let may_list = spent.entries <= self.discovery.limits.max_entries;
                self.found.entries.reserve(portion.len());
                let visits = parallel::map(portion, self.discovery.thread_count(), |place| visitor.visit(place, may_list));
                for (place, visited) in portion.iter().zip(visits) {
                    level.extend(self.take(root, &path, place, visited, &mut spent));
                }
            }
        }
        Visitor::close_handle();
        self.found.stamps.extend(visitor.namespaces.stamps(self.moment));
        self.known = known;
    }

    /// Leaves out directories that were visited before, and those beyond the limit.
    fn claim(&mut self, root_path: &Path, level: Vec<Place>, spent: &mut Spent) -> Vec<Place> {
        let limit = self.discovery.limits.max_directories;
        let mut places = Vec::with_capacity(level.len());
        for place in level {
            if spent.directories == limit {
                self.skip(root_path, SkipReason::Directories { limit });
                break;
            }
            if !self.seen.insert(&place.full) {
                self.skip(&*place.full, SkipReason::Seen);
            } else {
                spent.directories += 1;
                places.push(place);
            }
        }
        places
    }

    /// Takes over what a visit found; returns the directories to visit next.
    fn take(&mut self, root: &Root, root_path: &Path, place: &Place, visited: Visited, spent: &mut Spent) -> Vec<Place> {
        if let Some(entry) = visited.entry {
            if self.discovery.roots.len() == 1 || self.claimed.insert(Arc::clone(&entry.directory)) {
                self.found.entries.push(entry);
            } else {
                self.skip(&*place.full, SkipReason::Seen);
            }
        }
        let Some(more) = visited.more else { return Vec::new() };
        self.found.skipped.extend(more.skipped);
        self.found.stamps.extend(more.stamps);
        let limit = self.discovery.limits.max_entries;
        let before = spent.entries;
        spent.entries = spent.entries.saturating_add(more.listed);
        if spent.entries > limit {
            if before <= limit {
                self.skip(root_path, SkipReason::Entries { limit });
            }
            // What the limit of this one directory left is in order; what comes behind is not known.
            if before > 0 {
                return Vec::new();
            }
        }
        // Nearly all children are plain directories, which need no more than a path.
        let threads = if more.children.len() >= parallel::MANY { self.discovery.thread_count() } else { 1 };
        let plain = parallel::map(&more.children, threads, |child| {
            let name = Path::new(&child.name);
            (!child.is_symlink && self.refusal(root, name, place.depth).is_none()).then(|| place.below(name))
        });
        let plain: Vec<Option<Place>> = plain.collect();
        let places = plain.into_iter().zip(&more.children);
        places.filter_map(|(plain, child)| plain.or_else(|| self.below(root, root_path, place, child))).collect()
    }

    /// Decides whether to enter a directory that is a symlink or has a name or a depth that is refused.
    fn below(&mut self, root: &Root, root_path: &Path, place: &Place, child: &Child) -> Option<Place> {
        let name = Path::new(&child.name);
        match self.refusal(root, name, place.depth) {
            Some(_) if child.is_symlink && !place.full.join(name).is_dir() => None,
            Some(reason) => {
                self.skip(place.full.join(name), reason);
                None
            }
            None => {
                let base = self.behind_symlink(root, root_path, place.full.join(name))?;
                Some(Place::at(Arc::new(base), place.depth + 1))
            }
        }
    }

    /// Says why a directory of this name at this depth is not entered.
    fn refusal(&self, root: &Root, name: &Path, depth: usize) -> Option<SkipReason> {
        let Some(name) = name.to_str().filter(|name| is_printable(name)) else { return Some(SkipReason::Unprintable) };
        let limit = root.max_depth().unwrap_or(usize::MAX).min(self.discovery.limits.max_depth);
        if name.starts_with('.') {
            Some(SkipReason::Hidden)
        } else if name == "node_modules" {
            Some(SkipReason::Vendored)
        } else if depth >= limit {
            Some(SkipReason::Depth { limit })
        } else {
            None
        }
    }

    /// Resolves a symlink; one that leads to a file is an ordinary resource and no matter of ours.
    fn behind_symlink(&mut self, root: &Root, root_path: &Path, full: PathBuf) -> Option<Base> {
        let Ok(path) = full.canonicalize() else {
            self.found.stamps.push((full.clone(), None));
            self.skip(full, SkipReason::BrokenSymlink);
            return None;
        };
        if !path.is_dir() {
            return None;
        }
        if !path.to_str().is_some_and(is_printable) {
            self.skip(full, SkipReason::Unprintable);
            return None;
        }
        let is_broad = path.components().count() <= 2;
        let reason = match root.symlink_policy() {
            Symlinks::Ignore => SkipReason::SymlinkIgnored,
            _ if is_broad => SkipReason::SymlinkTooBroad,
            Symlinks::Within if !path.starts_with(root_path) => SkipReason::SymlinkLeavesRoot,
            _ => {
                self.seen.expect_returns();
                self.found.links.push((full, path.clone()));
                return Some(Base { path, handle: None, is_root: false });
            }
        };
        self.skip(full, reason);
        None
    }
}

/// The joiners that scripts and emoji need are no reason to pass a directory over.
fn is_printable(name: &str) -> bool {
    name.is_ascii() && !name.bytes().any(|b| b.is_ascii_control())
        || !name.chars().any(|c| is_hidden(c) && !matches!(c, '\u{200C}' | '\u{200D}'))
}
