//! Finds the frontmatter: the lines between the first `---` line and the next one.

use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::warning::{Warning, WarningKind};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the first bytes of a file say about its frontmatter.
///
/// A fence is a line of exactly `---`, trailing white space allowed; `----`, `...` and an indented `---` are none, so that a rule
/// inside a block scalar never ends the header. Line ends may be LF or CRLF.
#[derive(Debug)]
pub enum Fence<'a> {
    /// Both fences were found.
    Closed(Frontmatter<'a>),
    /// The bytes end before the frontmatter does: read more, up to [`MAX_FRONTMATTER_BYTES`].
    Open,
}

/// The frontmatter of a file, and where its body begins.
#[derive(Debug)]
pub struct Frontmatter<'a> {
    yaml: &'a str,
    first_line: usize,
    body_offset: usize,
    warnings: Vec<Warning>,
}

impl<'a> Fence<'a> {
    /// Looks for the frontmatter in a file, or in a prefix of one.
    ///
    /// Reading a prefix is enough for the manifest: 4 KiB hold nearly every frontmatter in the wild.
    ///
    /// # Errors
    /// When no continuation of `bytes` could be a skill: another first line than `---`, UTF-16, bytes in the frontmatter that are not UTF-8,
    /// or more than [`MAX_FRONTMATTER_BYTES`] of it.
    pub fn find(prefix: &'a [u8]) -> Result<Self, ManifestError> {
        Self::search(prefix, Extent::Prefix)
    }

    /// Returns the frontmatter of a whole file.
    ///
    /// # Errors
    /// As [`find`](Self::find), and when a fence is missing.
    pub fn of_file(bytes: &'a [u8]) -> Result<Frontmatter<'a>, ManifestError> {
        match Self::search(bytes, Extent::File)? {
            Self::Closed(frontmatter) => Ok(frontmatter),
            Self::Open => Err(unclosed(bytes)),
        }
    }

    fn search(bytes: &'a [u8], extent: Extent) -> Result<Self, ManifestError> {
        if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
            return Err(Repr::Utf16.into());
        }
        let mut lines = Lines { bytes, extent, offset: 0, number: 0 };
        let mut warnings = Vec::new();
        if bytes.starts_with(BYTE_ORDER_MARK) {
            lines.offset = BYTE_ORDER_MARK.len();
            warnings.push(Warning::new(WarningKind::ByteOrderMark, Some(1)));
        }
        let Some(opening) = lines.find(|line| !line.text.is_empty()) else {
            return Ok(Self::Open);
        };
        if !opening.is_fence() {
            // An unfinished first line such as `--` may still become a fence.
            return if opening.ended || !b"---".starts_with(opening.text) {
                Err(Repr::Missing { line: opening.number }.into())
            } else {
                Ok(Self::Open)
            };
        }
        if opening.number > 1 {
            warnings.push(Warning::new(WarningKind::BlankBeforeFence, Some(1)));
        }
        let start = lines.offset;
        let Some(closing) = lines.find(Line::is_fence).filter(|line| line.ended) else {
            return Ok(Self::Open);
        };
        if closing.offset - start > MAX_FRONTMATTER_BYTES {
            return Err(Repr::Unclosed { line: opening.number }.into());
        }
        Ok(Self::Closed(Frontmatter {
            yaml: text(&bytes[start..closing.offset], start, opening.number + 1)?,
            first_line: opening.number + 1,
            body_offset: lines.offset,
            warnings,
        }))
    }
}

impl<'a> Frontmatter<'a> {
    /// Returns the YAML between the fences, as it stands in the file.
    #[must_use]
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns the line of the file, counted from 1, on which the YAML starts.
    #[must_use]
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// Returns the offset in bytes at which the body starts.
    #[must_use]
    pub fn body_offset(&self) -> usize {
        self.body_offset
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the line of the file on which the top-level `key` stands.
    pub(crate) fn line_of(&self, key: &str) -> Option<usize> {
        let is_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        self.yaml.lines().position(is_key).map(|index| self.first_line + index)
    }

    /// Returns the line of the file on which the body starts.
    pub(crate) fn body_line(&self) -> usize {
        self.first_line + self.yaml.lines().count() + 1
    }
}

/// Says what is wrong with a file that ends before its frontmatter does.
fn unclosed(bytes: &[u8]) -> ManifestError {
    let content = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if content.iter().all(u8::is_ascii_whitespace) {
        // So many blank lines may well go on behind the prefix that was read.
        return if content.len() < MAX_FRONTMATTER_BYTES { Repr::Empty.into() } else { Repr::Missing { line: 1 }.into() };
    }
    let blank = content.iter().take_while(|b| b.is_ascii_whitespace());
    Repr::Unclosed { line: 1 + blank.filter(|b| **b == b'\n').count() }.into()
}

pub(crate) fn text(bytes: &[u8], offset: usize, line: usize) -> Result<&str, ManifestError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        let line = line + bytes[..valid].iter().filter(|b| **b == b'\n').count();
        Repr::Utf8 { offset: offset + valid, line }.into()
    })
}

/// Whether the bytes end where the file ends.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Prefix,
    File,
}

struct Line<'a> {
    text: &'a [u8],
    offset: usize,
    number: usize,
    ended: bool,
}

impl Line<'_> {
    fn is_fence(&self) -> bool {
        self.text == b"---"
    }
}

struct Lines<'a> {
    bytes: &'a [u8],
    extent: Extent,
    offset: usize,
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.offset..).filter(|rest| !rest.is_empty())?;
        let end = rest.iter().position(|b| *b == b'\n');
        let line = Line {
            text: rest[..end.unwrap_or(rest.len())].trim_ascii_end(),
            offset: self.offset,
            number: self.number + 1,
            ended: end.is_some() || self.extent == Extent::File,
        };
        self.offset += end.map_or(rest.len(), |end| end + 1);
        self.number += 1;
        Some(line)
    }
}
