//! The writable layer over the copy of a skill.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, FileGrant};
use skills_sandbox::Job;

use crate::path_rule::{PathAccess, PathRule};

/// Maximum executable files in a directory with a layer, each of which is a mount.
const MAX_EXECUTABLES: usize = 64;
/// Maximum entries that are searched for them.
const MAX_ENTRIES: usize = 2_000;

/// Returns the directory that gets a layer: that of the program, if it is a copy and contains nothing
/// that is granted, protected or hidden by itself.
///
/// Its executable files stay those of the copy, and are the only ones that can be started there: a program
/// never executes what it wrote.
pub(crate) fn find_layer(job: &Job, paths: &mut Vec<PathRule>) -> Option<PathBuf> {
    let own = job.grants().files().first().filter(|_| job.has_layer())?;
    let is_copy = own.location() != own.path() && own.access() != Access::ReadWrite;
    // Where its parts are mounted at first.
    let is_in_parts = |rule: &PathRule| rule.path.starts_with("/.layer");
    if !is_copy
        || paths.iter().any(is_in_parts)
        || paths.iter().any(|rule| is_exception_in(own, rule))
    {
        return None;
    }
    execute_files_of_copy(own, paths)?;
    Some(own.path().to_owned())
}

/// Replaces the rule to execute the whole directory, if there is one, by rules for the executable files
/// of its copy. `None` if they are too many.
pub(crate) fn execute_files_of_copy(own: &FileGrant, paths: &mut Vec<PathRule>) -> Option<()> {
    let is_own_program =
        |rule: &PathRule| rule.path == own.path() && rule.access == PathAccess::Execute;
    if paths.iter().any(is_own_program) {
        let executables = find_executables(own.location())?;
        paths.retain(|rule| !is_own_program(rule));
        let executables = executables.iter().map(|below| own.path().join(below));
        paths.extend(executables.map(|path| PathRule::granted(path, PathAccess::Execute)));
    }
    Some(())
}

/// Returns true for a rule of its own below the directory. What is hidden there is usually not in the
/// copy.
fn is_exception_in(own: &FileGrant, rule: &PathRule) -> bool {
    match rule.path.strip_prefix(own.path()) {
        Ok(below) if below.as_os_str().is_empty() => false,
        Ok(below) if rule.access == PathAccess::Hidden => {
            own.location().join(below).symlink_metadata().is_ok()
        }
        below => below.is_ok(),
    }
}

/// Returns the executable files of a directory, relative to it; `None` if there are too many. Another
/// process cannot change it: it is a private copy.
fn find_executables(directory: &Path) -> Option<Vec<PathBuf>> {
    let mut executables = Vec::new();
    let mut remaining = MAX_ENTRIES;
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        for entry in directory.join(&below).read_dir().ok()? {
            let entry = entry.ok()?;
            remaining = remaining.checked_sub(1)?;
            let path = below.join(entry.file_name());
            let metadata = entry.metadata().ok()?;
            if metadata.is_dir() {
                pending.push(path);
            } else if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
                executables.push(path);
            }
        }
    }
    (executables.len() <= MAX_EXECUTABLES).then_some(executables)
}
