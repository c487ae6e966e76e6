//! A directory on disk.

use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skills_discovery::{INSTALL_DIRECTORY, SKILL_FILE};

use super::tree::{Origin, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal};
use crate::fetch_options::FetchOptions;
use crate::skill_tree::is_executable;
use crate::source::problem::Problem;
use crate::source::text::{explicit_path, is_path, plain_path};
use crate::source::{Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::{EntryKind, StagedTree, check_entries};
use crate::{FetchLimits, PathProblem, TreePath};

/// Directories that do not belong to a skill.
const SKIPPED: [&str; 6] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    INSTALL_DIRECTORY,
];

/// A directory that is a skill or contains skills.
#[derive(Debug)]
pub(super) struct DirectoryKind;

impl SourceKind for DirectoryKind {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        if !is_path(source.text) {
            return None;
        }
        Some(Ok(
            source.spec(&Self, Location::Path(plain_path(source.text)))
        ))
    }

    fn text(&self, location: &Location) -> String {
        explicit_path(location.path())
    }

    fn identity(&self, location: &Location) -> String {
        format!("dir:{}", location.address())
    }

    #[cfg(feature = "oci")]
    fn at_revision(&self, source: SourceSpec, revision: &str) -> SourceSpec {
        // The directory was an image layout.
        super::oci::layout_at_revision(source, revision)
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, _scratch: &Path) -> Opened {
        let path = source.location().path();
        #[cfg(feature = "oci")]
        if path.join("oci-layout").is_file() {
            return super::oci::open_layout(source, options);
        }
        Ok(Box::new(Directory::open(path, &options.limits)?))
    }
}

/// A directory whose names were listed. No symlink is followed.
pub(crate) struct Directory {
    handle: Dir,
    entries: Vec<(TreePath, EntryKind)>,
    /// What cannot be installed, below its directory.
    refused: Vec<(TreePath, String, Refusal)>,
}

impl Directory {
    pub(crate) fn open(path: &Path, limits: &FetchLimits) -> Result<Self, InstallError> {
        let handle = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| open_error(path, error))?;
        let copy = handle.try_clone();
        let mut directory =
            Self::empty(copy.map_err(|error| InstallError::io("open", path, error))?);
        directory.list(&handle, &TreePath::root(), limits, path)?;
        directory.sort();
        directory.check_no_bare_repository(path)?;
        Ok(directory)
    }

    /// Rejects a bare clone, whose skills are only in its commits.
    fn check_no_bare_repository(&self, path: &Path) -> Result<(), InstallError> {
        let is_bare = self.handle.is_file("HEAD")
            && self.handle.is_dir("objects")
            && self.handle.is_dir("refs");
        let has_skill = |(path, _): &(TreePath, EntryKind)| {
            path.as_str().rsplit('/').next() == Some(SKILL_FILE)
        };
        if !is_bare || self.entries.iter().any(has_skill) {
            return Ok(());
        }
        Err(InstallError::fetch_with_help(
            &path.display().to_string(),
            "it is a bare git repository",
            "write `git+` before its path: `git+DIR` or `git+DIR#VERSION`",
        ))
    }

    /// Uses a directory without any entries yet.
    pub(super) fn empty(handle: Dir) -> Self {
        Self {
            handle,
            entries: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Sorts the entries, after all were added.
    pub(super) fn sort(&mut self) {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
    }

    /// Adds the entries of a directory at `below`, with those of its directories.
    pub(super) fn list(
        &mut self,
        handle: &Dir,
        below: &TreePath,
        limits: &FetchLimits,
        shown: &Path,
    ) -> Result<(), InstallError> {
        let failed = |error: io::Error| InstallError::io("read", shown, error);
        for entry in handle.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if SKIPPED.contains(&&*name) {
                continue;
            }
            let listed = (self.entries.len() + self.refused.len()) as u64;
            check_entries(listed, limits)?;
            let path = match below.join(&name) {
                Ok(path) if !name.contains('\u{FFFD}') => path,
                Ok(_) => {
                    self.refuse(below, &name, Refusal::Path(PathProblem::Encoding));
                    continue;
                }
                Err(problem) => {
                    self.refuse(below, &name, Refusal::Path(problem));
                    continue;
                }
            };
            let metadata = entry.metadata().map_err(failed)?;
            if metadata.is_dir() {
                let handle = entry.open_dir().map_err(failed)?;
                self.list(&handle, &path, limits, shown)?;
            } else if metadata.is_symlink() {
                self.entries.push((path, EntryKind::Link));
            } else if metadata.is_file() {
                let is_executable = is_executable(&metadata);
                self.entries.push((path, EntryKind::File { is_executable }));
            } else {
                self.refuse(below, &name, Refusal::Special);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, below: &TreePath, name: &str, refusal: Refusal) {
        self.refused.push((below.clone(), name.to_owned(), refusal));
    }

    /// Opens a file without following a symlink that has replaced it.
    fn open_file(&self, path: &TreePath) -> io::Result<cap_std::fs::File> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(
            &mut options,
            (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK)
                .bits()
                .cast_signed(),
        );
        let file = self.handle.open_with(path.as_str(), &options)?;
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("not a regular file"))
        }
    }
}

impl Origin for Directory {
    fn skill_files(&self) -> Vec<TreePath> {
        let files = self.entries.iter();
        let files = files.filter(|(_, kind)| matches!(kind, EntryKind::File { .. }));
        skill_files(files.map(|(path, _)| path))
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        let wanted = WantedPaths::new(directories);
        let refused = self
            .refused
            .iter()
            .find(|(below, ..)| wanted.contains(below));
        if let Some((below, name, refusal)) = refused {
            let shown = format!("{below}/{name}");
            return Err(InstallError::refused(shown, refusal.clone()));
        }
        for (path, kind) in &self.entries {
            if !wanted.contains(path) {
                continue;
            }
            let failed = |error| InstallError::io("read", Path::new(path.as_str()), error);
            match kind {
                EntryKind::File { is_executable } => {
                    let mut file = self.open_file(path).map_err(failed)?;
                    tree.add_file(path, *is_executable, &mut file)?;
                }
                EntryKind::Link => {
                    let target = self
                        .handle
                        .read_link_contents(path.as_str())
                        .map_err(failed)?;
                    tree.add_link(path, &target.to_string_lossy())?;
                }
                EntryKind::Directory => {}
            }
        }
        Ok(())
    }

    fn has_file(&self, path: &TreePath) -> bool {
        let found = self.entries.binary_search_by(|(other, _)| other.cmp(path));
        found.is_ok_and(|index| matches!(self.entries[index].1, EntryKind::File { .. }))
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        None
    }
}

/// Returns the error of a directory that cannot be opened. A directory has no versions, so a `#` in
/// the path is a part of its name.
fn open_error(path: &Path, error: io::Error) -> InstallError {
    let text = path.to_string_lossy();
    let directory = text.rsplit_once('#').map(|(directory, _)| directory);
    if error.kind() == io::ErrorKind::NotFound
        && directory.is_some_and(|directory| Path::new(directory).is_dir())
    {
        return InstallError::fetch_with_help(
            &text,
            "no such directory; a directory has no versions",
            "for a version of a local git repository, write `git+` before its path: `git+DIR#VERSION`",
        );
    }
    InstallError::io("open", path, error)
}
