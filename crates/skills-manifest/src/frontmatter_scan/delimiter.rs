//! The ways in which a frontmatter begins and ends. Only two `---` lines are right; the others are
//! read with a warning.

use super::{FrontmatterEnd, InputExtent, Line, Lines, line_warning};
use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::field_reader::is_spelling_of;
use crate::warning::{Warning, WarningKind};

/// How a frontmatter begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OpeningDelimiter {
    /// `---`, as it should.
    Dashes,
    /// A Markdown code block without dashes in it, and the sign that opened it.
    CodeBlock { sign: u8, length: usize },
    /// A field, without any fence.
    Missing,
}

impl OpeningDelimiter {
    /// Finds the first line of the frontmatter's frame; nothing when the bytes end before it is
    /// known.
    pub(super) fn find_opening<'a>(
        lines: &mut Lines<'a>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<(Self, Line<'a>)>, ManifestError> {
        let mut line = match lines.find(|line| !line.text.is_empty()) {
            Some(line) => line,
            None => return Ok(None),
        };
        if line.number > 1 {
            warnings.push(line_warning(WarningKind::BlankBeforeDelimiter, 1));
        }
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
        if line.text.starts_with(b"```") || line.text.starts_with(b"~~~") {
            return Ok(open_code_block(lines, line, warnings));
        }
        if line.is_delimiter() || line.text == b"\\---" {
            if !line.is_delimiter() {
                warnings.push(line_warning(WarningKind::NonStandardDelimiter, line.number));
            }
            return Ok(Some((Self::Dashes, line)));
        }
        if is_required_field(line.text) && line.is_terminated {
            warnings.push(line_warning(WarningKind::MissingDelimiters, line.number));
            return Ok(Some((Self::Missing, line)));
        }
        // An unfinished first line may still become a fence or a field.
        let unfinished = !line.is_terminated && line.text.len() < 64;
        if unfinished {
            Ok(None)
        } else {
            Err(Repr::MissingFrontmatter { line: line.number }.into())
        }
    }

    /// Finds the line that ends the frontmatter; nothing when the bytes end before.
    pub(super) fn find_end(
        self,
        lines: &mut Lines<'_>,
        start: usize,
        warnings: &mut Vec<Warning>,
    ) -> Option<FrontmatterEnd> {
        let begin = lines.clone();
        match self {
            Self::Dashes => {
                let exact = lines
                    .find(Line::is_delimiter)
                    .filter(|line| line.is_terminated);
                if let Some(line) = exact {
                    return Some(FrontmatterEnd {
                        start: line.offset,
                        end: lines.offset,
                        line: line.number,
                    });
                }
                if lines.extent == InputExtent::Prefix {
                    return None;
                }
                // Only when the whole file has no right fence does a wrong one count, and then none
                // at all.
                *lines = begin.clone();
                if let Some(line) = lines.find(|line| is_non_standard_delimiter(line.text)) {
                    warnings.push(line_warning(WarningKind::NonStandardDelimiter, line.number));
                    return Some(FrontmatterEnd {
                        start: line.offset,
                        end: lines.offset,
                        line: line.number,
                    });
                }
                *lines = begin;
                let first = lines
                    .clone()
                    .find(|line| !line.text.is_empty())
                    .filter(|line| is_required_field(heading_text(line.text)))?;
                warnings.push(line_warning(WarningKind::UnclosedFrontmatter, first.number));
                Some(end_of_undelimited_fields(lines, start))
            }
            Self::CodeBlock { sign, length } => {
                let line = lines
                    .find(|line| line.is_delimiter() || is_code_block_end(line.text, sign, length))
                    .filter(|line| line.is_terminated)?;
                Some(FrontmatterEnd {
                    start: line.offset,
                    end: lines.offset,
                    line: line.number,
                })
            }
            Self::Missing => {
                if lines.extent == InputExtent::Prefix {
                    // Whether a heading or an empty line ends the fields shows only behind it:
                    // nothing but a fence is sure.
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

/// Finds the end of fields that no right fence closes: the next fence, else the first empty line or
/// heading that something else than a field or an indented line follows.
fn end_of_undelimited_fields(lines: &mut Lines<'_>, start: usize) -> FrontmatterEnd {
    let mut end: Option<FrontmatterEnd> = None;
    let mut any = false;
    while let Some(line) = lines.next() {
        if line.offset - start > MAX_FRONTMATTER_BYTES {
            break;
        }
        if line.is_delimiter() {
            return FrontmatterEnd {
                start: line.offset,
                end: lines.offset,
                line: line.number,
            };
        }
        let is_indented = lines
            .bytes
            .get(line.offset)
            .is_some_and(|b| matches!(b, b' ' | b'\t'));
        if line.text.is_empty() || (line.text.starts_with(b"# ") && any) {
            if any && end.is_none() {
                end = Some(FrontmatterEnd {
                    start: line.offset,
                    end: line.offset,
                    line: line.number - 1,
                });
            }
        } else if is_field_line(heading_text(line.text)) || (is_indented && any) {
            (any, end) = (true, None);
        } else if let Some(end) = end {
            return end;
        } else {
            any = true;
        }
    }
    end.unwrap_or(FrontmatterEnd {
        start: lines.offset,
        end: lines.offset,
        line: lines.number,
    })
}

/// Whether a line is `word: …` or `word:`.
fn is_field_line(line: &[u8]) -> bool {
    let end = line
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')))
        .unwrap_or(line.len());
    end > 0 && line.get(end) == Some(&b':') && matches!(line.get(end + 1), None | Some(b' '))
}

/// The text of a heading: formatters make one of a field above dashes.
fn heading_text(line: &[u8]) -> &[u8] {
    let rest = &line[line.iter().take_while(|b| **b == b'#').count()..];
    rest.trim_ascii_start()
}

/// Passes HTML comments and blank lines; returns the line behind them.
fn skip_comments<'a>(lines: &mut Lines<'a>, first: Line<'a>) -> Option<Line<'a>> {
    let mut line = first;
    loop {
        if line.text.starts_with(b"<!--") {
            let ends = |line: &Line<'_>| line.text.windows(3).any(|bytes| bytes == b"-->");
            if !ends(&line) {
                lines.find(ends)?;
            }
        } else if !line.text.is_empty() {
            return Some(line);
        }
        line = lines.next()?;
    }
}

/// Looks into a code block: at its `---`, or at its first field.
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
    let sign = first.text[0];
    let length = first.text.iter().take_while(|b| **b == sign).count();
    Some((OpeningDelimiter::CodeBlock { sign, length }, first))
}

/// A code block ends with the sign that opened it, at least as long.
fn is_code_block_end(line: &[u8], sign: u8, length: usize) -> bool {
    line.len() >= length && line.iter().all(|b| *b == sign)
}

fn is_non_standard_delimiter(line: &[u8]) -> bool {
    line == b"\\---" || (line.len() > 3 && line.iter().all(|b| *b == b'-'))
}

/// Whether a line is `name: …` or `description: …`.
fn is_required_field(line: &[u8]) -> bool {
    let key = line
        .split(|b| *b == b':')
        .next()
        .filter(|key| key.len() < line.len());
    let key = key.and_then(|key| std::str::from_utf8(key).ok());
    key.is_some_and(|key| is_spelling_of(key, "name") || is_spelling_of(key, "description"))
}
