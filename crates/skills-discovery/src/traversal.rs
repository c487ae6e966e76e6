//! The breadth-first walk through all roots.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use skills_manifest::is_invisible;

use crate::catalog::WalkOutput;
use crate::directory_visit::{Child, Listing, VisitResult, Visitor};
use crate::error::{DiscoveryError, DiscoveryErrorKind, Repr};
use crate::file_stamp::ScanStart;
use crate::namespace::PluginNamespaces;
use crate::open::open_canonical;
use crate::pending_dir::{PendingDir, WalkBase};
use crate::read_dir::is_never_searched;
use crate::source_scan::SourceScan;
use crate::walk_path::WalkPath;
use crate::{
    Catalog, DirSymlinks, Discovery, Entry, HiddenDirectories, Namespace, Precedence, Root,
    SkipReason, Skipped, parallel,
};

/// The number of directories that are visited before the limits are checked again.
const BATCH_DIRECTORIES: usize = 16_384;

/// Walks all roots. Entries of `previous` whose files are unchanged are reused without reading
/// them. `scan_start` is the time before anything is read.
pub(crate) fn walk(
    discovery: &Discovery,
    previous: Option<&Catalog>,
    scan_start: ScanStart,
) -> Catalog {
    let mut walk = Walk {
        discovery,
        previous: previous
            .into_iter()
            .flat_map(Catalog::all_entries)
            .map(|entry| (entry.directory(), entry))
            .collect(),
        visited: HashSet::new(),
        output: WalkOutput::default(),
        root_paths: HashSet::new(),
        claimed: HashSet::new(),
        scan_start,
    };
    // Trusted roots first: otherwise an untrusted one could link to the skills of a trusted root,
    // claim their directories, and so make them inactive.
    let (trusted, untrusted): (Vec<&Root>, Vec<&Root>) =
        discovery.roots.iter().partition(|root| root.is_trusted());
    // A skill of a directory wins over one of a source.
    if discovery.precedence == Precedence::LastRoot {
        walk.list_sources();
    }
    for root in trusted.into_iter().chain(untrusted) {
        walk.walk_root(root);
    }
    if discovery.precedence != Precedence::LastRoot {
        walk.list_sources();
    }
    let digests = previous.map(Catalog::shared_digests).unwrap_or_default();
    Catalog::new(walk.output, discovery, digests, scan_start)
}

/// The state of a walk.
struct Walk<'a> {
    discovery: &'a Discovery,
    /// The entries of the previous catalog, by directory.
    previous: HashMap<&'a Path, &'a Entry>,
    /// The directories of the current root that were visited. The walk never passes a symlink
    /// without resolving it, so joined paths stay canonical.
    visited: HashSet<Arc<Path>>,
    output: WalkOutput,
    /// The canonical paths of the roots so far.
    root_paths: HashSet<PathBuf>,
    /// The directories of the skills so far, if there are several roots. A skill belongs to the
    /// first root that leads to it.
    claimed: HashSet<Arc<Path>>,
    scan_start: ScanStart,
}

/// How much of its limits one root has used.
#[derive(Default)]
struct RootUsage {
    directories: usize,
    entries: usize,
}

