//! Lock files: the content that installed skills must have.

use std::collections::BTreeMap;
use std::path::Path;

use crate::lock_error::Problem;
use crate::open::open_root;
use crate::{ContentDigest, LOCK_FILE, LockDifference, LockEntry, LockError};

/// The content that each locked skill must have, by the name of its directory: its digest, and which
/// files are executable.
///
/// A scan reads the `skills.lock` of each directory with skills, and of the directories through which
/// it found a skill. A locked skill with other content is inactive, also one that a symlink replaces,
/// and so are all skills beside and below a lock file that cannot be read. A skill that the file does
/// not name is not affected. [`LockEntry`] has the rules for the text, which other readers of the
/// file share.
///
/// ```
/// use skills_discovery::ContentLock;
///
/// let digest = format!("sha256:{}", "0".repeat(64));
/// let lock = ContentLock::parse(&format!("version = 1\n[[skill]]\nname = 'pdf'\nsource = './pdf'\n\
///     content = '{digest}'\nfiles = 1\nbytes = 20\nsigner = 'unsigned'\n"))?;
/// assert_eq!(lock.digest("pdf").map(|digest| digest.to_string()), Some(digest));
/// assert_eq!(lock.digest("docx"), None);
///
/// let error = ContentLock::parse("version = 2\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 1: version 2 of the lock file is newer than version 1, which this program reads");
/// # Ok::<(), skills_discovery::LockError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentLock {
    skills: BTreeMap<String, RequiredContent>,
}

/// The content that a locked skill must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequiredContent {
    pub(crate) digest: ContentDigest,
    /// The executable files, sorted.
    pub(crate) executable: Vec<String>,
}

impl RequiredContent {
    /// Returns how content with this digest and these executable files, sorted, differs.
    pub(crate) fn difference(
        &self,
        digest: ContentDigest,
        executables: &[String],
    ) -> Option<LockDifference> {
        if digest != self.digest {
            return Some(LockDifference::Content(digest));
        }
        if executables == self.executable {
            return None;
        }
        let (now, locked) = (executables, &self.executable);
        let added = now.iter().filter(|file| !locked.contains(file));
        let removed = locked.iter().filter(|file| !now.contains(file));
        let mut files: Vec<String> = added.chain(removed).cloned().collect();
        files.sort_unstable();
        Some(LockDifference::Executable(files))
    }
}

impl ContentLock {
    /// Parses the text of a lock file.
    ///
    /// # Errors
    /// As [`LockEntry::parse_all`].
    pub fn parse(text: &str) -> Result<Self, LockError> {
        LockEntry::parse_all(text).map(Self::new)
    }

    /// Reads the lock file of a directory with skills; `None` if there is none.
    ///
    /// # Errors
    /// As [`LockEntry::read_all`], and if the directory cannot be opened.
    pub fn read(directory: &Path) -> Result<Option<Self>, LockError> {
        let handle = open_root(directory)
            .map_err(|error| LockError::without_line(Problem::Io(error.to_string())))?;
        let entries = LockEntry::read_all(&handle, Path::new(LOCK_FILE))?;
        Ok(entries.map(Self::new))
    }

    fn new(entries: Vec<LockEntry>) -> Self {
        let skills = entries.into_iter().map(|entry| {
            let required = RequiredContent {
                digest: entry.content,
                executable: entry.executable,
            };
            (entry.name, required)
        });
        Self {
            skills: skills.collect(),
        }
    }

    /// Returns the digest that the skill in the directory of this name must have; `None` if it is
    /// not locked.
    #[must_use]
    pub fn digest(&self, directory_name: &str) -> Option<ContentDigest> {
        self.required(directory_name)
            .map(|required| required.digest)
    }

    pub(crate) fn required(&self, directory_name: &str) -> Option<&RequiredContent> {
        self.skills.get(directory_name)
    }

    /// Returns the names of the directories of all locked skills, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.skills.keys().map(String::as_str)
    }
}
