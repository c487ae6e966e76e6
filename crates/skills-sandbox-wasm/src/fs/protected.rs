//! Paths that must not be modified inside writable directories.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use cap_primitives::fs::FollowSymlinks;
use skills_policy::{Access, FileGrant, Grants, may_lead_to_protected};
#[cfg(unix)]
use skills_process::ProtectedEntries;
use skills_sandbox::ExecutedFiles;

use super::error_code::FsErrorCode;
use super::withheld_keys::{KeyReport, WithheldKeys};

/// Holds the real paths of granted directories, and the paths in them that must not be modified:
/// those granted for reading only, and [protected paths](skills_policy::protected_paths), at any
/// depth and whether they exist or not. Hidden paths and files that may hold keys are not opened
/// either.
pub(super) struct ProtectedPaths {
    grants: Grants,
    is_writable: bool,
    /// What was found on the first modification.
    found: OnceLock<Found>,
    /// The files that may hold keys; searched when the first file is opened.
    keys: OnceLock<WithheldKeys>,
    /// The real path of the scratch directory, once it is created.
    scratch: OnceLock<PathBuf>,
}

/// What a search of the writable directories found.
struct Found {
    /// The paths that are protected, but not by their names: targets of protected symlinks, what the
    /// configuration of a repository of git names, and directories that cannot be listed. If there is
    /// too much to search, all writable directories.
    by_content: Vec<PathBuf>,
    initial: InitialFiles,
}

/// The files that other programs execute, as they were before the program modified anything.
#[derive(Default)]
pub(crate) struct InitialFiles {
    /// `None` if the program could not or did not modify anything.
    #[cfg(unix)]
    entries: Option<ProtectedEntries>,
}

impl InitialFiles {
    /// Returns which files that other programs execute were created or changed since, and what could
    /// not be searched.
    #[cfg(unix)]
    pub(crate) async fn changes(self, grants: &Grants) -> (ExecutedFiles, Vec<String>) {
        let Some(entries) = self.entries else {
            return (ExecutedFiles::of_search([]), Vec::new());
        };
        let notes = entries.unread_notes().collect();
        let grants = grants.clone();
        let changes = skills_threads::run_blocking(move || entries.changes(&grants).executed);
        (changes.await.unwrap_or_default(), notes)
    }

    /// Files are not searched here.
    #[cfg(not(unix))]
    pub(crate) async fn changes(self, _grants: &Grants) -> (ExecutedFiles, Vec<String>) {
        (ExecutedFiles::default(), Vec::new())
    }
}