impl Walk<'_> {
    fn skip(&mut self, path: impl Into<PathBuf>, reason: SkipReason) {
        self.output.skipped.push(Skipped::new(path, reason));
    }

    /// Lists the skills of all sources.
    fn list_sources(&mut self) {
        let previous = std::mem::take(&mut self.previous);
        for root in &self.discovery.sources {
            let scan = SourceScan {
                root,
                limits: &self.discovery.limits,
                scan_start: self.scan_start,
                previous: &|directory| previous.get(directory).copied(),
            };
            // Before the listing, so that a change meanwhile is noticed; also of a source that fails,
            // so that it is not asked again for each call.
            self.output.revisions.push(root.source.revision());
            if !is_printable(&root.name) {
                self.skip(&*root.name, SkipReason::Unprintable);
            } else if !root.has_valid_name() {
                let reason = SkipReason::unreadable(Repr::SourceName.into());
                self.skip(&*root.name, reason);
            } else if self.root_paths.insert(root.directory.to_path_buf()) {
                scan.list(&mut self.output);
            } else {
                // The entries of both would have the same directories.
                self.skip(&*root.name, SkipReason::AlreadyVisited);
            }
        }
        self.previous = previous;
    }

    fn walk_root(&mut self, root: &Root) {
        let Some((handle, path)) = self.open_root(root) else {
            return;
        };
        if !self.root_paths.insert(path.clone()) {
            return self.skip(path, SkipReason::AlreadyVisited);
        }
        // Roots may overlap, and one may be searched deeper than the other. So each root visits all
        // of its directories; only skills belong to the first root.
        self.visited.clear();
        if path != root.path() {
            self.output
                .symlinks
                .push((root.path().to_owned(), path.clone()));
        }
        // Taken, so that the visitor can borrow it while `self` is changed.
        let previous = std::mem::take(&mut self.previous);
        let visitor = Visitor {
            root,
            root_path: Arc::from(root.path()),
            canonical_root: path.clone(),
            limits: root.limits_or(&self.discovery.limits),
            scan_start: self.scan_start,
            thread: std::thread::current().id(),
            namespaces: PluginNamespaces::new(root),
            // A name with a namespace also depends on the manifest of the plugin, so the stamp of
            // the skill file is not enough to reuse it.
            previous: &|directory| {
                previous
                    .get(directory)
                    .copied()
                    .filter(|_| root.namespace != Namespace::FromManifests)
            },
        };
        self.walk_levels(&visitor, handle);
        self.output
            .stamps
            .append(visitor.namespaces.manifest_stamps(self.scan_start));
        self.previous = previous;
    }

    /// Opens a root and returns its handle and canonical path. If it cannot be used, the reason is
    /// recorded.
    fn open_root(&mut self, root: &Root) -> Option<(Dir, PathBuf)> {
        let opened = root
            .path()
            .canonicalize()
            .map_err(DiscoveryError::from)
            .and_then(|path| Ok((open_canonical(&path)?, path)));
        let (handle, path) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // A root that appears or becomes readable later makes the catalog outdated.
                self.output.stamps.add_at(root.path(), self.scan_start);
                let reason = if error.kind() == DiscoveryErrorKind::NotFound {
                    SkipReason::RootNotFound
                } else {
                    SkipReason::unreadable(error)
                };
                self.skip(root.path(), reason);
                return None;
            }
        };
        if !path.to_str().is_some_and(is_printable) {
            self.skip(path, SkipReason::Unprintable);
            return None;
        }
        Some((handle, path))
    }

    /// Visits the directories of a root, level by level.
    fn walk_levels(&mut self, visitor: &Visitor<'_>, handle: Dir) {
        let root_path = visitor.canonical_root.as_path();
        let base = WalkBase {
            path: root_path.to_owned(),
            handle: Some(handle),
            walk_path: Arc::new(WalkPath::of_root(visitor.root.path(), root_path)),
        };
        let mut level = vec![PendingDir::from_base(Arc::new(base), 0)];
        let mut usage = RootUsage::default();
        while !level.is_empty() {
            let dirs = self.claim_directories(visitor, level, &mut usage);
            level = Vec::new();
            // In batches, so that a limit also bounds the work, not only the result.
            for batch in dirs.chunks(BATCH_DIRECTORIES) {
                let listing = if usage.entries <= visitor.limits.max_entries {
                    Listing::Allowed
                } else {
                    Listing::SkillFileOnly
                };
                self.output.entries.reserve(batch.len());
                let results = parallel::map(batch, self.discovery.threads, |dir| {
                    visitor.visit(dir, listing)
                });
                // Results are absorbed in the order of the directories, so that the catalog does
                // not depend on the number of threads.
                for (dir, result) in batch.iter().zip(results) {
                    level.extend(self.absorb(visitor, dir, result, &mut usage));
                }
            }
        }
    }

    /// Removes directories that were visited before, and those beyond the limit.
    fn claim_directories(
        &mut self,
        visitor: &Visitor<'_>,
        level: Vec<PendingDir>,
        usage: &mut RootUsage,
    ) -> Vec<PendingDir> {
        let limit = visitor.limits.max_directories;
        let mut dirs = Vec::with_capacity(level.len());
        for dir in level {
            // Breadth-first, so the limit drops the deepest directories.
            if usage.directories == limit {
                self.skip(
                    &visitor.canonical_root,
                    SkipReason::TooManyDirectories { limit },
                );
                break;
            }
            if self.visited.insert(Arc::clone(&dir.canonical_path)) {
                usage.directories += 1;
                dirs.push(dir);
            } else {
                self.skip(&*dir.canonical_path, SkipReason::AlreadyVisited);
            }
        }
        dirs
    }

    /// Adds the result of a visit to the output, and returns the directories to visit next.
    fn absorb(
        &mut self,
        visitor: &Visitor<'_>,
        dir: &PendingDir,
        result: VisitResult,
        usage: &mut RootUsage,
    ) -> Vec<PendingDir> {
        let VisitResult {
            entry,
            skipped,
            children,
            listed_entries,
            stamps,
        } = result;
        if let Some(entry) = entry {
            // With a single root `visited` already ensures that a skill is found only once.
            if self.discovery.roots.len() == 1
                || self.claimed.insert(Arc::clone(&entry.location.directory))
            {
                self.output.entries.push(entry);
            } else {
                self.skip(&*dir.canonical_path, SkipReason::AlreadyVisited);
            }
        }
        self.output.skipped.extend(skipped);
        self.output.stamps.append(stamps);
        if self.use_entries(visitor, listed_entries, usage) {
            let enter = |child: &Child| self.enter_child(visitor, dir, child);
            children.iter().filter_map(enter).collect()
        } else {
            Vec::new()
        }
    }

    /// Counts the entries of a directory, and returns whether its children may be visited.
    fn use_entries(
        &mut self,
        visitor: &Visitor<'_>,
        listed_entries: usize,
        usage: &mut RootUsage,
    ) -> bool {
        let limit = visitor.limits.max_entries;
        let before = usage.entries;
        usage.entries = usage.entries.saturating_add(listed_entries);
        if usage.entries <= limit {
            return true;
        }
        if before <= limit {
            self.skip(
                &visitor.canonical_root,
                SkipReason::TooManyEntries { limit },
            );
        }
        // If the first directory exceeds the limit alone, the visit has kept its first entries by
        // name. A later directory is dropped as a whole.
        before == 0
    }

    /// Returns a child as a directory to visit. If it is not entered, the reason is recorded.
    fn enter_child(
        &mut self,
        visitor: &Visitor<'_>,
        dir: &PendingDir,
        child: &Child,
    ) -> Option<PendingDir> {
        let name = Path::new(&child.name);
        let reason = skip_reason(visitor, name, dir.depth);
        if !child.is_symlink && reason.is_none() {
            return Some(dir.child(name));
        }
        let path = dir.canonical_path.join(name);
        match reason {
            // A symlink to a file is a resource, not a directory that was skipped.
            Some(_) if child.is_symlink && !path.is_dir() => None,
            Some(reason) => {
                self.skip(path, reason);
                None
            }
            None => {
                let base = self.resolve_symlink(visitor, dir, path)?;
                Some(PendingDir::from_base(Arc::new(base), dir.depth + 1))
            }
        }
    }

    /// Resolves a symlink in `dir` to a directory. Returns `None` if it is not followed; unless it leads to
    /// a file, the reason is recorded.
    fn resolve_symlink(
        &mut self,
        visitor: &Visitor<'_>,
        dir: &PendingDir,
        link: PathBuf,
    ) -> Option<WalkBase> {
        // One system call decides about links to files and about broken ones; `canonicalize` makes
        // one for each component.
        let metadata = link.metadata();
        if metadata.as_ref().is_ok_and(|metadata| !metadata.is_dir()) {
            return None;
        }
        // The canonical target identifies the directory, so that cycles and duplicates are found.
        let Ok(target) = metadata.and_then(|_| link.canonicalize()) else {
            // If the target appears later, the catalog is outdated.
            self.output.stamps.push(link.clone(), None);
            self.skip(link, SkipReason::BrokenSymlink);
            return None;
        };
        if let Some(reason) = symlink_skip_reason(visitor, &target) {
            self.skip(link, reason);
            return None;
        }
        let walk_path = Arc::new(dir.base.walk_path.through_link(&link, &target));
        self.output.symlinks.push((link, target.clone()));
        Some(WalkBase {
            path: target,
            handle: None,
            walk_path,
        })
    }
}

