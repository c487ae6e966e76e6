//! One skill of a catalogue.

use std::fmt;
use std::path::{Path, PathBuf};

use skills_manifest::{Manifest, SkillName, Warning};

use crate::{DiscoveryError, Scope, SkillFiles};

/// One skill: its metadata and where it lies. Its body was not read.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) name: SkillName,
    pub(crate) manifest: Manifest,
    pub(crate) directory: PathBuf,
    pub(crate) file_name: String,
    pub(crate) scope: Scope,
    pub(crate) warnings: Vec<EntryWarning>,
}

impl Entry {
    /// Returns the skill's name: `name` of the frontmatter, else the directory's name.
    #[must_use]
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the frontmatter.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the canonical path of the skill's directory. Equal paths are the same skill.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the `SKILL.md`, to show; read it through [`open`](Self::open).
    #[must_use]
    pub fn location(&self) -> PathBuf {
        self.directory.join(&self.file_name)
    }

    /// Returns who the skill's root belongs to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns what is wrong with the skill.
    #[must_use]
    pub fn warnings(&self) -> &[EntryWarning] {
        &self.warnings
    }

    /// Opens the skill's directory.
    ///
    /// # Errors
    /// When the directory is gone or may not be read.
    pub fn open(&self) -> Result<SkillFiles, DiscoveryError> {
        SkillFiles::open(&self.directory, &self.file_name)
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
        }
    }
}
