//! A document: the text that is ranked.

use sha2::{Digest, Sha256};

/// The text of one skill, or of one section of its references.
///
/// Name and description count more than the body, which is shown to no model by a ranking. Texts
/// beyond [`MAX_BODY_BYTES`] and [`MAX_DESCRIPTION_BYTES`] are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    fields: [&'a str; FIELDS],
}

/// Maximum length of a body that is searched, in bytes: 64 KiB.
pub const MAX_BODY_BYTES: usize = 64 * 1024;
/// Maximum length of a description that is searched, in bytes: 4 KiB.
pub const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
/// Maximum length of a name that is searched, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The number of fields.
pub(crate) const FIELDS: usize = 3;

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The name.
    Name,
    /// The description.
    Description,
    /// The body.
    Body,
}

impl Field {
    /// All fields, in the order of their weight.
    pub(crate) const ALL: [Self; FIELDS] = [Self::Name, Self::Description, Self::Body];

    /// Returns the field as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Body => "body",
        }
    }
}

/// The SHA-256 of the text of a document that is searched. Documents with equal digests have equal
/// terms, so an index takes over the terms of a document whose digest is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextDigest(pub(crate) [u8; 32]);

impl TextDigest {}

/// What an application knows about the source of a document without reading it, such as the path and
/// the stamp of a file. A document with the tag of an earlier one has the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceTag(pub(crate) [u8; 32]);

impl SourceTag {
    /// Creates a tag from its parts.
    ///
    /// ```
    /// use skills_search::SourceTag;
    ///
    /// assert_ne!(SourceTag::new([b"ab".as_slice(), b"c"]), SourceTag::new([b"a".as_slice(), b"bc"]));
    /// ```
    #[must_use]
    pub fn new<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> Self {
        Self(hash(parts))
    }
}

/// Returns the SHA-256 of parts and their lengths, which keep them apart: `ab`, `c` is not `a`, `bc`.
fn hash<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

impl<'a> Document<'a> {
    /// Creates a document.
    #[must_use]
    pub fn new(name: &'a str, description: &'a str, body: &'a str) -> Self {
        Self {
            fields: [
                truncate(name, MAX_NAME_BYTES),
                truncate(description, MAX_DESCRIPTION_BYTES),
                truncate(body, MAX_BODY_BYTES),
            ],
        }
    }

    /// Returns the digest of the text that is searched.
    #[must_use]
    pub fn digest(&self) -> TextDigest {
        TextDigest(hash(self.fields.map(str::as_bytes)))
    }

    pub(crate) fn fields(&self) -> [&'a str; FIELDS] {
        self.fields
    }
}

/// Returns at most `max_bytes` of a text, up to the end of a character.
fn truncate(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}
