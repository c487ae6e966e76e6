//! Directories of `PATH` in which interpreters may be found.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};
use skills_runtime::discovery::project_directories;

use crate::discovery_config::PROJECT_MARKERS;

/// Returns the absolute directories of `PATH` that only this user or the administrator can write
/// to, and that are outside the project and the working directory. A skill may be allowed to write
/// there, and could otherwise replace the interpreter of another skill.
pub(crate) fn trusted_dirs() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let here = env::current_dir()
        .and_then(|here| here.canonicalize())
        .unwrap_or_else(|_| PathBuf::from("/"));
    let project = project_directories(&here, &PROJECT_MARKERS);
    let is_outside = |directory: &Path| {
        !directory.starts_with(&here) && !project.iter().any(|part| directory.starts_with(part))
    };
    let is_trusted = |directory: &PathBuf| {
        let real = directory.canonicalize();
        real.is_ok_and(|real| {
            // Both, since a directory of the project can be a symlink to elsewhere, and the other
            // way round.
            is_outside(directory) && is_outside(&real) && real.ancestors().all(is_trusted_dir)
        })
    };
    env::split_paths(&path)
        // A relative entry of `PATH` refers to the working directory, which is the project.
        .filter(|directory| directory.is_absolute())
        .filter(is_trusted)
        .collect()
}

/// Returns true if only this user and the administrator can change or replace a directory. Returns
/// false if its metadata cannot be read.
fn is_trusted_dir(directory: &Path) -> bool {
    const STICKY: u32 = 0o1000;
    directory.metadata().is_ok_and(|found| {
        let is_owned = found.uid() == 0 || found.uid() == geteuid().as_raw();
        let by_group =
            // Many systems give each user a group of the same name.
            found.mode() & 0o020 != 0 && found.gid() != 0 && found.gid() != getegid().as_raw();
        let by_others = found.mode() & 0o002 != 0;
        // In a sticky directory others can add entries but cannot replace those of this user.
        is_owned && (found.mode() & STICKY != 0 || !by_group && !by_others)
    })
}
