//! What stays as it is in a directory that may be written.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use cap_primitives::fs::FollowSymlinks;
use skills_policy::{Access, Grants};
use skills_sandbox::{PROTECTED, PROTECTED_IN_GIT};

use super::refusal::Refusal;

/// Knows the granted directories by where they really lie, and what in them is not to be changed: what was granted for reading only, and the names
/// of [`PROTECTED`]. Unlike the walls of the operating system it protects names that do not exist yet as well.
pub(super) struct Guard {
    /// Empty when nothing may be written, so that nothing has to be asked.
    granted: Vec<(PathBuf, Access)>,
    /// What protected names lead to in the same directory, when they are links; looked for when something is first changed.
    targets: OnceLock<Vec<PathBuf>>,
    /// Where the private directory lies, once it is made.
    private: OnceLock<PathBuf>,
}

/// An entry that may be changed: the directory that it is in, held open, and its name there. Whoever acts on these two acts on what was judged, whatever
/// others do to the path meanwhile.
pub(super) struct Entry {
    pub(super) directory: File,
    pub(super) name: PathBuf,
}

impl Guard {
    pub(super) fn new(grants: &Grants) -> Self {
        let files = grants.files().iter().map(|file| (file.path().to_owned(), file.access()));
        let mut granted: Vec<_> = files.collect();
        if granted.iter().all(|(_, access)| *access == Access::ReadOnly) {
            granted.clear();
        }
        Self { granted, targets: OnceLock::new(), private: OnceLock::new() }
    }

    /// Says that nothing has to be asked.
    pub(super) fn is_idle(&self) -> bool {
        self.granted.is_empty()
    }

    /// Tells where the private directory lies.
    pub(super) fn private(&self, directory: &File) -> io::Result<()> {
        if !self.is_idle() {
            // It is made once.
            let _ = self.private.set(real_path(directory)?);
        }
        Ok(())
    }

    /// Refuses to make, change or remove the entry that `path` names beneath `dir`; links on the way are followed, the entry itself is not.
    pub(super) fn check(&self, dir: &File, path: &Path) -> io::Result<Entry> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => open_directory(dir, parent)?,
            _ => dir.try_clone()?,
        };
        let Some(Component::Normal(name)) = path.components().next_back() else {
            // A directory by another of its names: `.`, or a path that ends in `..`.
            let directory = open_directory(dir, path)?;
            self.judge(&real_path(&directory)?)?;
            return Ok(Entry { directory, name: PathBuf::from(".") });
        };
        self.judge(&real_path(&parent)?.join(name))?;
        let mut name = PathBuf::from(name);
        // A slash at the end leads on through a symlink, to what was not judged.
        if leads_on(path) {
            let metadata = cap_primitives::fs::stat(&parent, &name, FollowSymlinks::No);
            if metadata.is_ok_and(|metadata| metadata.file_type().is_symlink()) {
                return Err(Refusal::NotPermitted.into());
            }
            name.push("");
        }
        Ok(Entry { directory: parent, name })
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
        let around = self.granted.iter().filter(|(granted, _)| lies_in(path, granted));
        let Some((granted, access)) = around.max_by_key(|(granted, _)| granted.components().count()) else {
            // A granted directory that somebody moved is none any more.
            return self.private.get().is_some_and(|private| lies_in(path, private));
        };
        let below: PathBuf = path.components().skip(granted.components().count()).collect();
        let is_named = names(granted).any(|name| starts_with(&below, Path::new(name)));
        *access == Access::ReadWrite && !is_named && !self.targets().iter().any(|target| lies_in(path, target))
    }

    /// Says whether something that is not to be changed, or was granted itself, lies below `path`, and would move with it.
    fn is_above(&self, path: &Path) -> bool {
        let is_named_below = |granted: &PathBuf| {
            let below: PathBuf = path.components().skip(granted.components().count()).collect();
            lies_in(path, granted) && names(granted).any(|name| starts_with(Path::new(name), &below))
        };
        self.granted.iter().any(|(granted, _)| lies_in(granted, path) || is_named_below(granted))
            || self.targets().iter().any(|target| lies_in(target, path))
    }

    fn targets(&self) -> &[PathBuf] {
        let target = |granted: &Path, name: &str| {
            let path = granted.join(name);
            path.canonicalize().ok().filter(|target| *target != path && target.starts_with(granted) && target != granted)
        };
        let find = || {
            let writable = self.granted.iter().filter(|(_, access)| *access == Access::ReadWrite);
            writable.flat_map(|(granted, _)| names(granted).filter_map(|name| target(granted, name))).collect()
        };
        self.targets.get_or_init(find)
    }
}

/// What is protected in a granted directory; all of `.git` is, unless it was itself granted.
fn names(granted: &Path) -> impl Iterator<Item = &'static str> {
    let is_git = granted.ends_with(".git");
    let names = if is_git { &PROTECTED_IN_GIT[..] } else { &PROTECTED[..] };
    (!is_git).then_some(".git").into_iter().chain(names.iter().copied())
}

/// Says whether a path is a directory or lies in it, where the system's file systems usually tell upper and lower case apart.
#[cfg(not(any(target_vendor = "apple", windows)))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory)
}

/// The same where they do not.
#[cfg(any(target_vendor = "apple", windows))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    starts_with(path, directory)
}

/// As [`Path::starts_with`], but blind to case, as some file systems are anywhere.
fn starts_with(path: &Path, prefix: &Path) -> bool {
    let mut parts = path.components();
    prefix.components().all(|wanted| parts.next().is_some_and(|part| is_same_name(part.as_os_str(), wanted.as_os_str())))
}

fn is_same_name(one: &OsStr, other: &OsStr) -> bool {
    // There and back, since some letters change in one direction only: the sign of Kelvin, the long s.
    let folded = |name: &OsStr| name.to_str().map(|name| name.to_lowercase().to_uppercase());
    one == other || (folded(one).is_some() && folded(one) == folded(other))
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
