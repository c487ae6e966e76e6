//! Lock files: the content that installed skills must have.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::DiscoveryErrorKind;
use crate::open::{open_regular, open_root};
use crate::{ContentDigest, is_installable_name};

/// The name of the lock file, in the directory that contains the locked skills.
pub const LOCK_FILE: &str = "skills.lock";

/// The version of lock files that this crate reads. A file of any other version is an error.
pub const LOCK_VERSION: i64 = 1;

/// Maximum size of a lock file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The content that each locked skill must have, by the name of its directory: its digest, and which
/// files are executable.
///
/// A scan reads the `skills.lock` of each directory with skills, and of the directories through which
/// it found a skill. A locked skill with other content is inactive, also one that a symlink replaces,
/// and so are all skills beside and below a lock file that cannot be read. A skill that the file does
/// not name is not affected. Other fields of the file are not read.
///
/// ```
/// use skills_discovery::ContentLock;
///
/// let digest = format!("sha256:{}", "0".repeat(64));
/// let lock = ContentLock::parse(&format!("version = 1\n[[skill]]\nname = 'pdf'\ncontent = '{digest}'\n"))?;
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

/// A lock file that cannot be read, with the line if it is known.
///
/// The message starts with the line. [`is_newer`](Self::is_newer) tells a file of a newer program
/// from a broken one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line_prefix(*.line))]
pub struct LockError {
    line: Option<usize>,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error(
        "version {found} of the lock file is newer than version {LOCK_VERSION}, which this program reads"
    )]
    Newer { found: i64 },
    #[error("the lock file has no valid version")]
    Version,
    #[error("{0}")]
    Syntax(String),
    #[error("`{0}` is not a content digest (`sha256:` and 64 hexadecimal digits)")]
    Digest(String),
    #[error("`{0}` cannot be the name of an installed skill")]
    Name(String),
    #[error("`{0}` is locked twice")]
    Duplicate(String),
    #[error("cannot read the lock file: {0}")]
    Io(String),
}

#[derive(serde::Deserialize)]
struct RawVersion {
    version: Option<toml::Spanned<i64>>,
}

#[derive(serde::Deserialize)]
struct RawLock {
    #[serde(default)]
    skill: Vec<RawSkill>,
}

#[derive(serde::Deserialize)]
struct RawSkill {
    name: toml::Spanned<String>,
    content: toml::Spanned<String>,
    #[serde(default)]
    executable: Vec<String>,
}

impl ContentLock {
    /// Parses the text of a lock file.
    ///
    /// # Errors
    /// [`LockError`] if the file is not valid TOML, is of another version, or has an entry without
    /// a valid name or digest, or two of one name.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let line = |offset: usize| Some(line_at(text, offset));
        // The version goes first: a newer file may have other entries.
        let raw: RawVersion = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        match raw.version {
            Some(version) if *version.get_ref() == LOCK_VERSION => {}
            Some(version) if *version.get_ref() > LOCK_VERSION => {
                return Err(LockError {
                    line: line(version.span().start),
                    problem: Problem::Newer {
                        found: *version.get_ref(),
                    },
                });
            }
            _ => {
                return Err(LockError {
                    line: None,
                    problem: Problem::Version,
                });
            }
        }
        let raw: RawLock = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        let mut skills = BTreeMap::new();
        for raw in raw.skill {
            let RawSkill {
                name,
                content,
                mut executable,
            } = raw;
            let at = |span: std::ops::Range<usize>, problem| LockError {
                line: line(span.start),
                problem,
            };
            let Ok(digest) = content.get_ref().parse() else {
                let problem = Problem::Digest(content.get_ref().clone());
                return Err(at(content.span(), problem));
            };
            let span = name.span();
            let name = name.into_inner();
            if !is_installable_name(&name) {
                return Err(at(span, Problem::Name(name)));
            }
            executable.sort_unstable();
            let required = RequiredContent { digest, executable };
            if skills.insert(name.clone(), required).is_some() {
                return Err(at(span, Problem::Duplicate(name)));
            }
        }
        Ok(Self { skills })
    }

    /// Reads the lock file of a directory with skills; `None` if there is none.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and if the file cannot be read, is not a regular file or is
    /// larger than 16 MiB.
    pub fn read(directory: &Path) -> Result<Option<Self>, LockError> {
        let text = read_text(directory)?;
        text.map(|text| Self::parse(&text)).transpose()
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

impl LockError {
    /// Returns the line, counted from 1; `None` if the error is about the whole file.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns true if a newer version of this program has written the file.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self.problem, Problem::Newer { .. })
    }
}

fn read_text(directory: &Path) -> Result<Option<String>, LockError> {
    let failed = |cause: String| LockError {
        line: None,
        problem: Problem::Io(cause),
    };
    let handle = open_root(directory).map_err(|error| failed(error.to_string()))?;
    match open_regular(&handle, Path::new(LOCK_FILE), MAX_BYTES) {
        Ok((mut file, _)) => {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut file, &mut text)
                .map_err(|error| failed(error.to_string()))?;
            Ok(Some(text))
        }
        Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> LockError {
    LockError {
        line: error.span().map(|span| line_at(text, span.start)),
        problem: Problem::Syntax(error.message().to_owned()),
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    before.iter().filter(|b| **b == b'\n').count() + 1
}

fn line_prefix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}
