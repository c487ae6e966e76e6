//! The breadth-first walk.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_manifest::is_invisible;

use crate::catalog::WalkOutput;
use crate::error::{DiscoveryError, ErrorKind};
use crate::file_stamp::ScanStart;
use crate::namespace::PluginNamespaces;
use crate::open::open_canonical;
use crate::pending_dir::{PendingDir, WalkBase};
use crate::visit::{Child, VisitResult, Visitor};
use crate::visited_dirs::VisitedDirs;
use crate::{
    Catalog, DirSymlinks, Discovery, Entry, FileStamp, Namespace, Root, SkipReason, Skipped,
    parallel,
};

/// Walks all roots; entries of `known` whose files look as before are not read again. `moment` is
/// when the walk begins.
pub(crate) fn walk(discovery: &Discovery, known: Option<&Catalog>, moment: ScanStart) -> Catalog {
    let mut walk = Walk {
        discovery,
        previous: HashMap::new(),
        visited: VisitedDirs::default(),
        output: WalkOutput::default(),
        root_paths: HashSet::new(),
        claimed: HashSet::new(),
        scan_start: moment,
    };
    walk.previous = known
        .into_iter()
        .flat_map(Catalog::all_entries)
        .map(|entry| (entry.directory(), entry))
        .collect();
    // What nobody has agreed to must not claim a directory that a trusted root leads to as well.
    let (trusted, untrusted): (Vec<&Root>, Vec<&Root>) =
        discovery.roots.iter().partition(|root| root.is_trusted());
    for root in trusted.into_iter().chain(untrusted) {
        walk.walk_root(root);
    }
    Catalog::new(walk.output, discovery)
}

struct Walk<'a> {
    discovery: &'a Discovery,
    previous: HashMap<&'a Path, &'a Entry>,
    /// Canonical paths; the walk itself never passes a symlink without resolving it, so joined
    /// paths stay canonical.
    visited: VisitedDirs,
    output: WalkOutput,
    /// The canonical paths of the roots so far.
    root_paths: HashSet<PathBuf>,
    /// The directories of the skills so far, when there are several roots: the first that leads to
    /// one has it.
    claimed: HashSet<Arc<Path>>,
    scan_start: ScanStart,
}

/// How many directories are visited before the limits are looked at.
const BATCH_DIRECTORIES: usize = 16_384;

/// What one root has used up of its limits.
#[derive(Default)]
struct RootUsage {
    directories: usize,
    entries: usize,
}