/// Returns why a directory of this name, in a directory of this depth, is not entered.
fn skip_reason(visitor: &Visitor<'_>, name: &Path, depth: usize) -> Option<SkipReason> {
    let Some(name) = name.to_str().filter(|name| is_printable(name)) else {
        return Some(SkipReason::Unprintable);
    };
    let root = visitor.root;
    let limit = root.max_depth(visitor.limits);
    if name.starts_with('.') && (is_never_searched(name) || root.hidden == HiddenDirectories::Skip)
    {
        Some(SkipReason::Hidden)
    } else if name == "node_modules" {
        Some(SkipReason::Vendored)
    } else if depth >= limit {
        Some(SkipReason::TooDeep { limit })
    } else {
        None
    }
}

/// Returns why a symlink to the directory `target` is not followed.
fn symlink_skip_reason(visitor: &Visitor<'_>, target: &Path) -> Option<SkipReason> {
    let symlinks = visitor.root.dir_symlinks;
    // The name of the link is printable, but that of its target may contain anything, and the
    // target becomes the directory of the skill.
    if !target.to_str().is_some_and(is_printable) {
        return Some(SkipReason::Unprintable);
    }
    if symlinks == DirSymlinks::Ignore {
        return Some(SkipReason::SymlinkIgnored);
    }
    // `/` has one component, and `/usr` two. A scan of these would use up the limits of the root,
    // and so hide its skills.
    if target.components().count() <= 2 {
        return Some(SkipReason::SymlinkTooBroad);
    }
    if symlinks == DirSymlinks::WithinRoot && !target.starts_with(&visitor.canonical_root) {
        return Some(SkipReason::SymlinkLeavesRoot);
    }
    None
}

/// Returns true if a name can be shown faithfully. Joiners are allowed, since some scripts and
/// emoji need them.
fn is_printable(name: &str) -> bool {
    // Most names are ASCII, where only control characters are invisible.
    name.is_ascii() && !name.bytes().any(|b| b.is_ascii_control())
        || !name
            .chars()
            .any(|c| is_invisible(c) && !matches!(c, '\u{200C}' | '\u{200D}'))
}
