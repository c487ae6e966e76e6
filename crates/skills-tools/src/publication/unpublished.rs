//! Skills that are not published, and the reasons.

use skills_runtime::manifest::{AmbiguousYaml, MAX_FILE_BYTES, ManifestError};

use crate::sanitize::MAX_DESCRIPTION_CHARS;
use crate::virtual_path::escape_for_display;

/// Maximum number of files of a published skill: 512.
pub(crate) const MAX_FILES: usize = 512;
/// Maximum size of a published skill, all files together: 16 MiB.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// A skill that is not published, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpublishedSkill {
    /// The name of the skill.
    pub name: String,
    /// One sentence for the host application, with the name. Contains no host paths.
    pub warning: String,
}

impl UnpublishedSkill {
    pub(super) fn new(name: &str, reason: &UnpublishedReason) -> Self {
        Self {
            name: name.to_owned(),
            warning: reason.warning(name),
        }
    }
}

/// The reason for which a skill is not published. Messages contain no host paths.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpublishedReason {
    #[error("no such skill")]
    NotFound,
    #[error("it is not model-invocable; users can invoke it by its prompt")]
    UserOnly,
    #[error("it is not model-invocable")]
    NotInvocable,
    #[error("its root is not trusted")]
    Untrusted,
    #[error("its project is not trusted; trust it with `skills trust --project`")]
    UntrustedProject,
    #[error("invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens")]
    InvalidName,
    #[error("several skills have this name")]
    DuplicateName,
    #[error("cannot open or list its directory")]
    Unlistable,
    #[error(
        "it is nested deeper than 8 directories, has more than 1000 files, or cannot be listed completely"
    )]
    TooManyEntries,
    #[error("SKILL.md is a symlink or has a non-standard file name")]
    IrregularSkillFile,
    #[error("it has {files} files, limit {MAX_FILES}")]
    TooManyFiles { files: usize },
    #[error("it is {bytes} bytes, limit {MAX_BYTES}")]
    TooLarge { bytes: u64 },
    #[error("SKILL.md is larger than {MAX_FILE_BYTES} bytes")]
    SkillFileTooLarge,
    #[error("cannot read '{}'", escape_for_display(path))]
    Unreadable { path: String },
    #[error("cannot parse SKILL.md: {0}")]
    InvalidManifest(#[from] ManifestError),
    #[error("YAML parsers disagree about SKILL.md: {0}")]
    AmbiguousYaml(#[from] AmbiguousYaml),
    #[error("`{0}` in SKILL.md is missing or not text")]
    MissingField(&'static str),
    #[error("`name` in SKILL.md is `{}`", escape_for_display(written))]
    NameMismatch { written: String },
    #[error("its description has {characters} characters, limit {MAX_DESCRIPTION_CHARS}")]
    LongDescription { characters: usize },
    #[error("`{field}` in SKILL.md is not {expected}")]
    InvalidField {
        field: &'static str,
        expected: &'static str,
    },
    #[error("its files change continuously")]
    Unstable,
}

impl UnpublishedReason {
    /// Returns the warning for the host application.
    pub(crate) fn warning(&self, name: &str) -> String {
        let name = escape_for_display(name);
        match self {
            Self::UserOnly | Self::NotInvocable | Self::Untrusted | Self::UntrustedProject => {
                format!("skill `{name}` is not published: {self}")
            }
            _ => format!("skill `{name}` is not published, only available through tools: {self}"),
        }
    }
}