/// An entry that may be modified: its parent directory, held open, and its name. Operations on
/// these two affect exactly what was checked, whatever other processes do to the path meanwhile.
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
            found: OnceLock::new(),
            keys: OnceLock::new(),
            scratch: OnceLock::new(),
        }
    }

    /// Returns true if only the scratch directory is writable.
    pub(super) fn is_read_only(&self) -> bool {
        !self.is_writable
    }

    /// Rejects an open file or directory that is hidden, or that may hold keys.
    pub(super) fn check_visible(&self, file: &File) -> io::Result<()> {
        if self.keys().contains(file)? {
            return Err(FsErrorCode::AccessDenied.into());
        }
        // Saves the system call that looks up the path.
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

    /// Sets the real path of the scratch directory.
    pub(super) fn set_scratch(&self, directory: &File) -> io::Result<()> {
        if !self.is_read_only() {
            // It is created once.
            let _ = self.scratch.set(real_path(directory)?);
        }
        Ok(())
    }

    /// Rejects creating, modifying or removing the entry that `path` names beneath `dir`, if it is
    /// protected; symlinks in parent directories are followed, the entry itself is not.
    pub(super) fn check(&self, dir: &File, path: &Path) -> io::Result<ParentAndName> {
        // Opened once, for the check and for the operation, so that it cannot be exchanged in
        // between.
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
        // A trailing slash would follow a symlink to a path that was not checked.
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

    /// Returns true if an open file must not be modified.
    pub(super) fn is_protected(&self, file: &File) -> io::Result<bool> {
        // Without writable grants only the scratch directory is written, and nothing in it is
        // protected.
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
                .chain(self.by_content())
                .chain(self.keys().kept())
                .any(|kept| lies_in(path, kept))
    }

    /// Returns true if a path that must not be modified, or a granted directory, is below `path`
    /// and would move with it.
    fn contains_protected(&self, path: &Path) -> bool {
        let leads_on = |file: &FileGrant| {
            lies_in(path, file.path()) && may_lead_to_protected(path, file.path())
        };
        let granted = self.grants.files().iter().map(|file| file.path());
        let kept = self
            .grants
            .protected()
            .iter()
            .chain(self.grants.hidden())
            .chain(self.by_content())
            .chain(self.keys().kept())
            .map(PathBuf::as_path);
        self.grants.files().iter().any(leads_on)
            || granted.chain(kept).any(|below| lies_in(below, path))
    }

    /// Reports the files that may hold keys, as far as they were searched.
    pub(super) fn key_report(&self) -> KeyReport {
        self.keys
            .get()
            .map(WithheldKeys::report)
            .unwrap_or_default()
    }

    fn keys(&self) -> &WithheldKeys {
        self.keys.get_or_init(|| WithheldKeys::find(&self.grants))
    }

    fn by_content(&self) -> &[PathBuf] {
        let found = self.found.get_or_init(|| find(&self.grants));
        &found.by_content
    }

    /// Takes the state of the files that other programs execute.
    pub(super) fn take_initial_files(&mut self) -> InitialFiles {
        let found = self.found.take();
        found.map(|found| found.initial).unwrap_or_default()
    }
}

#[cfg(unix)]
fn find(grants: &Grants) -> Found {
    match ProtectedEntries::find(grants) {
        Ok(found) => Found {
            by_content: found.by_content(grants),
            initial: InitialFiles {
                entries: Some(found),
            },
        },
        Err(_) => {
            let writable = grants.files().iter();
            let writable = writable.filter(|file| file.access() == Access::ReadWrite);
            Found {
                by_content: writable.map(|file| file.path().to_owned()).collect(),
                initial: InitialFiles::default(),
            }
        }
    }
}

/// The search needs inode numbers, so only symlinks are searched elsewhere.
#[cfg(not(unix))]
fn find(grants: &Grants) -> Found {
    let mut targets = Vec::new();
    let mut remaining = MAX_ENTRIES;
    let writable = grants.files().iter();
    for file in writable.filter(|file| file.access() == Access::ReadWrite) {
        find_link_targets(file.path(), file.path(), &mut remaining, &mut targets);
    }
    Found {
        by_content: targets,
        initial: InitialFiles::default(),
    }
}

/// The maximum number of directory entries that are examined for symlinks.
#[cfg(not(unix))]
const MAX_ENTRIES: usize = 200_000;

/// Finds the targets in `granted` of protected symlinks in `directory`; descends into prefixes of
/// protected paths with several components, and into protected directories. A directory that cannot
/// be listed to its end is protected as a whole.
#[cfg(not(unix))]
#[expect(
    clippy::disallowed_methods,
    reason = "lists names only; written paths are checked again by their real path"
)]
fn find_link_targets(
    directory: &Path,
    granted: &Path,
    remaining: &mut usize,
    targets: &mut Vec<PathBuf>,
) {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            use io::ErrorKind::{NotADirectory, NotFound};
            if !matches!(error.kind(), NotADirectory | NotFound) {
                targets.push(directory.to_owned());
            }
            return;
        }
    };
    for entry in entries {
        *remaining = remaining.saturating_sub(1);
        let entry = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
        let (Ok((path, kind)), 1..) = (entry, *remaining) else {
            return targets.push(directory.to_owned());
        };
        let is_protected = skills_policy::innermost_protected_name(&path, granted).is_some();
        if kind.is_symlink() && is_protected {
            targets.extend(
                path.canonicalize()
                    .ok()
                    .filter(|target| target.starts_with(granted) && target != granted),
            );
        } else if kind.is_dir() && (is_protected || may_lead_to_protected(&path, granted)) {
            find_link_targets(&path, granted, remaining, targets);
        }
    }
}

