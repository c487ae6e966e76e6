//! The directories that the host keeps from models.

use std::path::{Path, PathBuf};

use skills_runtime::policy::fold_name;

/// Hidden directories, by their canonical paths. Names are compared without case, because two
/// spellings of a name are one directory on some disks.
pub(crate) struct HiddenDirs(Vec<PathBuf>);

impl HiddenDirs {
    /// Looks up where the directories are now: they may be made, or replaced by links, after the
    /// tools were built.
    pub(crate) fn resolve(directories: &[PathBuf]) -> Self {
        Self(
            directories
                .iter()
                .map(|path| fold_path(&canonicalize_existing(path)))
                .collect(),
        )
    }

    /// Keeps those that lie below a canonical path.
    pub(crate) fn within(mut self, path: &Path) -> Self {
        let path = fold_path(path);
        self.0.retain(|hidden| hidden.starts_with(&path));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says whether a canonical path is a hidden directory or lies in one.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let path = fold_path(path);
        self.0.iter().any(|hidden| path.starts_with(hidden))
    }
}

/// Resolves the part of a path that is there.
pub(crate) fn canonicalize_existing(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    there.map_or_else(
        || path.to_owned(),
        |(above, rest)| {
            if rest.as_os_str().is_empty() {
                above
            } else {
                above.join(rest)
            }
        },
    )
}

fn fold_path(path: &Path) -> PathBuf {
    path.components()
        .map(|part| fold_name(&part.as_os_str().to_string_lossy()))
        .collect()
}
