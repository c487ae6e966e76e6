//! Snapshots of skills, for clients.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::unpublished::UnpublishedSkill;
use crate::sanitize::strip_terminal_escapes;

/// Lists published skills, and why other skills are not published.
///
/// Skills that cannot be published remain usable through tools, unless their warning says
/// otherwise.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PublishedSkills {
    /// The published skills, ordered by name. Names are unique.
    pub skills: Vec<Arc<PublishedSkill>>,
    /// The skills that are not published, ordered by name, and after the last page those that are
    /// not trusted.
    pub unpublished: Vec<UnpublishedSkill>,
    /// The names of the other skills of the catalog, in order.
    pub unread: Vec<String>,
    /// Whether wanted skills that are published are among them.
    pub has_more: bool,
}

/// A consistent snapshot of one skill: its frontmatter and the digests of all published files.
///
/// Hidden files, symlinks, key files and names that are not valid in a virtual path are omitted.
/// The content of a file is read separately and matches the digest of the snapshot; cloning the
/// `Arc` is cheap.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PublishedSkill {
    /// The name: 1 to 64 of `a`–`z`, `0`–`9` and single inner hyphens, as in the frontmatter.
    pub name: String,
    /// The description exactly as in the frontmatter, at most 1,024 characters. It may have several
    /// lines and invisible characters.
    pub description: String,
    /// The complete frontmatter of the listed `SKILL.md` as parsed from YAML, with unknown fields,
    /// in the order of the file. The fields of the Agent Skills specification have valid values.
    pub frontmatter: Map<String, Value>,
    /// Whether values of `metadata` in the frontmatter are the JSON text of what the file has, since
    /// that is not text.
    pub has_metadata_as_text: bool,
    /// All files including `SKILL.md`, ordered by path: at most 512, with at most 16 MiB together.
    pub files: Vec<PublishedFile>,
}

/// Describes one file of a published skill: path, size, digest and media type.
///
/// The description was made when the snapshot was taken. Content that is read later is compared
/// with the digest, so description and content always belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedFile {
    /// The path below the skill directory, with `/` as separator. No component is `.` or `..`,
    /// hidden, or contains invisible characters. Spaces, `%` and other characters that need
    /// encoding in a URI are possible.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 of the content, as 64 lowercase hexadecimal digits.
    pub sha256: String,
    /// The media type, which is derived from the file extension.
    pub media_type: String,
    /// Whether the content is UTF-8 without NUL.
    pub is_text: bool,
}

/// The content of a published file, and the snapshot that lists it.
///
/// The content matches size and digest of [`file`](Self::file). If the file changed since an
/// earlier snapshot, [`skill`](Self::skill) is the new snapshot, and clients that cached the
/// earlier one should replace it.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct PublishedContent {
    /// The snapshot that lists the content.
    pub skill: Arc<PublishedSkill>,
    /// The description of the file, with the size and digest of the content.
    pub file: PublishedFile,
    /// The content.
    pub content: Vec<u8>,
}

impl PublishedSkill {
    /// Returns the whole description for display: without terminal escape sequences and invisible
    /// characters, otherwise as in the frontmatter, with its lines.
    #[must_use]
    pub fn visible_description(&self) -> String {
        strip_terminal_escapes(&self.description)
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

impl PublishedContent {
    /// Returns the content as text without changes, or `None` if it is not text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if self.file.is_text {
            std::str::from_utf8(&self.content).ok()
        } else {
            None
        }
    }
}
