//! The forms in which frontmatter starts and ends.
//!
//! Only two `---` lines are standard; all other forms occur in published skills and are accepted
//! with a warning.

use super::lines::{FrontmatterEnd, InputExtent, Line, Lines};
use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::field_names::{REQUIRED_FIELDS, is_spelling_of};
use crate::position::Position;
use crate::warning::{Warning, WarningKind};

/// Length from which an unterminated first line can no longer become a delimiter or field, in
/// bytes.
const MAX_OPENING_BYTES: usize = 64;

/// How the frontmatter starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OpeningDelimiter {
    /// `---`, the standard form.
    Dashes,
    /// A Markdown code block without `---` in it, opened by `length` times the character `fence`.
    CodeBlock { fence: u8, length: usize },
    /// A field, without any delimiter.
    Missing,
}

impl OpeningDelimiter {
    /// Finds the line that opens the frontmatter; `None` if the bytes end before it is certain.
    pub(super) fn find_opening<'a>(
        lines: &mut Lines<'a>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<(Self, Line<'a>)>, ManifestError> {
        let Some(mut line) = lines.find(|line| !line.text.is_empty()) else {
            return Ok(None);
        };
        if line.number > 1 {
            warnings.push(line_warning(WarningKind::BlankBeforeDelimiter, 1));
        }
        // Generators and license headers put a comment there.
        if line.text.starts_with(b"<!--") {
            warnings.push(line_warning(
                WarningKind::CommentBeforeDelimiter,
                line.number,
            ));
            match skip_comments(lines, line) {
                Some(next) => line = next,
                None => return Ok(None),
            }
        }
        // Models that write a skill often wrap it in a code block.
        if line.text.starts_with(b"```") || line.text.starts_with(b"~~~") {
            return Ok(open_code_block(lines, line, warnings));
        }
        // Markdown editors escape `---` with a backslash.
        if line.is_delimiter() || is_indented_delimiter(line.text) || line.text == b"\\---" {
            if !line.is_delimiter() {
                warnings.push(non_standard_warning(&line));
            }
            return Ok(Some((Self::Dashes, line)));
        }
        // Only `name` and `description`: any other `word: text` may be the first line of prose.
        if is_required_field(line.text) && line.is_terminated {
            warnings.push(line_warning(WarningKind::MissingDelimiters, line.number));
            return Ok(Some((Self::Missing, line)));
        }
        // A partial first line may still become a delimiter or a field; both are short.
        let is_undecided = !line.is_terminated && line.text.len() < MAX_OPENING_BYTES;
        if is_undecided {
            Ok(None)
        } else if line.text.starts_with(b"../") && line.text.ends_with(b".md") {
            Err(Repr::SymlinkAsText { line: line.number }.into())
        } else {
            Err(Repr::MissingFrontmatter { line: line.number }.into())
        }
    }

    /// Finds the line that closes the frontmatter; `None` if the bytes end before it.
    pub(super) fn find_end(
        self,
        lines: &mut Lines<'_>,
        start: usize,
        warnings: &mut Vec<Warning>,
    ) -> Option<FrontmatterEnd> {
        match self {
            Self::Dashes => find_end_of_dashes(lines, start, warnings),
            Self::CodeBlock { fence, length } => {
                // Some files open with a fence of a code block and close with `---`.
                let line = lines
                    .find(|line| line.is_delimiter() || is_code_block_end(line.text, fence, length))
                    .filter(|line| line.is_terminated)?;
                Some(lines.end_at(&line))
            }
            Self::Missing => {
                if lines.extent == InputExtent::Prefix {
                    // Whether a heading or a blank line ends the fields depends on the lines after
                    // it. In a prefix, only a delimiter is certain.
                    lines
                        .clone()
                        .find(Line::is_delimiter)
                        .filter(|line| line.is_terminated)?;
                }
                Some(end_of_undelimited_fields(lines, start))
            }
        }
    }
}

/// Finds the end of frontmatter that starts with `---`: a delimiter, else a non-standard one, else
/// the end of its fields.
fn find_end_of_dashes(
    lines: &mut Lines<'_>,
    start: usize,
    warnings: &mut Vec<Warning>,
) -> Option<FrontmatterEnd> {
    let begin = lines.clone();
    let exact = lines
        .find(Line::is_delimiter)
        .filter(|line| line.is_terminated);
    if let Some(line) = exact {
        return Some(lines.end_at(&line));
    }
    // The forms below count only if the whole file has no delimiter: other clients would read up to
    // that one, and all clients must see the same fields.
    if lines.extent == InputExtent::Prefix {
        return None;
    }
    *lines = begin.clone();
    if let Some(line) = lines.find(|line| is_non_standard_delimiter(line.text)) {
        warnings.push(non_standard_warning(&line));
        return Some(end_of_non_standard(lines, &line));
    }
    *lines = begin;
    // A first line `---` may also be a thematic break of plain Markdown, so a field must follow.
    let first = lines
        .clone()
        .find(|line| !line.text.is_empty())
        .filter(|line| is_required_field(heading_text(line.text)))?;
    warnings.push(line_warning(WarningKind::UnclosedFrontmatter, first.number));
    Some(end_of_undelimited_fields(lines, start))
}

