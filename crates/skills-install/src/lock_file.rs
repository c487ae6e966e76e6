//! The lock file, `skills.lock`: where each installed skill came from, and its content.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Serialize, Serializer};
use skills_discovery::{
    ContentDigest, LOCK_FILE, LOCK_VERSION, LockEntry, LockError, MAX_LOCK_BYTES,
};
use skills_signature::UNVERIFIED;

use crate::SourceSpec;
use crate::error::{InstallError, Repr};
use crate::signature::UNSIGNED;

/// What the file says first, for people.
const HEADER: &str =
    "# Written by `skills`: do not edit. Skills whose content differs are not used.\n";

/// The installed skills of one directory, by the name of the directory of each.
///
/// The text is TOML and sorted by name, so that a change of one skill changes only its lines. A
/// file of a newer version is an error and never replaced.
///
/// ```
/// use skills_install::LockFile;
///
/// let text = "version = 1\n\n[[skill]]\nname = 'pdf'\nsource = 'acme/skills'\ncontent = 'sha256:";
/// let text = format!("{text}{}'\nfiles = 1\nbytes = 20\nsigner = 'unsigned'\n", "0".repeat(64));
/// let lock = LockFile::parse(&text, "skills.lock".as_ref())?;
/// assert_eq!(lock.skills()["pdf"].source().identity(), "git:github.com/acme/skills");
/// assert_eq!(LockFile::parse(&lock.render()?, "skills.lock".as_ref())?, lock);
/// # Ok::<(), skills_install::InstallError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockFile {
    skills: BTreeMap<String, LockedSkill>,
}

/// One skill of a [`LockFile`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockedSkill {
    pub(crate) name: String,
    #[serde(serialize_with = "as_text")]
    pub(crate) source: SourceSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) committed: Option<i64>,
    /// Whether the version of the source is a tag of a repository.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tag: bool,
    #[serde(serialize_with = "as_text")]
    pub(crate) content: ContentDigest,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) executable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) license: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) asks: Vec<String>,
    pub(crate) signer: String,
}

/// The form in which the file is written. [`LockEntry`] reads it.
#[derive(Serialize)]
struct RawLock<'a> {
    version: i64,
    skill: Vec<&'a LockedSkill>,
}

impl LockFile {
    /// Parses the text of a lock file. `path` is for errors only.
    ///
    /// # Errors
    /// Fails if the text is not valid, or of another version. A source that this version cannot use
    /// is an error only where it is fetched.
    pub fn parse(text: &str, path: &Path) -> Result<Self, InstallError> {
        // Scans use the same parser, so that both accept the same files.
        LockEntry::parse_all(text)
            .map(Self::from_entries)
            .map_err(|source| unreadable(path, source))
    }

    fn from_entries(entries: Vec<LockEntry>) -> Self {
        let skills = entries.into_iter().map(LockedSkill::from);
        Self {
            skills: skills.map(|skill| (skill.name.clone(), skill)).collect(),
        }
    }

    /// Reads the lock file of a directory of skills, which is empty if there is none.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not valid.
    pub fn read(directory: &Path) -> Result<Self, InstallError> {
        let handle = Dir::open_ambient_dir(directory, ambient_authority())
            .map_err(|error| InstallError::io("open", directory, error))?;
        Self::read_from(&handle, directory)
    }

    /// Reads the lock file of an open directory, which is empty if there is none.
    pub(crate) fn read_from(handle: &Dir, directory: &Path) -> Result<Self, InstallError> {
        let entries = LockEntry::read_all(handle, Path::new(LOCK_FILE))
            .map_err(|source| unreadable(&directory.join(LOCK_FILE), source))?;
        Ok(Self::from_entries(entries.unwrap_or_default()))
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// Fails if a value cannot be written as TOML, or the text is larger than can be read again.
    pub fn render(&self) -> Result<String, InstallError> {
        let raw = RawLock {
            version: LOCK_VERSION,
            skill: self.skills.values().collect(),
        };
        let text = toml::to_string_pretty(&raw).map_err(|error| Repr::LockField {
            path: LOCK_FILE.into(),
            problem: error.to_string(),
        })?;
        let text = format!("{HEADER}{text}");
        if text.len() as u64 > MAX_LOCK_BYTES {
            let problem = format!("it would be larger than {MAX_LOCK_BYTES} bytes");
            let path = LOCK_FILE.into();
            return Err(Repr::LockField { path, problem }.into());
        }
        Ok(text)
    }

    /// Returns the skills by the name of their directory.
    #[must_use]
    pub fn skills(&self) -> &BTreeMap<String, LockedSkill> {
        &self.skills
    }

    pub(crate) fn insert(&mut self, skill: LockedSkill) {
        self.skills.insert(skill.name.clone(), skill);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.skills.remove(name);
    }
}

impl LockedSkill {
    /// Returns the name of the skill and of its directory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source, with the version that the user asked for and the directory of the skill.
    #[must_use]
    pub fn source(&self) -> &SourceSpec {
        &self.source
    }

    /// Returns what identifies the installed version: `git:` and a commit, `sha256:` and the digest
    /// of an archive, `clawhub:` and a version; `None` for a directory.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Returns the content digest that the skill must have.
    #[must_use]
    pub fn content(&self) -> ContentDigest {
        self.content
    }

    /// Returns the number of files, symlinks included.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns the size of all files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what the skill asks for, in the words of policies, sorted.
    #[must_use]
    pub fn asks(&self) -> &[String] {
        &self.asks
    }

    /// Returns the license as the skill writes it.
    #[must_use]
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Returns the signer: `minisign:KEY` of a trusted key, `unverified:minisign:NUMBER` of another
    /// one, or `unsigned`.
    #[must_use]
    pub fn signer(&self) -> &str {
        &self.signer
    }

    /// Returns true if the skill had a signature of a trusted key when it was installed.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.signer != UNSIGNED && !self.signer.starts_with(UNVERIFIED)
    }

    /// Returns the source at exactly the installed version: the commit of a repository, or the
    /// digest of an archive. The source itself if it has no versions.
    #[must_use]
    pub fn pinned_source(&self) -> SourceSpec {
        match self.revision.as_deref() {
            Some(revision) => self.source.clone().at_revision(revision),
            None => self.source.clone(),
        }
    }
}

impl From<LockEntry> for LockedSkill {
    fn from(entry: LockEntry) -> Self {
        Self {
            source: SourceSpec::from_lock(&entry.source),
            name: entry.name,
            revision: entry.revision,
            committed: entry.committed,
            tag: entry.tag,
            content: entry.content,
            files: entry.files,
            bytes: entry.bytes,
            executable: entry.executable,
            license: entry.license,
            asks: entry.asks,
            signer: entry.signer,
        }
    }
}

fn unreadable(path: &Path, source: LockError) -> InstallError {
    let path = path.to_owned();
    Repr::Lock { path, source }.into()
}

/// Writes a value as its text.
fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
