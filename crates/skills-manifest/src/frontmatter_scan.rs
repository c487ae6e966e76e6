//! Finds the frontmatter in a file: the lines between two `---` delimiters.

mod delimiter;
mod lines;

use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::frontmatter::Frontmatter;
use crate::warning::WarningKind;
use delimiter::{OpeningDelimiter, line_warning};
use lines::{InputExtent, Lines};

/// How many bytes after an inferred end of the frontmatter are searched for restriction keys.
const MAX_TRAILING_BYTES: usize = 2048;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The result of searching a file, or a prefix of it, for its frontmatter.
///
/// A delimiter is a line of exactly `---`, with trailing white space allowed. `----`, `...` and an
/// indented `---` are not delimiters, so that a rule inside of a block scalar never ends the
/// frontmatter. Line ends may be LF, CRLF or CR.
///
/// Frontmatter in a Markdown code block, after an HTML comment, with more dashes or without any
/// delimiters is accepted with a warning; `docs/skill-format.md` of the project lists all forms.
#[derive(Debug)]
pub enum FrontmatterScan<'a> {
    /// The end of the frontmatter was found.
    Complete(Frontmatter<'a>),
    /// The bytes end before the frontmatter does: the caller reads more, up to
    /// [`MAX_FRONTMATTER_BYTES`], or the whole file for [`parse_file`](Self::parse_file).
    Partial,
}

impl<'a> FrontmatterScan<'a> {
    /// Searches a prefix of a file for the frontmatter.
    ///
    /// A scan of many skills then need not read their bodies: 4 KiB contain nearly every published
    /// frontmatter. The result is the same as for the whole file, or `Partial`.
    ///
    /// ```
    /// use skills_manifest::FrontmatterScan;
    ///
    /// let file = b"---\nname: pdf\ndescription: Fills forms.\n---\n# Body\n";
    /// assert!(matches!(FrontmatterScan::scan_prefix(&file[..20])?, FrontmatterScan::Partial));
    /// let FrontmatterScan::Complete(frontmatter) = FrontmatterScan::scan_prefix(file)? else {
    ///     unreachable!("both delimiters are there");
    /// };
    /// assert_eq!(&file[frontmatter.body_offset()..], b"# Body\n");
    /// # Ok::<(), skills_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// [`ManifestError`] if no continuation of `prefix` can be a skill: the first line is neither a
    /// delimiter nor a field, the file is UTF-16, or the frontmatter is not UTF-8 or longer than
    /// [`MAX_FRONTMATTER_BYTES`].
    pub fn scan_prefix(prefix: &'a [u8]) -> Result<Self, ManifestError> {
        scan(prefix, InputExtent::Prefix)
    }

    /// Returns the frontmatter of a whole file.
    ///
    /// # Errors
    /// As [`scan_prefix`](Self::scan_prefix), and if the closing delimiter is missing and the first
    /// line after the opening one is not a field.
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
    // UTF-16 has a byte order mark of its own; its NUL bytes would only cause confusing errors.
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(Repr::Utf16.into());
    }
    let mut lines = Lines::new(bytes, extent);
    let mut warnings = Vec::new();
    // Windows editors write it; to other clients, the first line is then not `---`.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        lines.offset = BYTE_ORDER_MARK.len();
        warnings.push(line_warning(WarningKind::ByteOrderMark, 1));
    }
    let Some((opening, line)) = OpeningDelimiter::find_opening(&mut lines, &mut warnings)? else {
        return Ok(FrontmatterScan::Partial);
    };
    if opening == OpeningDelimiter::Missing {
        // The line is the first field, so it is part of the frontmatter.
        lines.rewind(&line);
    }
    let start = lines.offset;
    let first_line = lines.number + 1;
    let Some(closing) = opening.find_end(&mut lines, start, &mut warnings) else {
        return Ok(FrontmatterScan::Partial);
    };
    // Callers may pass more bytes than that, so the closing delimiter may be beyond the limit.
    if closing.start - start > MAX_FRONTMATTER_BYTES {
        return Err(Repr::UnclosedFrontmatter { line: line.number }.into());
    }
    // An inferred end may be too early, and the fields after it may restrict the skill.
    let is_end_inferred = warnings
        .iter()
        .any(|warning| warning.kind().has_inferred_end());
    let trailing = if is_end_inferred {
        let end = bytes.len().min(closing.end + MAX_TRAILING_BYTES);
        String::from_utf8_lossy(&bytes[closing.end..end]).into_owned()
    } else {
        String::new()
    };
    Ok(FrontmatterScan::Complete(Frontmatter {
        trailing,
        // Only the frontmatter is decoded: a prefix may end within a character of the body.
        yaml: decode_utf8(&bytes[start..closing.start], start, first_line)?,
        first_line,
        body_offset: closing.end,
        body_line: closing.line + 1,
        warnings,
    }))
}

/// Finds the frontmatter of a file that starts with `---` and has LF line ends, as nearly all do.
///
/// Returns `None` if only the full scan can decide. It allocates nothing, which counts for scans of
/// thousands of skills.
fn scan_fast_path(bytes: &[u8]) -> Result<Option<Frontmatter<'_>>, ManifestError> {
    const START: usize = 4;
    if !bytes.starts_with(b"---\n") {
        return Ok(None);
    }
    let mut lines = 0;
    // Starts at the newline of the opening delimiter, so that an empty frontmatter is found too.
    for at in memchr::memchr_iter(b'\n', &bytes[START - 1..]) {
        let start = START + at;
        lines += 1;
        if !bytes[start..].starts_with(b"---") {
            continue;
        }
        // A prefix may end within `----`, so an unterminated line is not yet a delimiter.
        let Some(length) = memchr::memchr(b'\n', &bytes[start..]) else {
            return Ok(None);
        };
        if bytes[start..start + length].trim_ascii_end() != b"---" {
            continue;
        }
        let yaml = &bytes[START..start];
        // A lone carriage return is a line end too, so there may be an earlier delimiter.
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

/// Returns the error for a whole file that ends before its frontmatter does.
fn unclosed_error(bytes: &[u8]) -> ManifestError {
    let content = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if content.iter().all(u8::is_ascii_whitespace) {
        // Callers read at most `MAX_FRONTMATTER_BYTES` of a file without a delimiter, so after as
        // many blank bytes there may be more text.
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

/// Decodes a part of the file that starts at `offset` in `line`, for the error.
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
