//! Directories that are hidden from models.

use std::path::{Path, PathBuf};

use skills_runtime::policy::fold_name;

/// Hidden directories, as canonical paths. The comparison ignores case, since some file systems do.
pub(crate) struct HiddenDirs(Vec<PathBuf>);

impl HiddenDirs {
    /// Canonicalizes the directories. Done per call, since they may be created or replaced after
    /// the tools were built.
    pub(crate) fn resolve(directories: &[PathBuf]) -> Self {
        Self(
            directories
                .iter()
                .map(|path| fold_path(&canonicalize_existing(path)))
                .collect(),
        )
    }

    /// Keeps the directories below a canonical path.
    pub(crate) fn within(mut self, path: &Path) -> Self {
        let path = fold_path(path);
        self.0.retain(|hidden| hidden.starts_with(&path));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a canonical path is a hidden directory or inside one.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let path = fold_path(path);
        self.0.iter().any(|hidden| path.starts_with(hidden))
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
