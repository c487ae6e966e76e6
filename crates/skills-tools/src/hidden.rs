//! The directories that the host keeps from models.

use std::path::{Path, PathBuf};

use skills_runtime::policy::folded;

/// Hidden directories, by their canonical paths. Names are compared without case, because two
/// spellings of a name are one directory on some disks.
pub(crate) struct Hidden(Vec<PathBuf>);

impl Hidden {
    /// Looks up where the directories are now: they may be made, or replaced by links, after the
    /// tools were built.
    pub(crate) fn of(directories: &[PathBuf]) -> Self {
        Self(
            directories
                .iter()
                .map(|path| comparable(&canonical(path)))
                .collect(),
        )
    }

    /// Keeps those that lie below a canonical path.
    pub(crate) fn below(mut self, path: &Path) -> Self {
        let path = comparable(path);
        self.0.retain(|hidden| hidden.starts_with(&path));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says whether a canonical path is a hidden directory or lies in one.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let path = comparable(path);
        self.0.iter().any(|hidden| path.starts_with(hidden))
    }
}

/// Resolves the part of a path that is there.
pub(crate) fn canonical(path: &Path) -> PathBuf {
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

fn comparable(path: &Path) -> PathBuf {
    path.components()
        .map(|part| folded(&part.as_os_str().to_string_lossy()))
        .collect()
}
