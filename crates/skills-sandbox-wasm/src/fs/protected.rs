//! What stays as it is in a directory that may be written.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use cap_primitives::fs::FollowSymlinks;
use skills_policy::{Access, FileGrant, Grants, leads_to_protected, protected_by};

use super::error_code::FsErrorCode;

/// Knows the granted directories by where they really lie, and what in them is not to be changed:
/// what was granted for reading only, and what is [protected](skills_policy::PROTECTED), at any
/// depth and whether it exists or not. What is hidden is not opened either.
pub(super) struct ProtectedPaths {
    grants: Grants,
    is_writable: bool,
    /// What protected links at the top of granted directories lead to in the same directory;
    /// searched when something is first changed.
    link_targets: OnceLock<Vec<PathBuf>>,
    /// Where the private directory lies, once it is made.
    scratch: OnceLock<PathBuf>,
}

/// An entry that may be changed: the directory that it is in, held open, and its name there.
/// Whoever acts on these two acts on what was judged, whatever others do to the path meanwhile.
pub(super) struct ParentAndName {
    pub(super) parent: File,
    pub(super) name: PathBuf,
}

impl ProtectedPaths {
    pub(super) fn new(grants: &Grants) -> Self {
        let is_writable = grants
            .files()
            .iter()
            .any(|file| file.access() == Access::ReadWrite);
        Self {
            grants: grants.clone(),
            is_writable,
            link_targets: OnceLock::new(),
            scratch: OnceLock::new(),
        }
    }

    /// Returns whether nothing can be changed but the private directory.
    pub(super) fn is_read_only(&self) -> bool {
        !self.is_writable
    }

    /// Refuses an open file or directory that is hidden.
    pub(super) fn check_visible(&self, file: &File) -> io::Result<()> {
        if self.grants.hidden().is_empty() {
            return Ok(());
        }
        let path = real_path(file)?;
        if self
            .grants
            .hidden()
            .iter()
            .any(|hidden| lies_in(&path, hidden))
        {
            Err(FsErrorCode::NotPermitted.into())
        } else {
            Ok(())
        }
    }

    /// Tells where the private directory lies.
    pub(super) fn set_scratch(&self, directory: &File) -> io::Result<()> {
        if !self.is_read_only() {
            // It is made once.
            let _ = self.scratch.set(real_path(directory)?);
        }
        Ok(())
    }

    /// Refuses to make, change or remove the entry that `path` names beneath `dir`; links on the
    /// way are followed, the entry itself is not.
    pub(super) fn check(&self, dir: &File, path: &Path) -> io::Result<ParentAndName> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => open_directory(dir, parent)?,
            _ => dir.try_clone()?,
        };
        let Some(Component::Normal(name)) = path.components().next_back() else {
            // A directory by another of its names: `.`, or a path that ends in `..`.
            let directory = open_directory(dir, path)?;
            self.check_entry(&real_path(&directory)?)?;
            return Ok(ParentAndName {
                parent: directory,
                name: PathBuf::from("."),
            });
        };
        self.check_entry(&real_path(&parent)?.join(name))?;
        let mut name = PathBuf::from(name);
        // A slash at the end leads on through a symlink, to what was not judged.
        if has_trailing_separator(path) {
            let metadata = cap_primitives::fs::stat(&parent, &name, FollowSymlinks::No);
            if metadata.is_ok_and(|metadata| metadata.file_type().is_symlink()) {
                return Err(FsErrorCode::NotPermitted.into());
            }
            name.push("");
        }
        Ok(ParentAndName { parent, name })
    }

    fn check_entry(&self, entry: &Path) -> io::Result<()> {
        if self.is_writable_path(entry) && !self.contains_protected(entry) {
            Ok(())
        } else {
            Err(FsErrorCode::NotPermitted.into())
        }
    }

    /// Says whether an open file is not to be changed.
    pub(super) fn is_protected(&self, file: &File) -> io::Result<bool> {
        Ok(self.is_writable && !self.is_writable_path(&real_path(file)?))
    }

    /// The innermost granted directory decides.
    fn is_writable_path(&self, path: &Path) -> bool {
        let around = self
            .grants
            .files()
            .iter()
            .filter(|file| lies_in(path, file.path()));
        let Some(granted) = around.max_by_key(|file| file.path().components().count()) else {
            // A granted directory that was moved is not granted any more.
            return self
                .scratch
                .get()
                .is_some_and(|private| lies_in(path, private));
        };
        granted.access() == Access::ReadWrite
            && self.grants.protected_in(granted.path(), path).is_none()
            && !self
                .grants
                .hidden()
                .iter()
                .chain(self.link_targets())
                .any(|kept| lies_in(path, kept))
    }

    /// Says whether something that is not to be changed, or was granted itself, lies below `path`,
    /// and would move with it.
    fn contains_protected(&self, path: &Path) -> bool {
        let leads_on =
            |file: &FileGrant| lies_in(path, file.path()) && leads_to_protected(path, file.path());
        let granted = self.grants.files().iter().map(|file| file.path());
        let kept = self
            .grants
            .protected()
            .iter()
            .chain(self.grants.hidden())
            .chain(self.link_targets())
            .map(PathBuf::as_path);
        self.grants.files().iter().any(leads_on)
            || granted.chain(kept).any(|below| lies_in(below, path))
    }

    fn link_targets(&self) -> &[PathBuf] {
        self.link_targets.get_or_init(|| {
            let (mut targets, mut left) = (Vec::new(), MAX_ENTRIES);
            let writable = self
                .grants
                .files()
                .iter()
                .filter(|file| file.access() == Access::ReadWrite);
            writable.for_each(|file| {
                find_link_targets(file.path(), file.path(), &mut left, &mut targets)
            });
            targets
        })
    }
}

