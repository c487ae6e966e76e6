//! What a source lists of one skill.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::content_hasher::{ContentHasher, MAX_BYTES, MAX_DEPTH, MAX_FILES};
use crate::generated_files::is_in_generated_directory;
use crate::openai_file::OPENAI_FILE;
use crate::{ContentDigest, FOLDER_SETTINGS, SKILL_FILE, TreePath, fold_case};

/// A skill as a source lists it: its path, its `SKILL.md`, and the size and SHA-256 of each file.
///
/// The limits are those of directories: 10,000 files and directories, 32 directory levels, 256 MiB.
/// No two paths are one on a file system that ignores case. Generated files are left out, as in
/// digests of directories.
///
/// ```
/// use skills_discovery::{ListedFile, ListedSkill, TreePath};
///
/// let text = b"---\nname: greet\ndescription: Says hello.\n---\nHi\n";
/// let file = ListedFile::of_content(TreePath::new("SKILL.md")?, text);
/// let skill = ListedSkill::new(TreePath::new("greet")?, vec![file], text.to_vec(), None)?;
/// assert!(skill.digest().to_string().starts_with("sha256:"));
/// assert!(ListedSkill::new(TreePath::new("greet")?, vec![], text.to_vec(), None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    path: TreePath,
    files: Vec<ListedFile>,
    skill_file: Arc<[u8]>,
    openai_file: Option<Arc<[u8]>>,
    digest: ContentDigest,
}

/// A file of a listed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    path: TreePath,
    bytes: u64,
    sha256: [u8; 32],
    is_executable: bool,
}

/// The reason why a listing is not that of a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListingProblem {
    /// The skill has no path, and so no name of a directory.
    #[error("it has no path")]
    NoPath,
    /// The skill has no `SKILL.md`.
    #[error("it has no `SKILL.md`")]
    NoSkillFile,
    /// The content of this file is not the listed one, or only one of both exists.
    #[error("the content of `{0}` is not the listed one")]
    OtherContent(&'static str),
    /// It has more than the limit.
    #[error("skill has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of: `bytes`, `files` or `directory levels`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Two paths are one on some file systems, or a file is also a directory.
    #[error("`{path}` and `{other}` are the same path on some systems")]
    Clash {
        /// The path of a file.
        path: String,
        /// The path of another file, or of a directory.
        other: String,
    },
}

impl ListedFile {
    /// Creates a file by its size in bytes and its SHA-256. It is not executable.
    #[must_use]
    pub fn new(path: TreePath, bytes: u64, sha256: [u8; 32]) -> Self {
        Self {
            path,
            bytes,
            sha256,
            is_executable: false,
        }
    }

    /// Creates a file by its content. It is not executable.
    #[must_use]
    pub fn of_content(path: TreePath, content: &[u8]) -> Self {
        Self::new(path, content.len() as u64, Sha256::digest(content).into())
    }

    /// Sets whether the file is executable.
    #[must_use]
    pub fn executable(mut self, is_executable: bool) -> Self {
        self.is_executable = is_executable;
        self
    }

    /// Returns the path below the skill.
    #[must_use]
    pub fn path(&self) -> &TreePath {
        &self.path
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.is_executable
    }

    /// Returns true if this is the content of the file.
    pub(crate) fn has_content(&self, content: &[u8]) -> bool {
        content.len() as u64 == self.bytes && self.sha256[..] == Sha256::digest(content)[..]
    }
}