/// Returns true if a path is a directory or below it, on systems whose file systems are usually
/// case-sensitive.
#[cfg(not(any(target_vendor = "apple", windows)))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory)
}

/// The same on systems whose file systems are usually case-insensitive.
#[cfg(any(target_vendor = "apple", windows))]
fn lies_in(path: &Path, directory: &Path) -> bool {
    folded_names(path).starts_with(&folded_names(directory))
}

#[cfg(any(target_vendor = "apple", windows))]
fn folded_names(path: &Path) -> Vec<String> {
    path.components()
        .map(|part| skills_policy::fold_name(&part.as_os_str().to_string_lossy()))
        .collect()
}

/// Returns true if a path ends in `/` or `/.`, which its components do not show.
fn has_trailing_separator(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

fn open_directory(dir: &File, path: &Path) -> io::Result<File> {
    cap_primitives::fs::open_dir(dir, path)
}

/// Returns the current real path of an open file. If the system cannot report it, nothing may be
/// written.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn real_path(file: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    // Shows the current path, also after the file or one of its parents was renamed.
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
    use skills_policy::{
        Authorization, Capability, Policy, Request, RuleSource, fold_name, protected_paths,
    };

    use super::*;

    /// Returns the protected paths; a wildcard stands for itself.
    fn names() -> Vec<String> {
        protected_paths().to_vec()
    }

    /// Path components: ordinary ones, protected ones in several spellings, and parts of them.
    fn component() -> impl Strategy<Value = String> {
        let protected = proptest::sample::select(names())
            .prop_map(|name| name.split('/').next_back().unwrap_or(&name).to_owned());
        let parent = proptest::sample::select(names())
            .prop_map(|name| name.split('/').next().unwrap_or(&name).to_owned());
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

    /// A writable workspace, with a directory that is granted for reading, one that is hidden and a
    /// root of skills.
    fn guard() -> ProtectedPaths {
        let request = Request::new("/skills/a")
            .workspace("/w")
            .write("/w")
            .read("/w/fixed")
            .read("/r");
        let request = request.hide("/w/state").protect("/w/library");
        let rules = Policy::default().allow(RuleSource::Invocation, Capability::Write);
        match rules.authorize(&request) {
            Authorization::Granted(grants) => ProtectedPaths::new(&grants),
            Authorization::Denied(denial) => unreachable!("{denial}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// A modifiable path is in the workspace, and neither it nor any parent of it there is
        /// protected, hidden or granted for reading only.
        #[test]
        fn only_unprotected_paths_are_modifiable(below in path(), outside in path()) {
            let guard = guard();
            let path = Path::new("/w").join(&below);
            let parts: Vec<String> = below.iter().map(|part| fold_name(&part.to_string_lossy())).collect();
            let starts = |name: &String| {
                let name: Vec<String> = name.split('/').map(fold_name).collect();
                parts.windows(name.len()).any(|window| window == name)
            };
            let first = below.iter().next().and_then(|part| part.to_str());
            let is_kept = names().iter().any(starts) || matches!(first, Some("fixed" | "state" | "library"));
            prop_assert_eq!(guard.is_writable_path(&path), !is_kept, "{:?}", path);
            prop_assert!(!guard.is_writable_path(&Path::new("/r").join(&outside)) && !guard.is_writable_path(&Path::new("/elsewhere").join(&outside)));
        }

        /// Parents of protected paths are not moved, so a protected path is not modified through
        /// its parents.
        #[test]
        fn parents_of_protected_paths_are_not_moved(below in path()) {
            let guard = guard();
            let path = Path::new("/w").join(&below);
            let holds_kept = ["/w/fixed", "/w/state", "/w/library"].iter().any(|kept| Path::new(kept).starts_with(&path));
            if holds_kept {
                prop_assert!(guard.check_entry(&path).is_err(), "{:?}", path);
            }
            // A modifiable path contains only ordinary entries.
            if guard.check_entry(&path).is_ok() {
                prop_assert!(guard.is_writable_path(&path.join("ordinary")), "{:?}", path);
            }
        }
    }
}
