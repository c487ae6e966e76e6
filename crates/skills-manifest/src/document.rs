//! A whole `SKILL.md`.

use crate::frontmatter_scan::{FrontmatterScan, decode_utf8};
use crate::{Manifest, ManifestError, Outline, Position, Warning, WarningKind, invisible};

/// A whole `SKILL.md`: its manifest, its body and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Document {
    manifest: Manifest,
    frontmatter: String,
    first_line: usize,
    body: String,
    body_line: usize,
    warnings: Vec<Warning>,
}

impl Document {
    /// Reads a whole file.
    ///
    /// Time and memory are linear in `bytes`; callers bound the length (see
    /// [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES)).
    ///
    /// # Errors
    /// [`ManifestError`] when there is no readable frontmatter with a description, or when the body
    /// is not UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let frontmatter = FrontmatterScan::parse_file(bytes)?;
        let (manifest, mut warnings) = Manifest::from_frontmatter(&frontmatter)?;
        let body_line = frontmatter.body_line();
        let body = decode_utf8(
            &bytes[frontmatter.body_offset()..],
            frontmatter.body_offset(),
            body_line,
        )?;
        if let Some((at, code_point)) = invisible::first_invisible(body) {
            let before = &body[..at];
            let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
            let position = Position {
                line: body_line + count_line_breaks(before),
                column: before[start..].chars().count() + 1,
            };
            let kind = WarningKind::InvisibleText {
                field: "body",
                code_point,
                decoded_tags: invisible::decode_tags(body),
            };
            warnings.push(Warning::new(kind, Some(position)));
        }
        let (text, first_line) = (frontmatter.yaml().to_owned(), frontmatter.first_line());
        Ok(Self {
            manifest,
            frontmatter: text,
            first_line,
            body: body.to_owned(),
            body_line,
            warnings,
        })
    }

    /// Returns the typed frontmatter.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the frontmatter as it stands in the file, without its fences.
    #[must_use]
    pub fn frontmatter(&self) -> &str {
        &self.frontmatter
    }

    /// Returns the line of the file, counted from 1, on which a top-level field of this name
    /// stands.
    #[must_use]
    pub fn field_line(&self, field: &str) -> Option<usize> {
        let is_field = |line: &str| {
            line.trim_matches(['"', '\''])
                .strip_prefix(field)
                .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        };
        self.frontmatter
            .split('\n')
            .position(is_field)
            .map(|index| self.first_line + index)
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
        Outline::parse(&self.body, self.body_line)
    }
}

/// Counts line ends: LF, CRLF and CR.
fn count_line_breaks(text: &str) -> usize {
    text.matches('\n').count() + text.matches('\r').count() - text.matches("\r\n").count()
}
