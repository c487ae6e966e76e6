//! The set of directories that a walk has visited.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The canonical paths of the directories that were visited.
///
/// Without symlinks no directory below one root can be reached twice. So paths are only recorded,
/// which is cheap, until [`enable_lookup`](Self::enable_lookup) builds the index.
#[derive(Default)]
pub(crate) struct VisitedDirs {
    paths: Vec<Arc<Path>>,
    index: Option<HashSet<CanonicalPath>>,
}

impl VisitedDirs {
    /// Enables the detection of duplicates, because a symlink is followed. All directories that
    /// were visited before are included.
    pub(crate) fn enable_lookup(&mut self) {
        let paths = &mut self.paths;
        self.index
            .get_or_insert_with(|| paths.drain(..).map(CanonicalPath).collect());
    }

    /// Records a directory; returns false if it was visited before.
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

/// A canonical path, compared as bytes. `Path` compares component by component, which costs more
/// and is not needed where each path has only one spelling.
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
