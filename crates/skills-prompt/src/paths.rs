//! Paths as they are written: nothing is looked up on the disk.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Follows the known symlinks of a path, and those of what they lead to.
pub(crate) fn resolve_symlinks(links: &HashMap<PathBuf, PathBuf>, path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    if links.is_empty() {
        return path;
    }
    for _ in 0..MAX_LINKS {
        let known = path
            .ancestors()
            .find_map(|start| Some((links.get(start)?, path.strip_prefix(start).ok()?)));
        match known {
            Some((target, rest)) if rest.as_os_str().is_empty() => path = target.clone(),
            Some((target, rest)) => path = target.join(rest),
            None => break,
        }
    }
    path
}

/// Takes `.` and `..` out of a path, as if there were no symlinks.
pub(crate) fn normalize_path(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}
