//! Follows symlinks one by one, for the names on the way mean something.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::SkipReason;
use super::tracked_fs::TrackedFs;

/// As many as Linux follows.
const MAX_LINKS: usize = 40;

/// Returns the path and each path that it leads to, the real file last, all with real parent
/// directories; `None` when nothing is there.
pub(super) fn follow_symlinks(
    path: &Path,
    disk: &mut TrackedFs,
) -> Option<Result<Vec<PathBuf>, SkipReason>> {
    let mut links = Vec::new();
    let mut next = path.to_owned();
    while links.len() < MAX_LINKS {
        let Some((link, target)) = follow_step(&next, disk) else {
            return (!links.is_empty()).then(|| Err("its symlink leads nowhere".to_owned()));
        };
        links.push(link);
        match target {
            Some(target) => next = target,
            None => return check_executable(links),
        }
    }
    Some(Err("its symlinks lead in a circle".to_owned()))
}

/// Returns a path with its real parent, and where it leads when it is a symlink.
fn follow_step(path: &Path, disk: &mut TrackedFs) -> Option<(PathBuf, Option<PathBuf>)> {
    let parent = path.parent()?.canonicalize().ok()?;
    let link = parent.join(path.file_name()?);
    disk.track(&link);
    let target = fs::read_link(&link).ok().map(|target| parent.join(target));
    Some((link, target))
}

fn check_executable(links: Vec<PathBuf>) -> Option<Result<Vec<PathBuf>, SkipReason>> {
    let Some(metadata) = links.last().and_then(|real| real.metadata().ok()) else {
        return (links.len() > 1).then(|| Err("its symlink leads nowhere".to_owned()));
    };
    Some(match metadata {
        other if !other.is_file() => Err("it is no file".to_owned()),
        file if file.permissions().mode() & 0o111 == 0 => Err("it is not executable".to_owned()),
        _ => Ok(links),
    })
}