impl Walk<'_> {
    fn skip(&mut self, path: impl Into<PathBuf>, reason: SkipReason) {
        self.output.skipped.push(Skipped::new(path, reason));
    }

    fn walk_root(&mut self, root: &Root) {
        let opened = root
            .path()
            .canonicalize()
            .map_err(DiscoveryError::from_io)
            .and_then(|path| Ok((open_canonical(&path)?, path)));
        let (handle, path) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.output.stamps.push((
                    root.path().to_owned(),
                    FileStamp::from_path(root.path())
                        .map(|stamp| stamp.with_scan_start(self.scan_start)),
                ));
                let missing = error.kind() == ErrorKind::NotFound;
                return self.skip(
                    root.path(),
                    if missing {
                        SkipReason::RootNotFound
                    } else {
                        SkipReason::unreadable(error)
                    },
                );
            }
        };
        if !path.to_str().is_some_and(is_printable) {
            return self.skip(path, SkipReason::Unprintable);
        }
        let known = std::mem::take(&mut self.previous);
        let visitor = Visitor {
            root,
            root_path: Arc::from(root.path()),
            limits: &self.discovery.limits,
            scan_start: self.scan_start,
            threads: self.discovery.thread_count(),
            walk_id: Visitor::next_walk_id(),
            namespaces: PluginNamespaces::new(root),
            // A name with a namespace depends on more than the skill's own file.
            previous: &|directory| {
                known
                    .get(directory)
                    .copied()
                    .filter(|_| *root.namespace_policy() != Namespace::FromManifests)
            },
        };
        if !self.root_paths.insert(path.clone()) {
            return self.skip(path, SkipReason::AlreadyVisited);
        }
        // Roots may overlap, and one may look deeper than the other; only skills belong to the
        // first.
        self.visited = VisitedDirs::default();
        if path != root.path() {
            self.output
                .symlinks
                .push((root.path().to_owned(), path.clone()));
        }
        let base = WalkBase {
            path: path.clone(),
            handle: Some(handle),
            is_root: true,
        };
        let mut level = vec![PendingDir::from_base(Arc::new(base), 0)];
        let mut spent = RootUsage::default();
        while !level.is_empty() {
            let places = self.claim_directories(&path, level, &mut spent);
            level = Vec::new();
            // In portions, so that a limit ends the work and not only its result.
            for portion in places.chunks(BATCH_DIRECTORIES) {
                let may_list = spent.entries <= self.discovery.limits.max_entries;
                self.output.entries.reserve(portion.len());
                let visits = parallel::map(portion, self.discovery.thread_count(), |place| {
                    visitor.visit(place, may_list)
                });
                for (place, visited) in portion.iter().zip(visits) {
                    level.extend(self.absorb(root, &path, place, visited, &mut spent));
                }
            }
        }
        Visitor::close_thread_handle();
        self.output
            .stamps
            .extend(visitor.namespaces.manifest_stamps(self.scan_start));
        self.previous = known;
    }

    /// Leaves out directories that were visited before, and those beyond the limit.
    fn claim_directories(
        &mut self,
        root_path: &Path,
        level: Vec<PendingDir>,
        spent: &mut RootUsage,
    ) -> Vec<PendingDir> {
        let limit = self.discovery.limits.max_directories;
        let mut places = Vec::with_capacity(level.len());
        for place in level {
            if spent.directories == limit {
                self.skip(root_path, SkipReason::TooManyDirectories { limit });
                break;
            }
            if !self.visited.insert(&place.canonical_path) {
                self.skip(&*place.canonical_path, SkipReason::AlreadyVisited);
            } else {
                spent.directories += 1;
                places.push(place);
            }
        }
        places
    }

    /// Takes over what a visit found; returns the directories to visit next.
    fn absorb(
        &mut self,
        root: &Root,
        root_path: &Path,
        place: &PendingDir,
        visited: VisitResult,
        spent: &mut RootUsage,
    ) -> Vec<PendingDir> {
        if let Some(entry) = visited.entry {
            if self.discovery.roots.len() == 1 || self.claimed.insert(Arc::clone(&entry.directory))
            {
                self.output.entries.push(entry);
            } else {
                self.skip(&*place.canonical_path, SkipReason::AlreadyVisited);
            }
        }
        let Some(more) = visited.details else {
            return Vec::new();
        };
        self.output.skipped.extend(more.skipped);
        self.output.stamps.extend(more.stamps);
        let limit = self.discovery.limits.max_entries;
        let before = spent.entries;
        spent.entries = spent.entries.saturating_add(more.listed_entries);
        if spent.entries > limit {
            if before <= limit {
                self.skip(root_path, SkipReason::TooManyEntries { limit });
            }
            // What the limit of this one directory left is in order; what comes behind is not
            // known.
            if before > 0 {
                return Vec::new();
            }
        }
        // Nearly all children are plain directories, which need no more than a path.
        let threads = if more.children.len() >= parallel::MIN_CHEAP_ITEMS_PER_THREAD {
            self.discovery.thread_count()
        } else {
            1
        };
        let plain = parallel::map(&more.children, threads, |child| {
            let name = Path::new(&child.name);
            (!child.is_symlink && self.skip_reason(root, name, place.depth).is_none())
                .then(|| place.child(name))
        });
        let plain: Vec<Option<PendingDir>> = plain.collect();
        let places = plain.into_iter().zip(&more.children);
        places
            .filter_map(|(plain, child)| {
                plain.or_else(|| self.enter_child(root, root_path, place, child))
            })
            .collect()
    }

    /// Decides whether to enter a directory that is a symlink or has a name or a depth that is
    /// refused.
    fn enter_child(
        &mut self,
        root: &Root,
        root_path: &Path,
        place: &PendingDir,
        child: &Child,
    ) -> Option<PendingDir> {
        let name = Path::new(&child.name);
        match self.skip_reason(root, name, place.depth) {
            Some(_) if child.is_symlink && !place.canonical_path.join(name).is_dir() => None,
            Some(reason) => {
                self.skip(place.canonical_path.join(name), reason);
                None
            }
            None => {
                let base =
                    self.resolve_symlink(root, root_path, place.canonical_path.join(name))?;
                Some(PendingDir::from_base(Arc::new(base), place.depth + 1))
            }
        }
    }

    /// Says why a directory of this name at this depth is not entered.
    fn skip_reason(&self, root: &Root, name: &Path, depth: usize) -> Option<SkipReason> {
        let Some(name) = name.to_str().filter(|name| is_printable(name)) else {
            return Some(SkipReason::Unprintable);
        };
        let limit = root
            .max_depth()
            .unwrap_or(usize::MAX)
            .min(self.discovery.limits.max_depth);
        if name.starts_with('.') {
            Some(SkipReason::Hidden)
        } else if name == "node_modules" {
            Some(SkipReason::Vendored)
        } else if depth >= limit {
            Some(SkipReason::TooDeep { limit })
        } else {
            None
        }
    }

    /// Resolves a symlink; one that leads to a file is an ordinary resource and no matter of ours.
    fn resolve_symlink(
        &mut self,
        root: &Root,
        root_path: &Path,
        full: PathBuf,
    ) -> Option<WalkBase> {
        let Ok(path) = full.canonicalize() else {
            self.output.stamps.push((full.clone(), None));
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
            DirSymlinks::Ignore => SkipReason::SymlinkIgnored,
            _ if is_broad => SkipReason::SymlinkTooBroad,
            DirSymlinks::WithinRoot if !path.starts_with(root_path) => {
                SkipReason::SymlinkLeavesRoot
            }
            _ => {
                self.visited.enable_lookup();
                self.output.symlinks.push((full, path.clone()));
                return Some(WalkBase {
                    path,
                    handle: None,
                    is_root: false,
                });
            }
        };
        self.skip(full, reason);
        None
    }
}

/// The joiners that scripts and emoji need are no reason to pass a directory over.
fn is_printable(name: &str) -> bool {
    name.is_ascii() && !name.bytes().any(|b| b.is_ascii_control())
        || !name
            .chars()
            .any(|c| is_invisible(c) && !matches!(c, '\u{200C}' | '\u{200D}'))
}
