//! What is at the place of a skill.

use std::path::Path;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};

use crate::LockedSkill;

/// The state of one entry of a directory of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Installed {
    Missing,
    /// A directory with content, and the files of it that are executable, sorted.
    Content(ContentDigest, Vec<String>),
    /// Something that has no content digest.
    Other,
}

impl Installed {
    pub(crate) fn read(directory: &Path) -> Self {
        match directory.symlink_metadata() {
            Err(_) => return Self::Missing,
            // A symlink to a directory with the same files is not what was installed.
            Ok(metadata) if !metadata.is_dir() => return Self::Other,
            Ok(_) => {}
        }
        let files = SkillFiles::open_directory(directory);
        let read = files.and_then(|files| files.digested_content(&mut DigestCache::default()));
        match read {
            Ok(content) => Self::Content(content.digest, content.executables()),
            Err(_) => Self::Other,
        }
    }

    /// Returns true if it has the files and modes of an entry of the lock file.
    pub(crate) fn is(&self, locked: &LockedSkill) -> bool {
        match self {
            Self::Content(digest, executable) => {
                *digest == locked.content
                    // Other systems have no such mode.
                    && (!cfg!(unix) || *executable == locked.executable)
            }
            Self::Missing | Self::Other => false,
        }
    }
}
