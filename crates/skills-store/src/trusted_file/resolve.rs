//! Resolves a path and checks each of its components.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::TrustError;
use super::ownership::{self, Place};

/// Maximum number of symlinks in a path, as of the kernel.
const MAX_LINKS: u32 = 40;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A file, which is checked after it is opened, and need not exist.
    File,
    /// A directory, in which no other user may create anything.
    Directory,
}

/// Returns the path without symlinks, after checking each directory and each link that leads to it.
///
/// The check goes from the root downward, so that no other user can replace a component that was
/// checked.
pub(super) fn resolve(path: &Path, end: End) -> Result<PathBuf, TrustError> {
    let failed = |at: &Path, error| TrustError::io(path, at, error);
    let absolute = std::path::absolute(path).map_err(|error| failed(path, error))?;
    let mut pending: VecDeque<OsString> = names(&absolute).collect();
    let mut current = PathBuf::from("/");
    let root = ownership::metadata(path, &current)?;
    ownership::check_directory(path, &current, &root, place(&pending, end))?;
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == OsStr::new("..") {
            current.pop();
            continue;
        }
        let next = current.join(name);
        let found = match next.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && pending.is_empty() => {
                return Ok(next);
            }
            found => found.map_err(|error| failed(&next, error))?,
        };
        if found.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(failed(&next, io::Error::other("too many symlinks")));
            }
            ownership::check_link(path, &next, &found, &current)?;
            let target = next.read_link().map_err(|error| failed(&next, error))?;
            if target.is_absolute() {
                current = PathBuf::from("/");
            }
            for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                pending.push_front(name);
            }
        } else if found.is_dir() {
            ownership::check_directory(path, &next, &found, place(&pending, end))?;
            current = next;
        } else if pending.is_empty() {
            return Ok(next);
        } else {
            return Err(failed(&next, io::ErrorKind::NotADirectory.into()));
        }
    }
    Ok(current)
}

/// Returns whether a directory is the end of the path, or leads to it.
fn place(pending: &VecDeque<OsString>, end: End) -> Place {
    if pending.is_empty() && end == End::Directory {
        Place::End
    } else {
        Place::OnTheWay
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}
