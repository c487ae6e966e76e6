//! Quoted scalars, on one or several lines.

use super::event::{EventSink, Scalar, fold_line};
use super::lines::{Lines, indent_of, trim_end_spaces, trim_spaces};

/// Parses a quoted scalar that starts `value`, with the lines that continue it.
pub(super) fn parse<'a>(
    lines: &mut Lines<'a>,
    value: &'a str,
    quote: u8,
    parent_indent: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let inner = value.get(1..)?;
    if let Some(end) = find_end(inner, quote)? {
        if !is_end_of_line(&inner[end + 1..]) {
            return None;
        }
        return emit_line(&inner[..end], quote, sink);
    }
    // The spaces at a line end are not part of the text.
    emit_pieces(trim_end_spaces(inner), quote, sink)?;
    while let Some((line, blank_lines)) = quoted_line(lines, parent_indent) {
        fold_line(blank_lines, sink)?;
        let text = trim_spaces(line);
        lines.advance_past(line);
        match find_end(text, quote)? {
            None => emit_pieces(text, quote, sink)?,
            Some(end) if is_end_of_line(&text[end + 1..]) => {
                emit_pieces(&text[..end], quote, sink)?;
                return sink.end_text();
            }
            Some(_) => return None,
        }
    }
    None
}

/// Returns the next line of a quoted scalar and the number of blank lines before it; unlike in
/// other scalars, `#` starts no comment.
fn quoted_line<'a>(lines: &mut Lines<'a>, parent_indent: usize) -> Option<(&'a str, usize)> {
    let mut blank_lines = 0;
    loop {
        let line = lines.peek()?;
        let indent = indent_of(line);
        if indent < line.len() {
            return (indent > parent_indent).then_some((line, blank_lines));
        }
        lines.advance_past(line);
        blank_lines += 1;
    }
}

/// Returns true if nothing but a comment follows.
fn is_end_of_line(rest: &str) -> bool {
    let trimmed = trim_spaces(rest);
    trimmed.is_empty() || (trimmed.starts_with('#') && rest.starts_with(' '))
}

/// Finds the closing quote; `Some(None)` if it is on a later line, `None` for an escape that is
/// left to the library.
#[expect(
    clippy::option_option,
    reason = "a later line differs from an unsupported escape"
)]
pub(super) fn find_end(text: &str, quote: u8) -> Option<Option<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(quote, b'\\', bytes.get(at..)?) {
        let index = at + found;
        match (bytes[index], bytes.get(index + 1)) {
            (b'\\', _) if quote == b'\'' => at = index + 1,
            (b'\\', next) => {
                unescape(*next?)?;
                at = index + 2;
            }
            (_, Some(b'\'')) if quote == b'\'' => at = index + 2,
            _ => return Some(Some(index)),
        }
    }
    Some(None)
}

/// Returns the text of an escape with one character; `None` for those of code points and white
/// space, which are rare.
fn unescape(b: u8) -> Option<&'static str> {
    match b {
        b'"' => Some("\""),
        b'\\' => Some("\\"),
        b'/' => Some("/"),
        b'n' => Some("\n"),
        b't' => Some("\t"),
        _ => None,
    }
}

/// Emits a text that is complete on one line.
pub(super) fn emit_line<'a>(text: &'a str, quote: u8, sink: &mut impl EventSink<'a>) -> Option<()> {
    // Only text without escapes can be borrowed.
    if memchr::memchr2(b'\\', b'\'', text.as_bytes()).is_none()
        || memchr::memchr(if quote == b'"' { b'\\' } else { b'\'' }, text.as_bytes()).is_none()
    {
        return sink.scalar(Scalar::Text(text));
    }
    emit_pieces(text, quote, sink)?;
    sink.end_text()
}

/// Emits a part of a text, whose escapes [`find_end`] has checked.
fn emit_pieces<'a>(text: &'a str, quote: u8, sink: &mut impl EventSink<'a>) -> Option<()> {
    let escape = if quote == b'"' { b'\\' } else { b'\'' };
    let mut rest = text;
    while let Some(at) = memchr::memchr(escape, rest.as_bytes()) {
        sink.text_piece(&rest[..at])?;
        let piece = if quote == b'"' {
            unescape(*rest.as_bytes().get(at + 1)?)?
        } else {
            "'"
        };
        sink.text_piece(piece)?;
        rest = rest.get(at + 2..)?;
    }
    sink.text_piece(rest)
}
