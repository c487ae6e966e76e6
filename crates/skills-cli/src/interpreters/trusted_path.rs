//! Directories of `PATH` in which interpreters may be found.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use crate::file_mode::STICKY;
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
                && is_trusted_dir(&real)
                && real.ancestors().skip(1).all(keeps_entries)
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

/// Returns true if only this user and the administrator can change or replace a directory. Returns
/// false if its metadata cannot be read.
fn is_trusted_dir(directory: &Path) -> bool {
    is_owner_writable_only(directory, 0)
}

/// Returns true if others cannot replace an entry of a directory: additionally to
/// [`is_trusted_dir`], a sticky directory, to which others can only add entries.
fn keeps_entries(directory: &Path) -> bool {
    is_owner_writable_only(directory, STICKY)
}

fn is_owner_writable_only(directory: &Path, exempt: u32) -> bool {
    directory.metadata().is_ok_and(|found| {
        let is_owned = found.uid() == 0 || found.uid() == geteuid().as_raw();
        let by_group =
            // Many systems give each user a group of the same name.
            found.mode() & 0o020 != 0 && found.gid() != 0 && found.gid() != getegid().as_raw();
        let by_others = found.mode() & 0o002 != 0;
        is_owned && (found.mode() & exempt != 0 || !by_group && !by_others)
    })
}
