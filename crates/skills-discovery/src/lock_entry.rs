//! The text of lock files. All readers use this parser, so that none accepts what another rejects.

use std::collections::HashSet;
use std::path::Path;

use cap_std::fs::Dir;
use serde::Deserialize;
use serde::de::IgnoredAny;
use skills_manifest::is_invisible;
use toml::Spanned;

use crate::error::DiscoveryErrorKind;
use crate::lock_error::Problem;
use crate::open::read_regular_text;
use crate::{ContentDigest, LOCK_VERSION, LockError, is_installable_name};

/// Maximum size of a lock file, in bytes.
pub const MAX_LOCK_BYTES: u64 = 16 << 20;

/// One entry of a lock file: where a skill came from, and its content.
///
/// A scan uses the name, the content and the executable files. Only the text of the source is kept:
/// what it means is decided where the source is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    /// The name of the skill and of its directory.
    pub name: String,
    /// The text of the source, without invisible characters.
    pub source: String,
    /// What identifies the installed version, such as a commit.
    pub revision: Option<String>,
    /// The time of the commit, in seconds since 1970.
    pub committed: Option<i64>,
    /// Whether the version of the source is a tag of a repository.
    pub tag: bool,
    /// The content digest.
    pub content: ContentDigest,
    /// The number of files, symlinks included.
    pub files: u64,
    /// The size of all files in bytes.
    pub bytes: u64,
    /// The executable files, sorted.
    pub executable: Vec<String>,
    /// The license as the skill writes it.
    pub license: Option<String>,
    /// What the skill asks for, in the words of policies.
    pub asks: Vec<String>,
    /// The signer.
    pub signer: String,
}

#[derive(Deserialize)]
struct RawVersion {
    version: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLock {
    #[serde(rename = "version")]
    _version: IgnoredAny,
    #[serde(default)]
    skill: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    name: Spanned<String>,
    source: Spanned<String>,
    revision: Option<String>,
    committed: Option<i64>,
    #[serde(default)]
    tag: bool,
    content: Spanned<String>,
    files: u64,
    bytes: u64,
    #[serde(default)]
    executable: Vec<String>,
    license: Option<String>,
    #[serde(default)]
    asks: Vec<String>,
    signer: String,
}

impl LockEntry {
    /// Parses the text of a lock file, and returns its entries in the order of the file.
    ///
    /// # Errors
    /// [`LockError`] if the file is not valid TOML, is of another version, has an unknown field, or
    /// has an entry without a required field, with a value of another type, without a valid name or
    /// digest, or two of one name.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, LockError> {
        check_version(text)?;
        let raw: RawLock = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        let mut names = HashSet::new();
        let mut entries = Vec::with_capacity(raw.skill.len());
        for raw in raw.skill {
            let name_offset = raw.name.span().start;
            let entry = Self::new(text, raw)?;
            if !names.insert(entry.name.clone()) {
                let problem = Problem::Duplicate(entry.name);
                return Err(LockError::at(text, name_offset, problem));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Reads the lock file at a path below an open directory; `None` if there is none.
    ///
    /// # Errors
    /// As [`parse_all`](Self::parse_all), and if the file cannot be read, is not a regular file or
    /// is larger than 16 MiB.
    pub fn read_all(directory: &Dir, path: &Path) -> Result<Option<Vec<Self>>, LockError> {
        match read_regular_text(directory, path, MAX_LOCK_BYTES) {
            Ok(text) => Self::parse_all(&text).map(Some),
            Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Ok(None),
            Err(error) => Err(LockError::without_line(Problem::Io(error.to_string()))),
        }
    }

    fn new(text: &str, raw: RawEntry) -> Result<Self, LockError> {
        let at = |span: std::ops::Range<usize>, problem| LockError::at(text, span.start, problem);
        let Ok(content) = raw.content.get_ref().parse() else {
            let problem = Problem::Digest(raw.content.get_ref().clone());
            return Err(at(raw.content.span(), problem));
        };
        if !is_installable_name(raw.name.get_ref()) {
            let problem = Problem::Name(raw.name.get_ref().clone());
            return Err(at(raw.name.span(), problem));
        }
        if let Some(problem) = source_problem(raw.source.get_ref()) {
            return Err(at(raw.source.span(), problem));
        }
        let mut executable = raw.executable;
        executable.sort_unstable();
        Ok(Self {
            name: raw.name.into_inner(),
            source: raw.source.into_inner(),
            revision: raw.revision,
            committed: raw.committed,
            tag: raw.tag,
            content,
            files: raw.files,
            bytes: raw.bytes,
            executable,
            license: raw.license,
            asks: raw.asks,
            signer: raw.signer,
        })
    }
}

/// Checks the version alone: a newer file may have other fields.
fn check_version(text: &str) -> Result<(), LockError> {
    let raw: RawVersion = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
    match raw.version {
        Some(version) if *version.get_ref() == LOCK_VERSION => Ok(()),
        Some(version) if *version.get_ref() > LOCK_VERSION => {
            let found = *version.get_ref();
            let problem = Problem::Newer { found };
            Err(LockError::at(text, version.span().start, problem))
        }
        _ => Err(LockError::without_line(Problem::Version)),
    }
}

fn syntax_error(text: &str, error: &toml::de::Error) -> LockError {
    let problem = Problem::Syntax(error.message().to_owned());
    match error.span() {
        Some(span) => LockError::at(text, span.start, problem),
        None => LockError::without_line(problem),
    }
}

fn source_problem(source: &str) -> Option<Problem> {
    if source.trim().is_empty() {
        return Some(Problem::EmptySource);
    }
    let invisible = source.chars().find(|c| is_invisible(*c));
    invisible.map(Problem::SourceCharacter)
}
