//! What stays as it is in a directory that may be written.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use skills_policy::{Access, Grants};
use skills_sandbox::{PROTECTED, PROTECTED_IN_GIT};

use super::refusal::Refusal;

/// Knows the granted directories by where they really lie, and what in them is not to be changed: what was granted for reading only, and the names
/// of [`PROTECTED`]. Unlike the walls of the operating system it protects names that do not exist yet as well.
pub(super) struct Guard {
    /// Empty when nothing may be written, so that nothing has to be asked.
    granted: Vec<(PathBuf, Access)>,
}

impl Guard {
    pub(super) fn new(grants: &Grants) -> Self {
        let files = grants.files().iter().map(|file| (file.path().to_owned(), file.access()));
        let mut granted: Vec<_> = files.collect();
        if granted.iter().all(|(_, access)| *access == Access::ReadOnly) {
            granted.clear();
        }
        Self { granted }
    }

    /// Refuses to make, change or remove the entry that `path` names beneath `dir`; links on the way are followed, the entry itself is not.
    pub(super) fn check(&self, dir: &File, path: impl AsRef<Path>) -> io::Result<()> {
        if self.granted.is_empty() {
            return Ok(());
        }
        let path = path.as_ref();
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => real_path(&open_directory(dir, parent)?)?,
            _ => real_path(dir)?,
        };
        let entry = match path.components().next_back() {
            Some(Component::Normal(name)) => parent.join(name),
            // A directory by another of its names: `.`, or a path that ends in `..`.
            _ => real_path(&open_directory(dir, path)?)?,
        };
        self.judge(&entry)?;
        // A slash at the end leads on through a symlink; where there is no directory yet, it leads nowhere else.
        if leads_on(path)
            && let Ok(directory) = open_directory(dir, path)
        {
            self.judge(&real_path(&directory)?)
        } else {
            Ok(())
        }
    }

    fn judge(&self, entry: &Path) -> io::Result<()> {
        if self.allows(entry) && !self.is_above(entry) { Ok(()) } else { Err(Refusal::NotPermitted.into()) }
    }

    /// Says whether an open file is not to be changed.
    pub(super) fn is_protected(&self, file: &File) -> io::Result<bool> {
        Ok(!self.granted.is_empty() && !self.allows(&real_path(file)?))
    }

    /// The innermost granted directory decides.
    fn allows(&self, path: &Path) -> bool {
        let around = self.granted.iter().filter(|(granted, _)| path.starts_with(granted));
        let Some((granted, access)) = around.max_by_key(|(granted, _)| granted.components().count()) else { return true };
        let Ok(below) = path.strip_prefix(granted) else { return false };
        *access == Access::ReadWrite && !names(granted).any(|name| starts_with(below, Path::new(name)))
    }

    /// Says whether something that is not to be changed lies below `path`, and would move with it.
    fn is_above(&self, path: &Path) -> bool {
        self.granted.iter().any(|(granted, access)| {
            let is_granted_below = *access == Access::ReadOnly && granted.starts_with(path);
            let below = path.strip_prefix(granted);
            is_granted_below || below.is_ok_and(|below| names(granted).any(|name| starts_with(Path::new(name), below)))
        })
    }
}

/// What is protected in a granted directory; all of `.git` is, unless it was itself granted.
fn names(granted: &Path) -> impl Iterator<Item = &'static str> {
    let is_git = granted.ends_with(".git");
    let names = if is_git { &PROTECTED_IN_GIT[..] } else { &PROTECTED[..] };
    (!is_git).then_some(".git").into_iter().chain(names.iter().copied())
}

/// As [`Path::starts_with`], but blind to case, as some file systems are.
fn starts_with(path: &Path, prefix: &Path) -> bool {
    let mut parts = path.components();
    prefix.components().all(|wanted| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(wanted.as_os_str())))
}

/// Says whether a path ends in `/` or `/.`, which its components do not tell.
fn leads_on(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

fn open_directory(dir: &File, path: &Path) -> io::Result<File> {
    cap_primitives::fs::open_dir(dir, path)
}

/// Returns where an open file lies now. Where the system does not say, nothing may be written.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn real_path(file: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

#[cfg(target_vendor = "apple")]
pub(super) fn real_path(file: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn real_path(_file: &File) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
