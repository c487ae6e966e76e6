//! Directories of `PATH` in which interpreters may be found.

use std::path::{Path, PathBuf};

use skills_store::trusted_file;

use crate::process_environment::{Environment, project_dirs_of};

/// Returns the absolute directories of `PATH` that only this user or the administrator can write
/// to, and that are outside the project and the working directory. A skill may be allowed to write
/// there, and could otherwise replace the interpreter of another skill.
pub(crate) fn trusted_dirs(environment: &Environment) -> Vec<PathBuf> {
    let here = environment.current_dir().ok();
    let here = here.and_then(|here| here.canonicalize().ok());
    let here = here.unwrap_or_else(|| PathBuf::from("/"));
    let project = project_dirs_of(&here);
    let is_outside = |directory: &Path| {
        !directory.starts_with(&here) && !project.iter().any(|part| directory.starts_with(part))
    };
    let is_trusted = |directory: &PathBuf| {
        let real = directory.canonicalize();
        real.is_ok_and(|real| {
            // Both, since a directory of the project can be a symlink to elsewhere, and the other
            // way round.
            is_outside(directory)
                && is_outside(&real)
                && trusted_file::check_directory(directory).is_ok()
        })
    };
    environment
        .search_path()
        .into_iter()
        // A relative entry of `PATH` refers to the working directory, which is the project.
        .filter(|directory| directory.is_absolute())
        .filter(is_trusted)
        .collect()
}