/// Finds the end of fields that no standard delimiter encloses.
///
/// It is the next delimiter, else the first blank line or heading that is not followed by a field
/// or an indented line.
fn end_of_undelimited_fields(lines: &mut Lines<'_>, start: usize) -> FrontmatterEnd {
    let mut end: Option<FrontmatterEnd> = None;
    let mut has_fields = false;
    while let Some(line) = lines.next() {
        // Without a delimiter, a hostile file could make all of its text frontmatter.
        if line.offset - start > MAX_FRONTMATTER_BYTES {
            break;
        }
        if line.is_delimiter() {
            return lines.end_at(&line);
        }
        let is_indented = lines
            .bytes
            .get(line.offset)
            .is_some_and(|b| matches!(b, b' ' | b'\t'));
        if line.text.is_empty() || (line.text.starts_with(b"# ") && has_fields) {
            if has_fields && end.is_none() {
                // Only a candidate: a field below it makes it part of the frontmatter.
                end = Some(FrontmatterEnd {
                    start: line.offset,
                    end: line.offset,
                    line: line.number - 1,
                });
            }
        } else if is_field_line(heading_text(line.text)) || (is_indented && has_fields) {
            has_fields = true;
            end = None;
        } else if let Some(end) = end {
            return end;
        } else {
            // Continues a value without indentation, as wrapped text does.
            has_fields = true;
        }
    }
    end.unwrap_or(FrontmatterEnd {
        start: lines.offset,
        end: lines.offset,
        line: lines.number,
    })
}

/// Returns true if a line is `word: …` or `word:`.
fn is_field_line(line: &[u8]) -> bool {
    let end = line
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')))
        .unwrap_or(line.len());
    end > 0 && line.get(end) == Some(&b':') && matches!(line.get(end + 1), None | Some(b' '))
}

/// Returns the text of a heading.
///
/// Markdown formatters turn a line above dashes into a heading, also if it is a field.
fn heading_text(line: &[u8]) -> &[u8] {
    let rest = &line[line.iter().take_while(|b| **b == b'#').count()..];
    rest.trim_ascii_start()
}

/// Skips HTML comments and blank lines; returns the line after them.
fn skip_comments<'a>(lines: &mut Lines<'a>, first: Line<'a>) -> Option<Line<'a>> {
    let mut line = first;
    loop {
        if line.text.starts_with(b"<!--") {
            if !ends_comment(&line) {
                lines.find(ends_comment)?;
            }
        } else if !line.text.is_empty() {
            return Some(line);
        }
        line = lines.next()?;
    }
}

fn ends_comment(line: &Line<'_>) -> bool {
    line.text.windows(3).any(|bytes| bytes == b"-->")
}

/// Returns the opening of frontmatter in a code block: its `---`, or the block itself.
fn open_code_block<'a>(
    lines: &mut Lines<'a>,
    first: Line<'a>,
    warnings: &mut Vec<Warning>,
) -> Option<(OpeningDelimiter, Line<'a>)> {
    warnings.push(line_warning(
        WarningKind::FrontmatterInCodeBlock,
        first.number,
    ));
    let before = lines.clone();
    let line = lines
        .find(|line| !line.text.is_empty())
        .filter(|line| line.is_terminated)?;
    if line.is_delimiter() {
        return Some((OpeningDelimiter::Dashes, line));
    }
    *lines = before;
    let fence = first.text[0];
    let length = first.text.iter().take_while(|b| **b == fence).count();
    Some((OpeningDelimiter::CodeBlock { fence, length }, first))
}

/// Returns true if a line closes a code block: the same character as the opening fence, at least as
/// often.
fn is_code_block_end(line: &[u8], fence: u8, length: usize) -> bool {
    line.len() >= length && line.iter().all(|b| *b == fence)
}

/// Returns true if a line was meant to be a delimiter: escaped, with more dashes, indented, or with
/// a heading that an editor joined to it (`---# Title`).
fn is_non_standard_delimiter(line: &[u8]) -> bool {
    line == b"\\---"
        || (line.len() > 3 && line.iter().all(|b| *b == b'-'))
        || is_indented_delimiter(line)
        || has_joined_heading(line)
}

fn is_indented_delimiter(line: &[u8]) -> bool {
    line != b"---" && line.trim_ascii_start() == b"---"
}

fn non_standard_warning(line: &Line<'_>) -> Warning {
    let kind = if is_indented_delimiter(line.text) {
        WarningKind::IndentedDelimiter
    } else {
        WarningKind::NonStandardDelimiter
    };
    line_warning(kind, line.number)
}

fn has_joined_heading(line: &[u8]) -> bool {
    line.strip_prefix(b"---")
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"#"))
}

/// Returns the end of frontmatter at a non-standard delimiter; a joined heading is part of the body.
fn end_of_non_standard(lines: &Lines<'_>, line: &Line<'_>) -> FrontmatterEnd {
    if has_joined_heading(line.text) {
        FrontmatterEnd {
            start: line.offset,
            end: line.offset + 3,
            line: line.number - 1,
        }
    } else {
        lines.end_at(line)
    }
}

/// Returns true if a line is `name: …` or `description: …`, in any spelling.
///
/// These are required, so a text that starts with one of them is frontmatter and not prose.
fn is_required_field(line: &[u8]) -> bool {
    let key = line
        .split(|b| *b == b':')
        .next()
        .filter(|key| key.len() < line.len());
    let key = key.and_then(|key| std::str::from_utf8(key).ok());
    key.is_some_and(|key| {
        REQUIRED_FIELDS
            .iter()
            .any(|field| is_spelling_of(key, field))
    })
}

/// Returns a warning about a whole line.
pub(super) fn line_warning(kind: WarningKind, line: usize) -> Warning {
    Warning::new(kind, Some(Position { line, column: 1 }))
}
