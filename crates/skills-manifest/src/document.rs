//! A whole `SKILL.md`.

use crate::fence::{Fence, text};
use crate::{Manifest, ManifestError, Outline, Warning};

/// A whole `SKILL.md`: its manifest, its body and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Document {
    manifest: Manifest,
    body: String,
    body_line: usize,
    warnings: Vec<Warning>,
}

impl Document {
    /// Reads a whole file.
    ///
    /// Time and memory are linear in `bytes`; callers bound the length (see [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES)).
    ///
    /// # Errors
    /// [`ManifestError`] when there is no readable frontmatter with a description, or when the body is not UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let frontmatter = Fence::of_file(bytes)?;
        let (manifest, warnings) = Manifest::from_frontmatter(&frontmatter)?;
        let body_line = frontmatter.body_line();
        let body = text(&bytes[frontmatter.body_offset()..], frontmatter.body_offset(), body_line)?;
        Ok(Self { manifest, body: body.to_owned(), body_line, warnings })
    }

    /// Returns the typed frontmatter.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the Markdown after the closing fence, exactly as it stands in the file.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the line of the file, counted from 1, on which the body starts.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// Returns what is wrong with the file, in the order of its fields.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Reads the headings and relative links of the body; computed at each call.
    #[must_use]
    pub fn outline(&self) -> Outline {
        Outline::of(&self.body, self.body_line)
    }
}