impl ListedSkill {
    /// Creates the listing of a skill from its path at the source, its files, and the content of
    /// its `SKILL.md` and of its `agents/openai.yaml`, if it has one. The last name of the path is
    /// the name of the directory.
    ///
    /// # Errors
    /// [`ListingProblem`] for the first rule that the listing violates.
    pub fn new(
        path: TreePath,
        mut files: Vec<ListedFile>,
        skill_file: Vec<u8>,
        openai_file: Option<Vec<u8>>,
    ) -> Result<Self, ListingProblem> {
        if path.is_root() {
            return Err(ListingProblem::NoPath);
        }
        check_size(&files)?;
        check_names(&files)?;
        files.retain(|file| !is_generated(&file.path));
        // In the order of digests, which compares paths by name.
        files.sort_by(|a, b| Path::new(a.path.as_str()).cmp(Path::new(b.path.as_str())));
        let find = |name: &str| files.iter().find(|file| file.path.as_str() == name);
        let listed = find(SKILL_FILE).ok_or(ListingProblem::NoSkillFile)?;
        if !listed.has_content(&skill_file) {
            return Err(ListingProblem::OtherContent(SKILL_FILE));
        }
        // It may forbid what a missing one allows.
        let has_openai_file = match (find(OPENAI_FILE), &openai_file) {
            (Some(listed), Some(content)) => listed.has_content(content),
            (listed, content) => listed.is_none() && content.is_none(),
        };
        if !has_openai_file {
            return Err(ListingProblem::OtherContent(OPENAI_FILE));
        }
        Ok(Self {
            digest: digest(&files),
            path,
            files,
            skill_file: skill_file.into(),
            openai_file: openai_file.map(Into::into),
        })
    }

    /// Returns the path at the source.
    #[must_use]
    pub fn path(&self) -> &TreePath {
        &self.path
    }

    /// Returns the files, ordered by path.
    #[must_use]
    pub fn files(&self) -> &[ListedFile] {
        &self.files
    }

    /// Returns the content digest: that of a directory with these files.
    #[must_use]
    pub fn digest(&self) -> ContentDigest {
        self.digest
    }

    /// Returns the size of all files, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn skill_file(&self) -> &[u8] {
        &self.skill_file
    }

    pub(crate) fn openai_file(&self) -> Option<&[u8]> {
        self.openai_file.as_deref()
    }

    /// Returns the paths of the executable files, sorted.
    pub(crate) fn executables(&self) -> Vec<String> {
        let files = self.files.iter().filter(|file| file.is_executable);
        let mut paths: Vec<String> = files.map(|file| file.path.to_string()).collect();
        paths.sort_unstable();
        paths
    }
}

fn is_generated(path: &TreePath) -> bool {
    let directory = path.parent().unwrap_or_default();
    path.file_name() == Some(FOLDER_SETTINGS)
        || is_in_generated_directory(directory.as_str().as_ref())
}

fn check_size(files: &[ListedFile]) -> Result<(), ListingProblem> {
    let too_large = |what, limit| Err(ListingProblem::TooLarge { what, limit });
    if files.len() > MAX_FILES {
        return too_large("files", MAX_FILES as u64);
    }
    let bytes = files
        .iter()
        .fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
    if bytes > MAX_BYTES {
        return too_large("bytes", MAX_BYTES);
    }
    let levels = files.iter().map(|file| file.path.names().count());
    if levels.max().unwrap_or_default() > MAX_DEPTH + 1 {
        return too_large("directory levels", MAX_DEPTH as u64);
    }
    Ok(())
}

/// Rejects paths that some file system cannot tell apart, and too many directories.
fn check_names(files: &[ListedFile]) -> Result<(), ListingProblem> {
    // By folded path, files and the directories above them.
    let mut known: HashMap<String, (&str, bool)> = HashMap::new();
    for file in files {
        for path in file.path.ancestors().filter(|path| !path.is_empty()) {
            let is_file = path == file.path.as_str();
            let previous = known.insert(fold_case(path), (path, is_file));
            let is_same =
                |(other, other_is_file): (&str, bool)| other == path && !is_file && !other_is_file;
            if let Some(previous) = previous.filter(|previous| !is_same(*previous)) {
                return Err(ListingProblem::Clash {
                    path: path.to_owned(),
                    other: previous.0.to_owned(),
                });
            }
        }
    }
    if known.len() > MAX_FILES {
        return Err(ListingProblem::TooLarge {
            what: "files",
            limit: MAX_FILES as u64,
        });
    }
    Ok(())
}

fn digest(files: &[ListedFile]) -> ContentDigest {
    let mut hasher = ContentHasher::default();
    for file in files {
        hasher.add_file(file.path.as_str().as_bytes(), file.sha256);
    }
    hasher.finish()
}
