//! Why a skill is not published.

use skills_runtime::manifest::{AmbiguousYaml, MAX_FILE_BYTES, ManifestError};

use super::{MAX_BYTES, MAX_FILES};
use crate::virtual_path::escape_for_display;

/// Why a skill is not published. Messages say nothing of where it lies.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpublishedReason {
    #[error("no skill has the name")]
    NotFound,
    #[error("it is not for models to choose; users may call it by its prompt")]
    UserOnly,
    #[error("it is not for models to choose")]
    NotInvocable,
    #[error("its root is not trusted")]
    Untrusted,
    #[error("its name is not 1 to 64 of a-z, 0-9 and single inner hyphens")]
    InvalidName,
    #[error("several skills have the name")]
    DuplicateName,
    #[error("its directory cannot be opened or listed")]
    Unlistable,
    #[error(
        "it nests deeper than 8 directories, has more than 1000 files, or a part of it cannot be listed"
    )]
    TooManyEntries,
    #[error(
        "its text is not a plain file `SKILL.md` in its directory: it is spelled otherwise or a symbolic link"
    )]
    IrregularSkillFile,
    #[error("it has {files} files, at most {MAX_FILES} are published")]
    TooManyFiles { files: usize },
    #[error("it has {bytes} bytes, at most {MAX_BYTES} are published")]
    TooLarge { bytes: u64 },
    #[error("its SKILL.md is longer than {MAX_FILE_BYTES} bytes")]
    SkillFileTooLarge,
    #[error("'{}' cannot be read", escape_for_display(path))]
    Unreadable { path: String },
    #[error("its SKILL.md cannot be read: {0}")]
    InvalidManifest(#[from] ManifestError),
    #[error("other readers would not find the same in its SKILL.md: {0}")]
    AmbiguousYaml(#[from] AmbiguousYaml),
    #[error("`{0}` in its SKILL.md is missing or no text")]
    MissingField(&'static str),
    #[error("`name` in its SKILL.md is {:?}", escape_for_display(written))]
    NameMismatch { written: String },
    #[error("its files change all the time")]
    Unstable,
}

impl UnpublishedReason {
    /// Says it to the host.
    pub(crate) fn warning(&self, name: &str) -> String {
        let name = escape_for_display(name);
        match self {
            Self::UserOnly | Self::NotInvocable | Self::Untrusted => {
                format!("skill '{name}' is not published: {self}")
            }
            _ => format!("skill '{name}' is not published and is served by tools only: {self}"),
        }
    }
}
