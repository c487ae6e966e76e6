//! Lexical operations on paths, without access to the disk.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Replaces the symlinks in a path by their targets, repeatedly, as far as `links` contains them.
///
/// At most 40 symlinks are followed; a path in a cycle is returned as it is after that many.
pub(crate) fn resolve_symlinks(links: &HashMap<PathBuf, PathBuf>, path: &Path) -> PathBuf {
    // The limit of Linux (`MAXSYMLINKS`), so that a cycle ends.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    // The usual case: no root contains a symlink.
    if links.is_empty() {
        return path;
    }
    for _ in 0..MAX_LINKS {
        let longest_link = path
            .ancestors()
            .find_map(|start| Some((links.get(start)?, path.strip_prefix(start).ok()?)));
        match longest_link {
            Some((target, rest)) if rest.as_os_str().is_empty() => path = target.clone(),
            Some((target, rest)) => path = target.join(rest),
            None => break,
        }
    }
    path
}

/// Removes `.` and `..` from a path, as if no component were a symlink.
///
/// `..` at the root is dropped.
pub(crate) fn normalize_path(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            part => normalized.push(part),
        }
    }
    normalized
}
