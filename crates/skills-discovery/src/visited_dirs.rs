//! The directories that were visited.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The directories that were visited, by their canonical paths; the walk itself never passes a
/// symlink without resolving it, so joined paths stay canonical.
///
/// Below a single root without symlinks nothing can be reached twice, and then the paths are only
/// noted, not looked up.
#[derive(Default)]
pub(crate) struct VisitedDirs {
    paths: Vec<Arc<Path>>,
    index: Option<HashSet<CanonicalPath>>,
}

impl VisitedDirs {
    /// From now on a directory may be reached a second time.
    pub(crate) fn enable_lookup(&mut self) {
        let paths = &mut self.paths;
        self.index
            .get_or_insert_with(|| paths.drain(..).map(CanonicalPath).collect());
    }

    /// Notes a directory; false when it was visited before.
    pub(crate) fn insert(&mut self, path: &Arc<Path>) -> bool {
        match &mut self.index {
            Some(index) => index.insert(CanonicalPath(Arc::clone(path))),
            None => {
                self.paths.push(Arc::clone(path));
                true
            }
        }
    }
}

/// A canonical path, compared byte by byte: there is one spelling of it.
struct CanonicalPath(Arc<Path>);

impl Hash for CanonicalPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_os_str().as_encoded_bytes());
    }
}

impl PartialEq for CanonicalPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_os_str() == other.0.as_os_str()
    }
}

impl Eq for CanonicalPath {}
