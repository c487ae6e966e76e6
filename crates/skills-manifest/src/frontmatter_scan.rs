//! Finds the frontmatter: the lines between the first `---` line and the next one.

mod delimiter;

use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};
use delimiter::OpeningDelimiter;

/// How much of the text behind a guessed end is looked at for restrictions.
const MAX_TRAILING_BYTES: usize = 2048;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the first bytes of a file say about its frontmatter.
///
/// A fence is a line of exactly `---`, trailing white space allowed; `----`, `...` and an indented
/// `---` are none, so that a rule inside a block scalar never ends the header. Line ends may be LF,
/// CRLF or CR.
///
/// Frontmatter in a Markdown code block, behind an HTML comment, with a closing fence of more
/// dashes or without any fence is read too, with a warning; see `docs/skill-format.md` of the
/// project.
#[derive(Debug)]
pub enum FrontmatterScan<'a> {
    /// Both fences were found.
    Complete(Frontmatter<'a>),
    /// The bytes end before the frontmatter does: read more, up to [`MAX_FRONTMATTER_BYTES`].
    Partial,
}

impl<'a> FrontmatterScan<'a> {
    /// Looks for the frontmatter in a file, or in a prefix of one.
    ///
    /// Reading a prefix is enough for the manifest: 4 KiB hold nearly every frontmatter in the
    /// wild.
    ///
    /// # Errors
    /// When no continuation of `bytes` could be a skill: another first line than a fence or a
    /// field, UTF-16, bytes in the frontmatter that are not UTF-8, or more than
    /// [`MAX_FRONTMATTER_BYTES`] of it.
    pub fn scan_prefix(prefix: &'a [u8]) -> Result<Self, ManifestError> {
        scan(prefix, InputExtent::Prefix)
    }

    /// Returns the frontmatter of a whole file.
    ///
    /// # Errors
    /// As [`scan_prefix`](Self::scan_prefix), and when a fence is missing.
    pub fn parse_file(bytes: &'a [u8]) -> Result<Frontmatter<'a>, ManifestError> {
        match scan(bytes, InputExtent::WholeFile)? {
            Self::Complete(frontmatter) => Ok(frontmatter),
            Self::Partial => Err(unclosed_error(bytes)),
        }
    }
}

fn scan(bytes: &[u8], extent: InputExtent) -> Result<FrontmatterScan<'_>, ManifestError> {
    if let Some(frontmatter) = scan_fast_path(bytes)? {
        return Ok(FrontmatterScan::Complete(frontmatter));
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(Repr::Utf16.into());
    }
    let mut lines = Lines {
        bytes,
        extent,
        offset: 0,
        number: 0,
    };
    let mut warnings = Vec::new();
    if bytes.starts_with(BYTE_ORDER_MARK) {
        lines.offset = BYTE_ORDER_MARK.len();
        warnings.push(line_warning(WarningKind::ByteOrderMark, 1));
    }
    let Some((opening, line)) = OpeningDelimiter::find_opening(&mut lines, &mut warnings)? else {
        return Ok(FrontmatterScan::Partial);
    };
    let start = match opening {
        // The first field is part of the frontmatter.
        OpeningDelimiter::Missing => line.offset,
        _ => lines.offset,
    };
    let first_line = if opening == OpeningDelimiter::Missing {
        line.number
    } else {
        lines.number + 1
    };
    if opening == OpeningDelimiter::Missing {
        lines.rewind(&line);
    }
    let Some(closing) = opening.find_end(&mut lines, start, &mut warnings) else {
        return Ok(FrontmatterScan::Partial);
    };
    if closing.start - start > MAX_FRONTMATTER_BYTES {
        return Err(Repr::UnclosedFrontmatter { line: line.number }.into());
    }
    let is_guess = warnings
        .iter()
        .any(|warning| warning.kind().may_have_lost_fields());
    let beyond = &bytes[closing.end..bytes.len().min(closing.end + MAX_TRAILING_BYTES)];
    let beyond = if is_guess {
        String::from_utf8_lossy(beyond).into_owned()
    } else {
        String::new()
    };
    Ok(FrontmatterScan::Complete(Frontmatter {
        trailing: beyond,
        yaml: decode_utf8(&bytes[start..closing.start], start, first_line)?,
        first_line,
        body_offset: closing.end,
        body_line: closing.line + 1,
        warnings,
    }))
}

