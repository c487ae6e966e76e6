//! A directory to visit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::error::DiscoveryError;
use crate::open::open_canonical;

/// A directory to visit, below the directory `base`, which is the root or where a symlink led.
pub(crate) struct PendingDir {
    pub(crate) base: Arc<WalkBase>,
    pub(crate) depth: usize,
    /// Its canonical path.
    pub(crate) canonical_path: Arc<Path>,
}

/// Where handles start. Only the root's handle stays open, so that a tree of symlinks does not use
/// up file descriptors.
pub(crate) struct WalkBase {
    pub(crate) path: PathBuf,
    pub(crate) handle: Option<Dir>,
    pub(crate) is_root: bool,
}

impl PendingDir {
    /// The directory that `base` is.
    pub(crate) fn from_base(base: Arc<WalkBase>, depth: usize) -> Self {
        let full = Arc::from(base.path.as_path());
        Self {
            base,
            depth,
            canonical_path: full,
        }
    }

    /// The directory `name` in this one.
    pub(crate) fn child(&self, name: &Path) -> Self {
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

    /// Its path below the base.
    pub(crate) fn relative_path(&self) -> &Path {
        strip_base(&self.canonical_path, &self.base.path)
    }

    /// Opens the directory; no symlink on the way is passed.
    pub(crate) fn open(&self) -> Result<Dir, DiscoveryError> {
        let path = self.relative_path();
        let base = match &self.base.handle {
            Some(handle) if path.as_os_str().is_empty() => {
                return handle.try_clone().map_err(DiscoveryError::from_io);
            }
            Some(handle) => return handle.open_dir(path).map_err(DiscoveryError::from_io),
            None => open_canonical(&self.base.path)?,
        };
        if path.as_os_str().is_empty() {
            Ok(base)
        } else {
            base.open_dir(path).map_err(DiscoveryError::from_io)
        }
    }
}

/// Takes `base` off a path that was joined from it; a separator stands behind a base that is not
/// `/`.
#[cfg(unix)]
fn strip_base<'a>(full: &'a Path, base: &Path) -> &'a Path {
    use std::os::unix::ffi::OsStrExt;
    let rest = full
        .as_os_str()
        .as_bytes()
        .get(base.as_os_str().len()..)
        .unwrap_or_default();
    Path::new(std::ffi::OsStr::from_bytes(
        rest.strip_prefix(b"/").unwrap_or(rest),
    ))
}

#[cfg(not(unix))]
fn strip_base<'a>(full: &'a Path, base: &Path) -> &'a Path {
    full.strip_prefix(base).unwrap_or(Path::new(""))
}
