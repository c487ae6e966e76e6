//! Sets of directories that models may not access or change.

use std::path::{Path, PathBuf};

use skills_runtime::policy::fold_name;

/// Directories, as canonical paths. The comparison ignores case, since some file systems do.
#[derive(Default)]
pub(crate) struct FoldedPaths(Vec<PathBuf>);

impl FoldedPaths {
    /// Canonicalizes the directories. Done per call, since they may be created or replaced after
    /// the tools were built.
    pub(crate) fn resolve(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        Self(
            directories
                .into_iter()
                .map(|path| fold_path(&canonicalize_existing(path.as_ref())))
                .collect(),
        )
    }

    /// Keeps the directories below a canonical path.
    pub(crate) fn within(mut self, path: &Path) -> Self {
        let path = fold_path(path);
        self.0.retain(|directory| directory.starts_with(&path));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a canonical path is one of the directories or inside one.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let path = fold_path(path);
        self.0.iter().any(|directory| path.starts_with(directory))
    }

    /// Returns true if a canonical path is one of the directories, inside one, or above one: a write
    /// to a parent could replace a directory as a whole.
    pub(crate) fn overlaps(&self, path: &Path) -> bool {
        let path = fold_path(path);
        self.0
            .iter()
            .any(|directory| path.starts_with(directory) || directory.starts_with(&path))
    }
}

/// Canonicalizes the existing part of a path.
pub(crate) fn canonicalize_existing(path: &Path) -> PathBuf {
    // The directory may be created later, so the longest existing part is resolved.
    let found = path.ancestors().find_map(|ancestor| {
        Some((
            ancestor.canonicalize().ok()?,
            path.strip_prefix(ancestor).ok()?,
        ))
    });
    found.map_or_else(
        || path.to_owned(),
        |(ancestor, rest)| {
            if rest.as_os_str().is_empty() {
                ancestor
            } else {
                ancestor.join(rest)
            }
        },
    )
}

fn fold_path(path: &Path) -> PathBuf {
    path.components()
        .map(|part| fold_name(&part.as_os_str().to_string_lossy()))
        .collect()
}
