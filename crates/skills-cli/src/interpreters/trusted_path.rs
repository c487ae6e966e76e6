//! Directories of `PATH` in which interpreters may be found.

use std::path::{Path, PathBuf};

use skills_store::trusted_file;

use crate::process_environment::{Environment, project_dirs_of};

/// The directories that interpreters may be in: those that only this user or the administrator can
/// write to, and that are outside the project and the working directory. A skill may be allowed to
/// write there, and could otherwise replace the interpreter of another skill.
pub(super) struct TrustedDirectories {
    current: PathBuf,
    project: Vec<PathBuf>,
}

impl TrustedDirectories {
    pub(super) fn new(environment: &Environment) -> Self {
        let current = environment.current_dir().ok();
        let current = current.and_then(|current| current.canonicalize().ok());
        let current = current.unwrap_or_else(|| PathBuf::from("/"));
        Self {
            project: project_dirs_of(&current),
            current,
        }
    }

    /// Returns true for a directory that is one of them.
    pub(super) fn contains(&self, directory: &Path) -> bool {
        let real = directory.canonicalize();
        real.is_ok_and(|real| {
            // Both, since a directory of the project can be a symlink to elsewhere, and the other
            // way round.
            self.is_outside(directory)
                && self.is_outside(&real)
                && trusted_file::check_directory(directory).is_ok()
        })
    }

    fn is_outside(&self, directory: &Path) -> bool {
        let mut project = self.project.iter();
        !directory.starts_with(&self.current) && !project.any(|part| directory.starts_with(part))
    }
}

/// Returns the absolute directories of `PATH` that are trusted.
pub(super) fn trusted_dirs(environment: &Environment) -> Vec<PathBuf> {
    let trusted = TrustedDirectories::new(environment);
    environment
        .search_path()
        .into_iter()
        // A relative entry of `PATH` refers to the working directory, which is the project.
        .filter(|directory| directory.is_absolute())
        .filter(|directory| trusted.contains(directory))
        .collect()
}
