//! Finds every path at which a file can be replaced.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symlinks in a path, as of the kernel.
const MAX_LINKS: u32 = 40;

/// Returns every path that decides which file `path` is: each symlink that leads to it, with the
/// directory of the symlink resolved, and the path without symlinks. A user that can write one of
/// them can change the file, or put another one in its place.
///
/// What does not exist is included as well, since it can be created: the target of a dangling
/// symlink, for example. A loop of symlinks ends after 40 of them.
///
/// ```
/// use skills_store::locations;
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path().canonicalize()?;
/// let policy = directory.join("policy.toml");
/// # #[cfg(unix)]
/// std::os::unix::fs::symlink("missing.toml", &policy)?;
/// # #[cfg(unix)]
/// assert!(locations(&policy).into_iter().eq([directory.join("missing.toml"), policy]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn locations(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut pending = names(&absolute);
    let mut current = PathBuf::new();
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            current.pop();
            continue;
        }
        // The root replaces what is there, so an absolute target needs no case of its own.
        let next = current.join(name);
        let target = if links < MAX_LINKS {
            next.read_link().ok()
        } else {
            None
        };
        match target {
            Some(target) => {
                links += 1;
                found.insert(next);
                let mut names = names(&target);
                names.append(&mut pending);
                pending = names;
            }
            None => current = next,
        }
    }
    found.insert(current);
    found
}

fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}
