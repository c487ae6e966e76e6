//! One skill of a catalogue.

use std::fmt;
use std::path::{Path, PathBuf};

use std::sync::{Arc, OnceLock};

use skills_manifest::{Manifest, OpenAiMetadata, OpenAiWarning, SkillName, Warning};

use crate::lazy_metadata::LazyMetadata;
use crate::openai_file::OpenAiFile;
use crate::{DiscoveryError, FileStamp, SKILL_FILE, Scope, SkillFiles};

/// One skill: its metadata and where it lies. Its body was not read.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) name: SkillName,
    pub(crate) metadata: Arc<LazyMetadata>,
    pub(crate) directory: Arc<Path>,
    /// The file's name when it is another than `SKILL.md`.
    pub(crate) file_name: Option<Box<str>>,
    pub(crate) file_location: SkillFileLocation,
    pub(crate) scope: Scope,
    pub(crate) root: Arc<Path>,
    /// What is wrong beside what its files say.
    pub(crate) scan_warnings: Vec<EntryWarning>,
    pub(crate) warnings: OnceLock<Vec<EntryWarning>>,
    pub(crate) stamp: FileStamp,
}

/// Where the text of a skill lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SkillFileLocation {
    /// In the skill's directory.
    InDirectory,
    /// At this path, to which the `SKILL.md` is a symlink.
    Linked(Box<Path>),
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
        &self.metadata.manifest().0
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

    /// Returns what `agents/openai.yaml` says, which is read at the first call; nothing when there
    /// is none.
    #[must_use]
    pub fn openai_metadata(&self) -> Option<&OpenAiMetadata> {
        self.openai_file().metadata.as_deref()
    }

    pub(crate) fn openai_file(&self) -> &OpenAiFile {
        self.metadata.openai(&self.directory)
    }

    /// Says whether the model may choose the skill by itself: neither its `SKILL.md` nor its
    /// `agents/openai.yaml` forbids it.
    #[must_use]
    pub fn is_model_invocable(&self) -> bool {
        self.manifest().model_invocable()
            && self
                .openai_metadata()
                .is_none_or(|host| host.policy.allows_implicit_invocation())
    }

    /// Returns how the `SKILL.md` looked when it was read.
    #[must_use]
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Whether a file that is found now is the one that was read, by the same root.
    pub(crate) fn is_unchanged(&self, root: &Path, file_name: &str, stamp: FileStamp) -> bool {
        self.stamp.is_unchanged(Some(stamp))
            && self.file_name() == file_name
            && *self.root == *root
            && self.file_location == SkillFileLocation::InDirectory
    }

    /// The skill as an earlier scan found it, without what was said of it beside others.
    pub(crate) fn for_rescan(&self) -> Self {
        let is_own = |warning: &&EntryWarning| {
            !matches!(
                warning,
                EntryWarning::DuplicateName { .. } | EntryWarning::ConfusableName { .. }
            )
        };
        let notes = self.scan_warnings.iter().filter(is_own).cloned().collect();
        Self {
            metadata: self.metadata.without_openai(),
            scan_warnings: notes,
            warnings: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Returns who the skill's root belongs to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns what is wrong with the skill: with its `SKILL.md` in the order of the file, with
    /// where it lies, with `agents/openai.yaml`.
    #[must_use]
    pub fn warnings(&self) -> &[EntryWarning] {
        self.warnings.get_or_init(|| {
            let own = self
                .metadata
                .manifest()
                .1
                .iter()
                .cloned()
                .map(EntryWarning::Manifest);
            let host = self
                .openai_file()
                .warnings
                .iter()
                .cloned()
                .map(EntryWarning::OpenAi);
            own.chain(self.scan_warnings.iter().cloned())
                .chain(host)
                .collect()
        })
    }

    /// Opens the skill's directory.
    ///
    /// # Errors
    /// When the directory is gone or may not be read.
    pub fn open(&self) -> Result<SkillFiles, DiscoveryError> {
        SkillFiles::open(&self.directory, self.file_name(), &self.file_location)
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
    NameMismatch {
        /// The directory's name.
        directory: String,
    },
    /// The file is spelled otherwise than `SKILL.md`; other clients do not find it.
    NonStandardFileName {
        /// The spelling.
        found: String,
    },
    /// The `SKILL.md` is a symlink out of the skill, which its root allows.
    SymlinkedSkillFile {
        /// Where it leads.
        target: PathBuf,
    },
    /// Another skill's name differs only in upper and lower case or in how its characters are
    /// composed.
    ConfusableName {
        /// The other name.
        other: String,
    },
    /// Another skill has the same name; naming it needs its directory.
    DuplicateName {
        /// The other skill's directory.
        directory: PathBuf,
    },
    /// Something in `agents/openai.yaml` was dropped.
    OpenAi(OpenAiWarning),
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
            Self::NameMismatch { .. } => "name-differs",
            Self::NonStandardFileName { .. } => "file-name",
            Self::SymlinkedSkillFile { .. } => "linked-file",
            Self::ConfusableName { .. } => "name-clash",
            Self::DuplicateName { .. } => "same-name",
            Self::OpenAi(_) => "host-metadata",
        }
    }
}

impl fmt::Display for EntryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(warning) => warning.fmt(f),
            Self::NameFromDirectory => f.write_str("no usable `name`; the directory's name serves"),
            Self::NameMismatch { directory } => {
                write!(f, "name differs from the directory's name {directory:?}")
            }
            Self::NonStandardFileName { found } => write!(
                f,
                "the file is spelled {found:?}; other clients read only `SKILL.md`"
            ),
            Self::SymlinkedSkillFile { target } => write!(
                f,
                "`SKILL.md` is a symlink to {target:?}; other clients ignore it"
            ),
            Self::ConfusableName { other } => write!(
                f,
                "the name is easily taken for that of the skill {other:?}"
            ),
            Self::DuplicateName { directory } => write!(
                f,
                "{directory:?} has the same name; name one by its directory"
            ),
            Self::OpenAi(note) if note.field.is_empty() => {
                write!(f, "agents/openai.yaml not read: {}", note.reason)
            }
            Self::OpenAi(note) => write!(
                f,
                "agents/openai.yaml: `{}` dropped: {}",
                note.field, note.reason
            ),
        }
    }
}
