//! Finds the frontmatter: the lines between the first `---` line and the next one.

mod opening;

use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};
use opening::Opening;

/// How much of the text behind a guessed end is looked at for restrictions.
const BEYOND_BYTES: usize = 2048;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the first bytes of a file say about its frontmatter.
///
/// A fence is a line of exactly `---`, trailing white space allowed; `----`, `...` and an indented `---` are none, so that a rule
/// inside a block scalar never ends the header. Line ends may be LF, CRLF or CR.
///
/// Frontmatter in a Markdown code block, behind an HTML comment, with a closing fence of more dashes or without any fence is read too,
/// with a warning; see `docs/skill-format.md` of the project.
#[derive(Debug)]
pub enum Fence<'a> {
    /// Both fences were found.
    Closed(Frontmatter<'a>),
    /// The bytes end before the frontmatter does: read more, up to [`MAX_FRONTMATTER_BYTES`].
    Open,
}

impl<'a> Fence<'a> {
    /// Looks for the frontmatter in a file, or in a prefix of one.
    ///
    /// Reading a prefix is enough for the manifest: 4 KiB hold nearly every frontmatter in the wild.
    ///
    /// # Errors
    /// When no continuation of `bytes` could be a skill: another first line than a fence or a field, UTF-16, bytes in the frontmatter that
    /// are not UTF-8, or more than [`MAX_FRONTMATTER_BYTES`] of it.
    pub fn find(prefix: &'a [u8]) -> Result<Self, ManifestError> {
        search(prefix, Extent::Prefix)
    }

    /// Returns the frontmatter of a whole file.
    ///
    /// # Errors
    /// As [`find`](Self::find), and when a fence is missing.
    pub fn of_file(bytes: &'a [u8]) -> Result<Frontmatter<'a>, ManifestError> {
        match search(bytes, Extent::File)? {
            Self::Closed(frontmatter) => Ok(frontmatter),
            Self::Open => Err(unclosed(bytes)),
        }
    }
}

fn search(bytes: &[u8], extent: Extent) -> Result<Fence<'_>, ManifestError> {
    if let Some(frontmatter) = usual(bytes)? {
        return Ok(Fence::Closed(frontmatter));
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(Repr::Utf16.into());
    }
    let mut lines = Lines { bytes, extent, offset: 0, number: 0 };
    let mut warnings = Vec::new();
    if bytes.starts_with(BYTE_ORDER_MARK) {
        lines.offset = BYTE_ORDER_MARK.len();
        warnings.push(warning(WarningKind::ByteOrderMark, 1));
    }
    let Some((opening, line)) = Opening::find(&mut lines, &mut warnings)? else { return Ok(Fence::Open) };
    let start = match opening {
        // The first field is part of the frontmatter.
        Opening::Bare => line.offset,
        _ => lines.offset,
    };
    let first_line = if opening == Opening::Bare { line.number } else { lines.number + 1 };
    if opening == Opening::Bare {
        lines.rewind(&line);
    }
    let Some(closing) = opening.close(&mut lines, start, &mut warnings) else { return Ok(Fence::Open) };
    if closing.start - start > MAX_FRONTMATTER_BYTES {
        return Err(Repr::Unclosed { line: line.number }.into());
    }
    let is_guess = warnings.iter().any(|warning| warning.kind().leaves_doubt());
    let beyond = &bytes[closing.end..bytes.len().min(closing.end + BEYOND_BYTES)];
    let beyond = if is_guess { String::from_utf8_lossy(beyond).into_owned() } else { String::new() };
    Ok(Fence::Closed(Frontmatter {
        beyond,
        yaml: text(&bytes[start..closing.start], start, first_line)?,
        first_line,
        body_offset: closing.end,
        body_line: closing.line + 1,
        warnings,
    }))
}

/// Finds the frontmatter of a file that begins with `---` and has LF line ends, as nearly all do; nothing when a closer look is needed.
fn usual(bytes: &[u8]) -> Result<Option<Frontmatter<'_>>, ManifestError> {
    const START: usize = 4;
    if !bytes.starts_with(b"---\n") {
        return Ok(None);
    }
    let mut lines = 0;
    for at in memchr::memchr_iter(b'\n', &bytes[START - 1..]) {
        let start = START + at;
        lines += 1;
        if !bytes[start..].starts_with(b"---") {
            continue;
        }
        let Some(length) = memchr::memchr(b'\n', &bytes[start..]) else { return Ok(None) };
        if bytes[start..start + length].trim_ascii_end() != b"---" {
            continue;
        }
        let yaml = &bytes[START..start];
        if start - START > MAX_FRONTMATTER_BYTES || memchr::memchr(b'\r', &bytes[..start + length]).is_some() {
            return Ok(None);
        }
        return Ok(Some(Frontmatter {
            yaml: text(yaml, START, 2)?,
            first_line: 2,
            body_offset: start + length + 1,
            body_line: lines + 2,
            beyond: String::new(),
            warnings: Vec::new(),
        }));
    }
    Ok(None)
}

/// Where the frontmatter ends, where the body starts, and the line before it.
struct Closing {
    start: usize,
    end: usize,
    line: usize,
}

fn warning(kind: WarningKind, line: usize) -> Warning {
    Warning::new(kind, Some(Position { line, column: 1 }))
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

#[derive(Clone)]
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

#[derive(Clone)]
struct Lines<'a> {
    bytes: &'a [u8],
    extent: Extent,
    offset: usize,
    number: usize,
}

impl Lines<'_> {
    /// Goes back to the beginning of a line.
    fn rewind(&mut self, line: &Line<'_>) {
        (self.offset, self.number) = (line.offset, line.number - 1);
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.offset..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr2(b'\n', b'\r', rest);
        let ends_with_both = end.is_some_and(|end| rest[end..].starts_with(b"\r\n"));
        // The other half of a CRLF may lie behind the prefix.
        let cut = end.is_some_and(|end| rest[end..] == *b"\r") && self.extent == Extent::Prefix;
        let line = Line {
            text: rest[..end.unwrap_or(rest.len())].trim_ascii_end(),
            offset: self.offset,
            number: self.number + 1,
            ended: (end.is_some() && !cut) || self.extent == Extent::File,
        };
        self.offset += end.map_or(rest.len(), |end| end + 1 + usize::from(ends_with_both));
        self.number += 1;
        Some(line)
    }
}
