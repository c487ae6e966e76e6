//! Why a skill is not published.

use skills_runtime::manifest::{MAX_FILE_BYTES, ManifestError, NotPlain};

use super::{MAX_BYTES, MAX_FILES};
use crate::path::shown;

/// Why a skill is not published. Messages say nothing of where it lies.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("no skill has the name")]
    Unknown,
    #[error("it is not for models to choose; users may call it by its prompt")]
    ForUsers,
    #[error("it is not for models to choose")]
    ForNobody,
    #[error("its root is not trusted")]
    Untrusted,
    #[error("its name is not 1 to 64 of a-z, 0-9 and single inner hyphens")]
    Name,
    #[error("several skills have the name")]
    SameName,
    #[error("its directory cannot be opened or listed")]
    Closed,
    #[error(
        "it nests deeper than 8 directories, has more than 1000 files, or a part of it cannot be listed"
    )]
    Cut,
    #[error(
        "its text is not a plain file `SKILL.md` in its directory: it is spelled otherwise or a symbolic link"
    )]
    SkillFile,
    #[error("it has {files} files, at most {MAX_FILES} are published")]
    Files { files: usize },
    #[error("it has {bytes} bytes, at most {MAX_BYTES} are published")]
    Bytes { bytes: u64 },
    #[error("its SKILL.md is longer than {MAX_FILE_BYTES} bytes")]
    SkillFileLength,
    #[error("'{}' cannot be read", shown(path))]
    Unreadable { path: String },
    #[error("its SKILL.md cannot be read: {0}")]
    Manifest(#[from] ManifestError),
    #[error("other readers would not find the same in its SKILL.md: {0}")]
    NotPlain(#[from] NotPlain),
    #[error("`{0}` in its SKILL.md is missing or no text")]
    Field(&'static str),
    #[error("`name` in its SKILL.md is {:?}", shown(written))]
    NameDiffers { written: String },
    #[error("its files change all the time")]
    Changing,
}

impl Refusal {
    /// Says it to the host.
    pub(crate) fn note(&self, name: &str) -> String {
        let name = shown(name);
        match self {
            Self::ForUsers | Self::ForNobody | Self::Untrusted => {
                format!("skill '{name}' is not published: {self}")
            }
            _ => format!("skill '{name}' is not published and is served by tools only: {self}"),
        }
    }
}
