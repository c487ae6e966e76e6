//! A directory that a walk will visit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::error::DiscoveryError;
use crate::open::{open_canonical, open_listed_dir};
use crate::walk_path::WalkPath;

/// A directory that a walk will visit, opened relative to `base`: the root, or the target of the
/// last symlink on the way.
pub(crate) struct PendingDir {
    pub(crate) base: Arc<WalkBase>,
    /// The number of directories between the root and this one.
    pub(crate) depth: usize,
    /// The canonical path of the directory.
    pub(crate) canonical_path: Arc<Path>,
}

/// The directory that others are opened below: a root or the target of a symlink.
pub(crate) struct WalkBase {
    /// The canonical path.
    pub(crate) path: PathBuf,
    /// The handle of a root. Targets of symlinks have none, so that a tree of symlinks does not
    /// exhaust the file descriptors.
    pub(crate) handle: Option<Dir>,
    /// How the walk got here.
    pub(crate) walk_path: Arc<WalkPath>,
}

impl PendingDir {
    /// Returns the base itself, at the given depth.
    pub(crate) fn from_base(base: Arc<WalkBase>, depth: usize) -> Self {
        Self {
            canonical_path: Arc::from(base.path.as_path()),
            base,
            depth,
        }
    }

    /// Returns the directory `name` in this one, which must not be a symlink.
    pub(crate) fn child(&self, name: &Path) -> Self {
        // `Path::join` would allocate a second time when it appends the name.
        let mut path = PathBuf::with_capacity(
            self.canonical_path.as_os_str().len() + name.as_os_str().len() + 1,
        );
        path.push(&*self.canonical_path);
        path.push(name);
        Self {
            base: Arc::clone(&self.base),
            depth: self.depth + 1,
            canonical_path: Arc::from(path),
        }
    }

    /// Returns the path relative to the base.
    pub(crate) fn relative_path(&self) -> &Path {
        self.canonical_path
            .strip_prefix(&self.base.path)
            .unwrap_or(Path::new(""))
    }

    /// Opens the directory below its base, to list it once. Fails if a component was replaced by a
    /// symlink that leads out of the base.
    pub(crate) fn open(&self) -> Result<Dir, DiscoveryError> {
        let path = self.relative_path();
        match &self.base.handle {
            // A copy of the handle would share its position in the listing. The empty path cannot
            // be opened.
            Some(handle) if path.as_os_str().is_empty() => open_listed_dir(handle, Path::new(".")),
            Some(handle) => open_listed_dir(handle, path),
            None => {
                let base = open_canonical(&self.base.path)?;
                if path.as_os_str().is_empty() {
                    return Ok(base);
                }
                open_listed_dir(&base, path)
            }
        }
    }
}