/// Finds the frontmatter of a file that begins with `---` and has LF line ends, as nearly all do;
/// nothing when a closer look is needed.
fn scan_fast_path(bytes: &[u8]) -> Result<Option<Frontmatter<'_>>, ManifestError> {
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
        let Some(length) = memchr::memchr(b'\n', &bytes[start..]) else {
            return Ok(None);
        };
        if bytes[start..start + length].trim_ascii_end() != b"---" {
            continue;
        }
        let yaml = &bytes[START..start];
        if start - START > MAX_FRONTMATTER_BYTES
            || memchr::memchr(b'\r', &bytes[..start + length]).is_some()
        {
            return Ok(None);
        }
        return Ok(Some(Frontmatter {
            yaml: decode_utf8(yaml, START, 2)?,
            first_line: 2,
            body_offset: start + length + 1,
            body_line: lines + 2,
            trailing: String::new(),
            warnings: Vec::new(),
        }));
    }
    Ok(None)
}

/// Where the frontmatter ends, where the body starts, and the line before it.
struct FrontmatterEnd {
    start: usize,
    end: usize,
    line: usize,
}

fn line_warning(kind: WarningKind, line: usize) -> Warning {
    Warning::new(kind, Some(Position { line, column: 1 }))
}

/// Says what is wrong with a file that ends before its frontmatter does.
fn unclosed_error(bytes: &[u8]) -> ManifestError {
    let content = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if content.iter().all(u8::is_ascii_whitespace) {
        // So many blank lines may well go on behind the prefix that was read.
        return if content.len() < MAX_FRONTMATTER_BYTES {
            Repr::Empty.into()
        } else {
            Repr::MissingFrontmatter { line: 1 }.into()
        };
    }
    let blank = content.iter().take_while(|b| b.is_ascii_whitespace());
    Repr::UnclosedFrontmatter {
        line: 1 + blank.filter(|b| **b == b'\n').count(),
    }
    .into()
}

pub(crate) fn decode_utf8(bytes: &[u8], offset: usize, line: usize) -> Result<&str, ManifestError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        let line = line + bytes[..valid].iter().filter(|b| **b == b'\n').count();
        Repr::InvalidUtf8 {
            offset: offset + valid,
            line,
        }
        .into()
    })
}

/// Whether the bytes end where the file ends.
#[derive(Clone, Copy, PartialEq)]
enum InputExtent {
    Prefix,
    WholeFile,
}

#[derive(Clone)]
struct Line<'a> {
    text: &'a [u8],
    offset: usize,
    number: usize,
    is_terminated: bool,
}

impl Line<'_> {
    fn is_delimiter(&self) -> bool {
        self.text == b"---"
    }
}

#[derive(Clone)]
struct Lines<'a> {
    bytes: &'a [u8],
    extent: InputExtent,
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
        let rest = self
            .bytes
            .get(self.offset..)
            .filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr2(b'\n', b'\r', rest);
        let ends_with_both = end.is_some_and(|end| rest[end..].starts_with(b"\r\n"));
        // The other half of a CRLF may lie behind the prefix.
        let cut =
            end.is_some_and(|end| rest[end..] == *b"\r") && self.extent == InputExtent::Prefix;
        let line = Line {
            text: rest[..end.unwrap_or(rest.len())].trim_ascii_end(),
            offset: self.offset,
            number: self.number + 1,
            is_terminated: (end.is_some() && !cut) || self.extent == InputExtent::WholeFile,
        };
        self.offset += end.map_or(rest.len(), |end| end + 1 + usize::from(ends_with_both));
        self.number += 1;
        Some(line)
    }
}
