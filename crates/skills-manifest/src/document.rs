//! A whole `SKILL.md`: frontmatter and body.

use crate::frontmatter::value_column;
use crate::frontmatter_scan::decode_utf8;
use crate::{
    Manifest, ManifestError, Outline, Position, ReadingRules, Warning, WarningKind, invisible,
};

/// A whole `SKILL.md`: its manifest, its body and the warnings about both.
///
/// It owns its texts, so the bytes of the file can be dropped after parsing. To list many skills,
/// [`FrontmatterScan`](crate::FrontmatterScan) reads less; to write a file, see [`Draft`](crate::Draft).
///
/// ```
/// use skills_manifest::Document;
///
/// let file = b"---\nname: pdf\ndescription: Fills forms.\nlicense: 1.0\n---\nSee [guide](guide.md).\n";
/// let document = Document::parse(file)?;
/// assert_eq!(document.field_line("description"), Some(3));
/// assert_eq!(document.warnings()[0].to_string(), "line 4: `license` is not text; read as text, put it in quotes");
/// assert_eq!(document.outline().links()[0].target, "guide.md");
/// # Ok::<(), skills_manifest::ManifestError>(())
/// ```
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
    /// Parses a whole file.
    ///
    /// Time and memory are linear in `bytes`; callers limit the length (see
    /// [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES)).
    ///
    /// # Errors
    /// [`ManifestError`] if there is no frontmatter, no description can be recovered from it, or
    /// the body is not UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        Self::parse_with(bytes, ReadingRules::default())
    }

    /// Parses a whole file as a client does.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and if `rules` reject the file.
    pub fn parse_with(bytes: &[u8], rules: ReadingRules) -> Result<Self, ManifestError> {
        let frontmatter = rules.missing_description.scan_file(bytes)?;
        let body = bytes.get(frontmatter.body_offset()..).unwrap_or_default();
        let (manifest, mut warnings) = Manifest::parse_with(&frontmatter, body, rules)?;
        // The body is decoded last: an error in the manifest is more useful than one in the text.
        let body_line = frontmatter.body_line();
        let body = decode_utf8(
            &bytes[frontmatter.body_offset()..],
            frontmatter.body_offset(),
            body_line,
        )?;
        warnings.extend(find_invisible(body, body_line));
        Ok(Self {
            manifest,
            frontmatter: if frontmatter.is_absent() {
                String::new()
            } else {
                frontmatter.yaml().to_owned()
            },
            first_line: frontmatter.first_line(),
            body: body.to_owned(),
            body_line,
            warnings,
        })
    }

    /// Returns the parsed frontmatter.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the YAML of the frontmatter as written, without its delimiters.
    #[must_use]
    pub fn frontmatter(&self) -> &str {
        &self.frontmatter
    }

    /// Returns the line of the file, counted from 1, of the first top-level field with this name.
    ///
    /// The search is textual: it finds the field in this spelling only, also if its value is
    /// invalid.
    #[must_use]
    pub fn field_line(&self, field: &str) -> Option<usize> {
        self.frontmatter
            .split('\n')
            .position(|line| value_column(line, field).is_some())
            .map(|index| self.first_line + index)
    }

    /// Returns the Markdown after the closing delimiter, exactly as written.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the line of the file, counted from 1, on which the body starts.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// Returns the warnings about the file: first its delimiters and YAML, then its fields in a
    /// fixed order, then the body.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Parses the headings and relative links of the body, anew at each call.
    #[must_use]
    pub fn outline(&self) -> Outline {
        Outline::parse(&self.body, self.body_line)
    }
}

/// Returns a warning about the first invisible character of the body, if there is one.
fn find_invisible(body: &str, body_line: usize) -> Option<Warning> {
    let (offset, code_point) = invisible::first_invisible(body)?;
    let before = &body[..offset];
    let line_start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let position = Position {
        line: body_line + count_line_breaks(before),
        column: before[line_start..].chars().count() + 1,
    };
    let kind = WarningKind::InvisibleText {
        field: "body",
        code_point,
        decoded_tags: invisible::decode_tags(body),
    };
    Some(Warning::new(kind, Some(position)))
}

/// Returns the number of line ends: LF, CRLF and CR.
fn count_line_breaks(text: &str) -> usize {
    text.matches('\n').count() + text.matches('\r').count() - text.matches("\r\n").count()
}
