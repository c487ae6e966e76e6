//! A tree of files that skills are taken from.

use std::collections::HashSet;
use std::fs::File;

use skills_discovery::SKILL_FILE;
use skills_signature::{Signatures, Signer};

use crate::TreePath;
use crate::error::{InstallError, Submodule};
use crate::staged_tree::StagedTree;

/// Returns the signer, from the signatures and the bytes of a file.
pub(crate) type VerifyFile<'a> =
    &'a dyn Fn(&Signatures, &mut File) -> Result<Option<Signer>, InstallError>;

/// A tree of files that is listed first, and read only as far as it is wanted.
pub(crate) trait Origin {
    /// Returns the paths of the files named `SKILL.md`, sorted.
    fn skill_files(&self) -> Vec<TreePath>;

    /// Writes the files below the given directories to the tree. Directories do not overlap.
    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError>;

    /// Returns what identifies this version of the skill in a directory: `git:` and a commit,
    /// `sha256:` and the digest of an archive or file, `clawhub:` and a version; `None` if there is nothing.
    fn revision(&self, directory: &TreePath) -> Option<String>;

    /// Returns true if the version is a tag of a repository, which should never move.
    fn is_tag(&self) -> bool {
        false
    }

    /// Returns true if the source has a regular file at a path beside its skills, which
    /// [`stage`](Self::stage) writes if the path is among its directories.
    fn has_file(&self, _path: &TreePath) -> bool {
        false
    }

    /// Returns the signer of the archive or file that a skill came from. `verify` gets its
    /// signatures and its bytes, and is called once for each file.
    fn artifact_signer(
        &mut self,
        _directory: &TreePath,
        _verify: VerifyFile<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        Ok(None)
    }

    /// Returns true if the source lists skills by name, so that each must have the name of its
    /// directory.
    fn fixes_names(&self) -> bool {
        false
    }

    /// Returns the submodules of a repository, of which the content is not fetched.
    fn submodules(&self) -> Vec<Submodule> {
        Vec::new()
    }

    /// Returns the time of the version in seconds since 1970, if the source has one.
    fn committed(&self) -> Option<i64> {
        None
    }
}

/// Returns the paths of the regular files named `SKILL.md`, in the given order.
pub(super) fn skill_files<'a>(files: impl Iterator<Item = &'a TreePath>) -> Vec<TreePath> {
    files
        .filter(|path| path.file_name() == Some(SKILL_FILE))
        .cloned()
        .collect()
}

/// Directories with the wanted files.
pub(super) struct WantedPaths<'a>(HashSet<&'a str>);

impl<'a> WantedPaths<'a> {
    pub(super) fn new(directories: &'a [TreePath]) -> Self {
        Self(directories.iter().map(TreePath::as_str).collect())
    }

    /// Returns true if a path is below one of the directories, or is one of them. The time depends
    /// on the length of the path only: a hostile source has many of both.
    pub(super) fn contains(&self, path: &TreePath) -> bool {
        path.ancestors().any(|ancestor| self.0.contains(ancestor))
    }

    /// Returns true if the bytes of a path that is not valid are below one of the directories.
    pub(super) fn contains_below(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/');
        let mut above = ends.filter_map(|(end, _)| std::str::from_utf8(&path[..end]).ok());
        self.0.contains("") || above.any(|directory| self.0.contains(directory))
    }
}
