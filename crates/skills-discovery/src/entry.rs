//! One skill of a catalogue.

use std::fmt;
use std::path::{Path, PathBuf};

use std::sync::{Arc, OnceLock};

use skills_manifest::{HostMetadata, HostNote, Manifest, SkillName, Warning};

use crate::content::Content;
use crate::host::Host;
use crate::{DiscoveryError, SKILL_FILE, Scope, SkillFiles, Stamp};

/// One skill: its metadata and where it lies. Its body was not read.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) name: SkillName,
    pub(crate) content: Arc<Content>,
    pub(crate) directory: Arc<Path>,
    /// The file's name when it is another than `SKILL.md`.
    pub(crate) file_name: Option<Box<str>>,
    pub(crate) file_of: FileOf,
    pub(crate) scope: Scope,
    pub(crate) root: Arc<Path>,
    /// What is wrong beside what its files say.
    pub(crate) notes: Vec<EntryWarning>,
    pub(crate) warnings: OnceLock<Vec<EntryWarning>>,
    pub(crate) stamp: Stamp,
}

/// Where the text of a skill lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileOf {
    /// In the skill's directory.
    Skill,
    /// At this path, to which the `SKILL.md` is a symlink.
    Elsewhere(Box<Path>),
}

impl Entry {
    /// Returns the skill's name: `name` of the frontmatter, else the directory's name.
    #[must_use]
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the frontmatter, which is taken apart at the first call.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.content.manifest().0
    }

    /// Returns the canonical path of the skill's directory. Equal paths are the same skill.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the `SKILL.md`, to show; read it through [`open`](Self::open).
    #[must_use]
    pub fn location(&self) -> PathBuf {
        self.directory.join(self.file_name())
    }

    pub(crate) fn file_name(&self) -> &str {
        self.file_name.as_deref().unwrap_or(SKILL_FILE)
    }

    /// Returns the root that the skill was found in, as it was given.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what `agents/openai.yaml` says, which is read at the first call; nothing when there is none.
    #[must_use]
    pub fn host_metadata(&self) -> Option<&HostMetadata> {
        self.host().metadata.as_deref()
    }

    pub(crate) fn host(&self) -> &Host {
        self.content.host(&self.directory)
    }

    /// Says whether the model may choose the skill by itself: neither its `SKILL.md` nor its `agents/openai.yaml` forbids it.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.manifest().model_invocable() && self.host_metadata().is_none_or(|host| host.policy.allows_implicit_invocation())
    }

    /// Returns how the `SKILL.md` looked when it was read.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Whether a file that is found now is the one that was read, by the same root.
    pub(crate) fn is_the_same(&self, root: &Path, file_name: &str, stamp: Stamp) -> bool {
        self.stamp.is_still(Some(stamp)) && self.file_name() == file_name && *self.root == *root && self.file_of == FileOf::Skill
    }

    /// The skill as an earlier scan found it, without what was said of it beside others.
    pub(crate) fn again(&self) -> Self {
        let is_own = |warning: &&EntryWarning| !matches!(warning, EntryWarning::SameName { .. } | EntryWarning::NameClash { .. });
        let notes = self.notes.iter().filter(is_own).cloned().collect();
        Self { content: self.content.again(), notes, warnings: OnceLock::new(), ..self.clone() }
    }

    /// Returns who the skill's root belongs to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns what is wrong with the skill: with its `SKILL.md` in the order of the file, with where it lies, with `agents/openai.yaml`.
    #[must_use]
    pub fn warnings(&self) -> &[EntryWarning] {
        self.warnings.get_or_init(|| {
            let own = self.content.manifest().1.iter().cloned().map(EntryWarning::Manifest);
            let host = self.host().notes.iter().cloned().map(EntryWarning::Host);
            own.chain(self.notes.iter().cloned()).chain(host).collect()
        })
    }

    /// Opens the skill's directory.
    ///
    /// # Errors
    /// When the directory is gone or may not be read.
    pub fn open(&self) -> Result<SkillFiles, DiscoveryError> {
        SkillFiles::open(&self.directory, self.file_name(), &self.file_of)
    }
}

/// What is wrong with a skill that loads all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryWarning {
    /// Something in the `SKILL.md`.
    Manifest(Warning),
    /// There is no usable `name`; the directory's name serves.
    NameFromDirectory,
    /// `name` and the directory's name differ, which the specification forbids.
    NameDiffers {
        /// The directory's name.
        directory: String,
    },
    /// The file is spelled otherwise than `SKILL.md`; other clients do not find it.
    FileName {
        /// The spelling.
        found: String,
    },
    /// The `SKILL.md` is a symlink out of the skill, which its root allows.
    LinkedFile {
        /// Where it leads.
        target: PathBuf,
    },
    /// Another skill's name differs only in upper and lower case or in how its characters are composed.
    NameClash {
        /// The other name.
        other: String,
    },
    /// Another skill has the same name; naming it needs its directory.
    SameName {
        /// The other skill's directory.
        directory: PathBuf,
    },
    /// Something in `agents/openai.yaml` was dropped.
    Host(HostNote),
}

impl EntryWarning {
    /// Returns the line of the `SKILL.md`, counted from 1, where it is about one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Manifest(warning) => warning.line(),
            _ => None,
        }
    }

    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Manifest(warning) => warning.kind().code(),
            Self::NameFromDirectory => "name-from-directory",
            Self::NameDiffers { .. } => "name-differs",
            Self::FileName { .. } => "file-name",
            Self::LinkedFile { .. } => "linked-file",
            Self::NameClash { .. } => "name-clash",
            Self::SameName { .. } => "same-name",
            Self::Host(_) => "host-metadata",
        }
    }
}

impl fmt::Display for EntryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(warning) => warning.fmt(f),
            Self::NameFromDirectory => f.write_str("no usable `name`; the directory's name serves"),
            Self::NameDiffers { directory } => write!(f, "name differs from the directory's name {directory:?}"),
            Self::FileName { found } => write!(f, "the file is spelled {found:?}; other clients read only `SKILL.md`"),
            Self::LinkedFile { target } => write!(f, "`SKILL.md` is a symlink to {target:?}; other clients ignore it"),
            Self::NameClash { other } => write!(f, "the name is easily taken for that of the skill {other:?}"),
            Self::SameName { directory } => write!(f, "{directory:?} has the same name; name one by its directory"),
            Self::Host(note) if note.field.is_empty() => write!(f, "agents/openai.yaml not read: {}", note.reason),
            Self::Host(note) => write!(f, "agents/openai.yaml: `{}` dropped: {}", note.field, note.reason),
        }
    }
}
