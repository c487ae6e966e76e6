//! The directories of the scratch space of a run with namespaces.

use std::path::{Path, PathBuf};

use crate::isolation::IsolationLevel;
use crate::path_rule::{PathRule, PlanContext};
use crate::rootfs_plan::{SHARED_MEMORY_PATH, home_path};

/// The directory for temporary files, in a scratch space in which programs must not bind everywhere.
const TEMPORARY_DIR: &str = "tmp";

/// Returns the directory for temporary files: the scratch space, or a directory in it if a writable
/// directory of the host is mounted in the scratch space, where programs must not bind sockets.
pub(crate) fn temporary_dir(context: &PlanContext, paths: &[PathRule]) -> PathBuf {
    let scratch = &context.scratch_path;
    if context.isolation != IsolationLevel::Namespaces {
        return scratch.clone();
    }
    let directory = scratch.join(TEMPORARY_DIR);
    let is_free = || {
        !paths
            .iter()
            .any(|rule| rule.path.starts_with(&directory) || directory.starts_with(&rule.path))
    };
    if has_writable_below(&[scratch, Path::new(SHARED_MEMORY_PATH)], paths) && is_free() {
        directory
    } else {
        scratch.clone()
    }
}

/// Returns the directories at and below which programs may bind sockets: none that contains a writable
/// directory of the host, for which the same right of Landlock would apply.
pub(crate) fn socket_dirs(context: &PlanContext, paths: &[PathRule]) -> Vec<PathBuf> {
    let scratch = &context.scratch_path;
    if !has_writable_below(&[scratch, Path::new(SHARED_MEMORY_PATH)], paths) {
        return vec![scratch.clone()];
    }
    let mut directories = vec![home_path(scratch), temporary_dir(context, paths)];
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
        let context = PlanContext {
            isolation: IsolationLevel::Namespaces,
            scratch_path: "/tmp".into(),
            mount_proc: true,
            own_network: true,
        };
        let planned = |access: PathAccess, path: &str| {
            let rules = [PathRule::granted(path, access)];
            let directories = socket_dirs(&context, &rules);
            let directories = directories.iter().map(|path| path.display().to_string());
            let directories = directories.collect::<Vec<_>>().join(" ");
            (
                temporary_dir(&context, &rules).display().to_string(),
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
