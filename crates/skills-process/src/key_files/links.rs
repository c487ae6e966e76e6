//! Symlinks with names of files with keys, and the symlinks that they lead through.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use skills_sandbox::ChangedKeyLink;

/// Maximum symlinks that are followed, as in the kernel.
const MAX_FOLLOWED: usize = 40;

/// The symlinks by which files are known to hold keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyLinks {
    /// Symlinks with names of files with keys, and where they lead.
    targets: BTreeMap<PathBuf, PathBuf>,
    /// These and the symlinks that they lead through, as far as the run could change them.
    steps: BTreeSet<PathBuf>,
}

/// Where a symlink leads.
pub(super) struct FollowedLink {
    /// The symlinks on the way, the first one included.
    pub(super) symlinks: Vec<PathBuf>,
    /// The path at the end, without symlinks. It need not exist.
    pub(super) end: PathBuf,
}

impl FollowedLink {
    /// Follows a path, which leads to itself if it is not a symlink.
    pub(super) fn new(path: &Path) -> Self {
        let mut followed = Self {
            symlinks: Vec::new(),
            end: PathBuf::new(),
        };
        let mut remaining = parts(path);
        while let Some(part) = remaining.pop() {
            if part == *".." {
                followed.end.pop();
                continue;
            }
            // An absolute part replaces the path.
            let next = followed.end.join(&part);
            match next.read_link() {
                Ok(target) if followed.symlinks.len() < MAX_FOLLOWED => {
                    followed.symlinks.push(next);
                    remaining.extend(parts(&target));
                }
                _ => followed.end = next,
            }
        }
        followed
    }
}

/// Returns the components of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    let parts = parts.filter(|part| *part != Component::CurDir);
    parts.map(|part| OsStr::to_owned(part.as_ref())).collect()
}

impl KeyLinks {
    /// Adds a symlink with its target, and those on the way that the run could change.
    pub(super) fn add(&mut self, link: &Path, target: PathBuf, steps: Vec<PathBuf>) {
        self.targets.insert(link.to_owned(), target);
        self.steps.extend(steps);
    }

    /// Returns the number of symlinks that have to stay.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Removes the symlinks that stay anyway.
    pub(super) fn retain_steps(&mut self, is_kept: impl Fn(&Path) -> bool) {
        self.steps.retain(|step| is_kept(step));
    }

    pub(super) fn steps(&self) -> &BTreeSet<PathBuf> {
        &self.steps
    }

    /// Returns the symlinks that lead elsewhere now.
    pub(super) fn changed(&self) -> impl Iterator<Item = ChangedKeyLink> {
        let changed = self
            .targets
            .iter()
            .filter(|(link, target)| FollowedLink::new(link).end != **target);
        changed.map(|(link, target)| ChangedKeyLink::new(link, target))
    }
}
