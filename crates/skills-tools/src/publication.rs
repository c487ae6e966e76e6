//! Skills as other machines are given them: all files with their digests, and the frontmatter as it
//! stands in the file.
//!
//! ```text
//! Library --all | one--> Publication   one consistent look at a skill, kept until a file of it changes
//!         `-read-------> PublishedBytes   never other bytes than a publication lists
//! ```

mod completion;
mod error;
mod publisher;
mod snapshot;
mod unpublished;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use completion::Completion;
pub use error::{PublicationError, PublicationErrorKind};
pub(crate) use publisher::Publisher;

use crate::catalog_tools::search::short_description;

/// The most files of a skill that is published: 512.
pub(crate) const MAX_FILES: usize = 512;
/// The most bytes of a skill that is published, all files together: 16 MiB.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// The skills that are published, and why others are not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PublishedSkills {
    /// In the order of the catalogue; no two have the same name.
    pub skills: Vec<Arc<PublishedSkill>>,
    /// What a host should know: one sentence for each skill that is not published and why. No path
    /// of this machine is in it.
    pub warnings: Vec<String>,
}

/// One skill as it was at one moment: its frontmatter and the digests of all files that are given
/// away.
///
/// Hidden files, symlinks, files that look like keys and names that the tools take for no path are
/// no part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedSkill {
    name: String,
    description: String,
    frontmatter: Map<String, Value>,
    files: Vec<PublishedFile>,
}

/// One file of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFile {
    path: String,
    bytes: u64,
    sha256: String,
    media_type: String,
    is_text: bool,
}

/// What is in a file, and the publication that lists it so.
#[derive(Debug, Clone)]
#[must_use]
pub struct PublishedContent {
    skill: Arc<PublishedSkill>,
    file: PublishedFile,
    content: Vec<u8>,
}

impl PublishedSkill {
    /// Returns the name: 1 to 64 of `a`–`z`, `0`–`9` and single inner hyphens, as in the
    /// frontmatter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description exactly as in the frontmatter; it may have several lines and
    /// characters that nobody sees.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the description to show: one line of at most 300 characters that people see.
    #[must_use]
    pub fn summary(&self) -> String {
        short_description(&self.description)
    }

    /// Returns the whole frontmatter of the `SKILL.md` that is listed, as YAML has it: unknown
    /// fields stay, in the order of the file.
    #[must_use]
    pub fn frontmatter(&self) -> &Map<String, Value> {
        &self.frontmatter
    }

    /// Returns all files, ordered by path, `SKILL.md` among them: at most 512, with at most 16 MiB
    /// together.
    #[must_use]
    pub fn files(&self) -> &[PublishedFile] {
        &self.files
    }

    /// Finds a file by its path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&PublishedFile> {
        let index = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        self.files.get(index)
    }
}

impl PublishedFile {
    /// Returns the path below the skill's directory, with `/` between the parts. No part is `.` or
    /// `..`, is hidden or has invisible characters, but spaces, `%` and other characters that a URI
    /// has to encode may be in it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the SHA-256 of the content: 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the media type, by the file's ending.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Says whether the content is UTF-8 without NUL.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.is_text
    }
}

impl PublishedContent {
    /// Returns the publication that lists the content.
    #[must_use]
    pub fn skill(&self) -> &Arc<PublishedSkill> {
        &self.skill
    }

    /// Returns what the publication says of the file; size and digest are those of the content.
    #[must_use]
    pub fn file(&self) -> &PublishedFile {
        &self.file
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Takes the content out.
    #[must_use]
    pub fn into_content(self) -> Vec<u8> {
        self.content
    }

    /// Returns the content as text, byte for byte; nothing when it is none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if self.file.is_text {
            std::str::from_utf8(&self.content).ok()
        } else {
            None
        }
    }
}
