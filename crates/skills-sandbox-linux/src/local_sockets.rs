//! Whether the processes of a run may talk over local sockets, and where they may bind them.

use std::path::{Path, PathBuf};

use crate::landlock_abi::LandlockAbi;
use crate::observer::can_copy_descriptors;
use crate::path_rule::PathRule;
use crate::plan::Plan;
use crate::rootfs_plan::{SHARED_MEMORY_PATH, home_path};

/// The directory for temporary files, in a scratch space in which programs must not bind everywhere.
const TEMPORARY_DIR: &str = "tmp";

/// The local sockets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalSockets {
    /// Connected pairs only.
    Denied,
    /// Those that the run binds, to which the host process connects.
    Supervised,
}

impl LocalSockets {
    /// Returns whether a run may have local sockets: names belong to its own network, Landlock keeps it
    /// from binding in directories of the host, and the host process can make its connections.
    pub(crate) fn of_plan(plan: &Plan, landlock: Option<LandlockAbi>) -> Self {
        let is_confined = plan.network.is_separate() && landlock.is_some();
        if is_confined && plan.executable.is_some() && can_copy_descriptors() {
            Self::Supervised
        } else {
            Self::Denied
        }
    }
}

/// Returns the directory for temporary files: the scratch space, or a directory in it if a writable
/// directory of the host is mounted in the scratch space, where programs must not bind sockets.
pub(crate) fn temporary_dir(scratch: &Path, paths: &[PathRule]) -> PathBuf {
    let directory = scratch.join(TEMPORARY_DIR);
    let is_free = || {
        !paths
            .iter()
            .any(|rule| rule.path.starts_with(&directory) || directory.starts_with(&rule.path))
    };
    if has_writable_below(&[scratch, Path::new(SHARED_MEMORY_PATH)], paths) && is_free() {
        directory
    } else {
        scratch.to_owned()
    }
}

/// Returns the directories at and below which programs may bind sockets: none that contains a writable
/// directory of the host, for which the same right of Landlock would apply.
pub(crate) fn socket_dirs(scratch: &Path, paths: &[PathRule]) -> Vec<PathBuf> {
    if !has_writable_below(&[scratch, Path::new(SHARED_MEMORY_PATH)], paths) {
        return vec![scratch.to_owned()];
    }
    let mut directories = vec![home_path(scratch), temporary_dir(scratch, paths)];
    directories
        .retain(|directory| directory != scratch && !has_writable_below(&[directory], paths));
    directories
}

/// Returns true if a writable path is at or below a directory.
fn has_writable_below(directories: &[&Path], paths: &[PathRule]) -> bool {
    paths.iter().any(|rule| {
        rule.is_writable()
            && directories
                .iter()
                .any(|directory| rule.path.starts_with(directory))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_rule::PathAccess;

    #[test]
    fn a_writable_directory_in_the_scratch_space_moves_temporary_files() {
        let scratch = Path::new("/tmp");
        let planned = |access: PathAccess, path: &str| {
            let rules = [PathRule::granted(path, access)];
            let directories = socket_dirs(scratch, &rules);
            let directories = directories.iter().map(|path| path.display().to_string());
            let directories = directories.collect::<Vec<_>>().join(" ");
            (
                temporary_dir(scratch, &rules).display().to_string(),
                directories,
            )
        };
        let everywhere = ("/tmp".to_owned(), "/tmp".to_owned());
        assert_eq!(planned(PathAccess::Write, "/project"), everywhere);
        // The kernel creates no socket in a read-only mount.
        assert_eq!(planned(PathAccess::Read, "/tmp/project"), everywhere);
        let apart = ("/tmp/tmp".to_owned(), "/tmp/home /tmp/tmp".to_owned());
        assert_eq!(planned(PathAccess::Write, "/tmp/project"), apart);
        assert_eq!(planned(PathAccess::Write, "/dev/shm/project"), apart);
        let in_home = ("/tmp/tmp".to_owned(), "/tmp/tmp".to_owned());
        assert_eq!(planned(PathAccess::Write, "/tmp/home/project"), in_home);
        let in_temporary = ("/tmp".to_owned(), "/tmp/home".to_owned());
        assert_eq!(planned(PathAccess::Write, "/tmp/tmp/project"), in_temporary);
    }
}
