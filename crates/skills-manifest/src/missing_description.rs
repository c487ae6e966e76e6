//! What happens to a file without a description.

use crate::error::{ManifestError, ManifestErrorKind};
use crate::frontmatter::Frontmatter;
use crate::frontmatter_scan::FrontmatterScan;
use crate::invisible::has_visible_text;

/// Maximum length of a description from a body, in characters; that of the specification.
const MAX_CHARACTERS: usize = 1024;

/// How a `SKILL.md` without a `description` is read.
///
/// The specification requires a description, and so do most clients. Restrictions are parsed as
/// always: frontmatter that is not valid YAML and cannot be repaired is an error in every mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingDescription {
    /// The file is rejected.
    #[default]
    Reject,
    /// The first paragraph of the body is the description; the frontmatter may be missing, too
    /// (Claude Code).
    FromBody,
    /// The description is empty; the frontmatter must be there (Goose).
    Empty,
}

impl MissingDescription {
    /// Returns the frontmatter of a whole file, or that of a file without any if the mode allows it.
    pub(crate) fn scan_file(self, bytes: &[u8]) -> Result<Frontmatter<'_>, ManifestError> {
        match FrontmatterScan::parse_file(bytes) {
            Err(error)
                if self == Self::FromBody
                    && error.kind() == ManifestErrorKind::FrontmatterMissing =>
            {
                Ok(Frontmatter::absent())
            }
            result => result,
        }
    }

    /// Returns the description in place of a missing one, and how it was found.
    pub(crate) fn substitute(self, body: &[u8]) -> Option<(String, &'static str)> {
        match self {
            Self::Reject => None,
            Self::Empty => Some((String::new(), "it is empty")),
            Self::FromBody => {
                let paragraph = first_paragraph(valid_prefix(body))?;
                Some((paragraph, "using the first paragraph of the body"))
            }
        }
    }
}

/// Returns the text up to the first byte that is not UTF-8; a body may be cut within a character.
fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Returns the first paragraph that is not a heading, on one line; the first heading if there is no
/// paragraph.
fn first_paragraph(body: &str) -> Option<String> {
    let is_text = |line: &&str| has_visible_text(line);
    let is_heading = |line: &str| line.trim_start().starts_with('#');
    let mut lines = body
        .lines()
        .skip_while(|line| !is_text(line) || is_heading(line));
    let paragraph: Vec<&str> = lines
        .by_ref()
        .take_while(|line| is_text(line) && !is_heading(line))
        .flat_map(str::split_whitespace)
        .collect();
    let text = if paragraph.is_empty() {
        let heading = body.lines().find(is_text)?;
        heading.trim().trim_start_matches('#').trim().to_owned()
    } else {
        paragraph.join(" ")
    };
    has_visible_text(&text).then(|| text.chars().take(MAX_CHARACTERS).collect())
}
