//! Follows symlinks one at a time, since each intermediate name is significant.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::bounded_read::SkipReason;

/// The limit of Linux.
const MAX_LINKS: usize = 40;

/// Returns the path and each path that it points to, the real file last, all with canonical parent
/// directories; `None` if nothing exists there.
pub(super) fn follow_symlinks(path: &Path) -> Option<Result<Vec<PathBuf>, SkipReason>> {
    let mut links = Vec::new();
    let mut next = path.to_owned();
    while links.len() < MAX_LINKS {
        let Some((link, target)) = follow_step(&next) else {
            return (!links.is_empty()).then(|| Err("broken symlink".to_owned()));
        };
        links.push(link);
        match target {
            Some(target) => next = target,
            None => return check_executable(links),
        }
    }
    Some(Err("symlink loop".to_owned()))
}

/// Returns a path with its canonical parent, and the target if it is a symlink.
fn follow_step(path: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    // The parent is resolved completely, and the last name is kept: programs find their files by
    // it.
    let parent = path.parent()?.canonicalize().ok()?;
    let link = parent.join(path.file_name()?);
    let target = fs::read_link(&link).ok().map(|target| parent.join(target));
    Some((link, target))
}

fn check_executable(links: Vec<PathBuf>) -> Option<Result<Vec<PathBuf>, SkipReason>> {
    let Some(metadata) = links.last().and_then(|real| real.metadata().ok()) else {
        return (links.len() > 1).then(|| Err("broken symlink".to_owned()));
    };
    Some(match metadata {
        other if !other.is_file() => Err("not a file".to_owned()),
        // A file without these bits would fail only inside of the sandbox.
        file if file.permissions().mode() & 0o111 == 0 => Err("not executable".to_owned()),
        _ => Ok(links),
    })
}