/// The most directory entries that are examined for links.
const MAX_ENTRIES: usize = 10_000;

/// Finds what protected links in `directory` lead to in `granted`; searches further where names of
/// more than one component begin, and below what is protected.
#[expect(
    clippy::disallowed_methods,
    reason = "names are listed, and what is written is judged again by where it really lies"
)]
fn find_link_targets(
    directory: &Path,
    granted: &Path,
    left: &mut usize,
    targets: &mut Vec<PathBuf>,
) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return;
        }
        let (path, kind) = (entry.path(), entry.file_type());
        let is_kind = |is: fn(&std::fs::FileType) -> bool| kind.as_ref().is_ok_and(is);
        let is_protected = protected_by(&path, granted).is_some();
        if is_kind(std::fs::FileType::is_symlink) && is_protected {
            targets.extend(
                path.canonicalize()
                    .ok()
                    .filter(|target| target.starts_with(granted) && target != granted),
            );
        } else if is_kind(std::fs::FileType::is_dir)
            && (is_protected || leads_to_protected(&path, granted))
        {
            find_link_targets(&path, granted, left, targets);
        }
    }
}

/// Says whether a path is a directory or lies in it, where the system's file systems usually tell
/// upper and lower case apart.
#[cfg(not(any(target_vendor = "apple", windows)))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory)
}

/// The same where they do not.
#[cfg(any(target_vendor = "apple", windows))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    let folded = |path: &Path| -> Vec<String> {
        path.components()
            .map(|part| skills_policy::folded(&part.as_os_str().to_string_lossy()))
            .collect()
    };
    folded(path).starts_with(&folded(directory))
}

/// Says whether a path ends in `/` or `/.`, which its components do not tell.
fn has_trailing_separator(path: &Path) -> bool {
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
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        path.into_bytes(),
    )))
}

#[cfg(target_vendor = "apple")]
pub(super) fn real_path(file: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        path.into_bytes(),
    )))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn real_path(_file: &File) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use proptest::prelude::*;
    use skills_policy::{Capability, Decision, Layer, PROTECTED, Request, Rules, folded};

    use super::*;

    /// Components of paths: ordinary ones, protected ones in several spellings, and parts of them.
    fn component() -> impl Strategy<Value = String> {
        let protected = proptest::sample::select(PROTECTED)
            .prop_map(|name| name.split('/').next_back().unwrap_or(name).to_owned());
        let parent = proptest::sample::select(PROTECTED)
            .prop_map(|name| name.split('/').next().unwrap_or(name).to_owned());
        prop_oneof![
            4 => "[a-c]",
            1 => protected,
            1 => parent.prop_map(|name| name.to_uppercase()),
            1 => Just("fixed".to_owned()),
            1 => Just("state".to_owned()),
            1 => Just("library".to_owned()),
        ]
    }

    fn path() -> impl Strategy<Value = PathBuf> {
        proptest::collection::vec(component(), 0..6).prop_map(|parts| parts.iter().collect())
    }

    /// A workspace that may be written, with a directory that is granted for reading, one that is
    /// hidden and a root of skills.
    fn guard() -> ProtectedPaths {
        let request = Request::new("/skills/a")
            .workspace("/w")
            .write("/w")
            .read("/w/fixed")
            .read("/r");
        let request = request.hide("/w/state").protect("/w/library");
        let rules = Rules::default().allow(Layer::Session, Capability::Write);
        match rules.decide(&request) {
            Decision::Granted(grants) => ProtectedPaths::new(&grants),
            Decision::Denied(denial) => unreachable!("{denial}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// What may be changed lies in the workspace, and neither it nor anything above it there is
        /// protected, hidden or granted for reading only.
        #[test]
        fn only_what_no_rule_keeps_is_changed(below in path(), outside in path()) {
            let guard = guard();
            let path = Path::new("/w").join(&below);
            let parts: Vec<String> = below.iter().map(|part| folded(&part.to_string_lossy())).collect();
            let starts = |name: &&str| {
                let name: Vec<String> = name.split('/').map(folded).collect();
                parts.windows(name.len()).any(|window| window == name)
            };
            let first = below.iter().next().and_then(|part| part.to_str());
            let is_kept = PROTECTED.iter().any(starts) || matches!(first, Some("fixed" | "state" | "library"));
            prop_assert_eq!(guard.is_writable_path(&path), !is_kept, "{:?}", path);
            prop_assert!(!guard.is_writable_path(&Path::new("/r").join(&outside)) && !guard.is_writable_path(&Path::new("/elsewhere").join(&outside)));
        }

        /// What lies above something that is kept does not move, so nothing kept is changed by its
        /// path.
        #[test]
        fn nothing_moves_with_what_it_holds(below in path()) {
            let guard = guard();
            let path = Path::new("/w").join(&below);
            let holds_kept = ["/w/fixed", "/w/state", "/w/library"].iter().any(|kept| Path::new(kept).starts_with(&path));
            if holds_kept {
                prop_assert!(guard.check_entry(&path).is_err(), "{:?}", path);
            }
            // Whatever is judged to be changeable may hold ordinary entries alone.
            if guard.check_entry(&path).is_ok() {
                prop_assert!(guard.is_writable_path(&path.join("ordinary")), "{:?}", path);
            }
        }
    }
}
