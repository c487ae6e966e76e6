//! Scans scalars: block, quoted and plain.

use crate::strict::cursor::{Cursor, ScanResult, is_blank_or_line_end, is_line_end};
use crate::strict::mark::{Context, Mark, MarkedError};
use crate::strict::python::{char_repr, encode_surrogate, repr};

/// The indicators after `|` or `>`.
struct BlockHeader {
    /// `+` or `-`.
    chomping: Option<char>,
    /// The explicit indentation.
    increment: Option<usize>,
}

/// The text of a block scalar.
pub(super) struct BlockScalar {
    pub(super) text: String,
    pub(super) end: Mark,
    /// Whether blank lines after it were dropped.
    pub(super) has_lines_after: bool,
}

/// Scans a block scalar in a block of this indentation.
pub(super) fn scan_block(
    cursor: &mut Cursor<'_>,
    style: char,
    indent: isize,
) -> ScanResult<BlockScalar> {
    let context = ("while scanning a block scalar", cursor.mark);
    cursor.forward(1);
    let header = block_header(cursor, context)?;
    // A block scalar at the top level may have no indentation.
    let min_indent = (indent + 1).max(0) as usize;
    Ok(block_text(cursor, style, &header, min_indent))
}

/// Scans the line of `|` or `>`.
fn block_header(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<BlockHeader> {
    let (mut chomping, mut increment) = (None, None);
    for _ in 0..2 {
        match cursor.peek_char(0) {
            c @ ('+' | '-') if chomping.is_none() => chomping = Some(c),
            '0' if increment.is_none() => {
                let problem = "expected indentation indicator in the range 1-9, but found 0";
                return cursor.fail(context, problem);
            }
            c @ '1'..='9' if increment.is_none() => {
                increment = c.to_digit(10).map(|digit| digit as usize)
            }
            _ => break,
        }
        cursor.forward(1);
    }
    if !cursor.is_at_space_or_line_end() {
        return cursor.fail_expected(context, "chomping or indentation indicators");
    }
    cursor.scan_line_end(context)?;
    Ok(BlockHeader {
        chomping,
        increment,
    })
}

/// Scans the lines of a block scalar.
fn block_text(
    cursor: &mut Cursor<'_>,
    style: char,
    header: &BlockHeader,
    min_indent: usize,
) -> BlockScalar {
    let (mut breaks, mut end, indent);
    if let Some(increment) = header.increment {
        indent = min_indent.max(1) + increment - 1;
        (breaks, end, _) = block_breaks(cursor, indent);
    } else {
        let max_column;
        (breaks, end, max_column) = block_breaks(cursor, usize::MAX);
        indent = min_indent.max(max_column);
    }
    let mut text = String::new();
    let mut line_break = None;
    while cursor.mark.column == indent && cursor.peek_char(0) != '\0' {
        text.extend(breaks.drain(..));
        // Lines that start with a blank are not folded into one another.
        let leading = !matches!(cursor.peek_char(0), ' ' | '\t');
        text += &cursor.take_while(|c| !is_line_end(c));
        line_break = cursor.scan_line_break();
        (breaks, end, _) = block_breaks(cursor, indent);
        if min_indent == 0 && (cursor.is_document_mark("---") || cursor.is_document_mark("...")) {
            break;
        }
        if cursor.mark.column != indent || cursor.peek_char(0) == '\0' {
            break;
        }
        if style == '>'
            && line_break == Some('\n')
            && leading
            && !matches!(cursor.peek_char(0), ' ' | '\t')
        {
            if breaks.is_empty() {
                text.push(' ');
            }
        } else {
            text.extend(line_break);
        }
    }
    // `-` drops all line ends at the end, `+` keeps all, the default keeps one.
    if header.chomping != Some('-') {
        text.extend(line_break);
    }
    if header.chomping == Some('+') {
        text.extend(breaks.drain(..));
    }
    BlockScalar {
        text,
        end,
        has_lines_after: !breaks.is_empty(),
    }
}

/// Scans blank lines and the indentation after them, up to `max_column`.
///
/// Returns their line breaks, the end of the last one and the maximum column of a space.
fn block_breaks(cursor: &mut Cursor<'_>, max_column: usize) -> (Vec<char>, Mark, usize) {
    let (mut breaks, mut end, mut column) = (Vec::new(), cursor.mark, 0);
    loop {
        while cursor.mark.column < max_column && cursor.peek_char(0) == ' ' {
            cursor.forward(1);
            column = column.max(cursor.mark.column);
        }
        let Some(c) = cursor.scan_line_break() else {
            return (breaks, end, column);
        };
        breaks.push(c);
        end = cursor.mark;
    }
}

pub(super) fn scan_quoted(cursor: &mut Cursor<'_>, quote: char) -> ScanResult<String> {
    let start = cursor.mark;
    cursor.forward(1);
    let mut value = String::new();
    quoted_words(cursor, quote, start, &mut value)?;
    while cursor.peek_char(0) != quote {
        quoted_spaces(
            cursor,
            ("while scanning a quoted scalar", start),
            &mut value,
        )?;
        quoted_words(cursor, quote, start, &mut value)?;
    }
    cursor.forward(1);
    Ok(value)
}

fn quoted_words(
    cursor: &mut Cursor<'_>,
    quote: char,
    start: Mark,
    value: &mut String,
) -> ScanResult<()> {
    loop {
        let c = cursor.peek_char(0);
        if c == '\'' && quote == '\'' && cursor.peek_char(1) == '\'' {
            value.push('\'');
            cursor.forward(2);
        } else if c == quote || is_blank_or_line_end(c) {
            return Ok(());
        } else if c == '\\' && quote == '"' {
            cursor.forward(1);
            scan_escape(cursor, start, value)?;
        } else {
            cursor.push_next_char(value);
        }
    }
}

fn scan_escape(cursor: &mut Cursor<'_>, start: Mark, value: &mut String) -> ScanResult<()> {
    let context = ("while scanning a double-quoted scalar", start);
    let c = cursor.peek_char(0);
    let plain = match c {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{B}',
        'f' => '\u{C}',
        'r' => '\r',
        'e' => '\u{1B}',
        ' ' | '"' | '/' | '\\' => c,
        'N' => '\u{85}',
        '_' => '\u{A0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => return scan_code_point(cursor, 2, context, value),
        'u' => return scan_code_point(cursor, 4, context, value),
        'U' => return scan_code_point(cursor, 8, context, value),
        // An escaped line break joins two lines without a space.
        c if is_line_end(c) && c != '\0' => {
            cursor.scan_line_break();
            return quoted_breaks(cursor, ("while scanning a quoted scalar", start), value);
        }
        _ => {
            let problem = format!("found unknown escape character {}", char_repr(c));
            return cursor.fail(context, problem);
        }
    };
    value.push(plain);
    cursor.forward(1);
    Ok(())
}

fn scan_code_point(
    cursor: &mut Cursor<'_>,
    digits: usize,
    context: Context,
    value: &mut String,
) -> ScanResult<()> {
    cursor.forward(1);
    let start = cursor.mark;
    let code = cursor.take_hex_digits(digits, context, "escape sequence")?;
    // Half of a surrogate pair is a character in Python, so the reference validator accepts it.
    let code_point = u32::from_str_radix(&code, 16).ok();
    match code_point.and_then(|code| encode_surrogate(code).or(char::from_u32(code))) {
        Some(c) => value.push(c),
        None => {
            let problem = format!("escape sequence {} is not a character", repr(&code));
            return Err(MarkedError::within(context, problem, start));
        }
    }
    Ok(())
}

fn quoted_spaces(cursor: &mut Cursor<'_>, context: Context, value: &mut String) -> ScanResult<()> {
    let spaces = cursor.take_while(|c| matches!(c, ' ' | '\t'));
    if cursor.peek_char(0) == '\0' {
        return cursor.fail(context, "found unexpected end of stream");
    }
    let Some(c) = cursor.scan_line_break() else {
        value.push_str(&spaces);
        return Ok(());
    };
    let mut breaks = String::new();
    quoted_breaks(cursor, context, &mut breaks)?;
    push_folded(value, c, &breaks);
    Ok(())
}

fn quoted_breaks(cursor: &mut Cursor<'_>, context: Context, breaks: &mut String) -> ScanResult<()> {
    loop {
        if cursor.is_separator() {
            return cursor.fail(context, "found unexpected document separator");
        }
        cursor.take_while(|c| matches!(c, ' ' | '\t'));
        match cursor.scan_line_break() {
            Some(c) => breaks.push(c),
            None => return Ok(()),
        }
    }
}

/// The text of a plain scalar.
pub(super) struct PlainScalar {
    pub(super) text: String,
    pub(super) end: Mark,
    /// Whether a line break was skipped after it, so that a key may follow.
    pub(super) ends_on_new_line: bool,
}

/// Scans a plain scalar. Outside of flow collections, a line with less indentation ends it.
pub(super) fn scan_plain(
    cursor: &mut Cursor<'_>,
    indent: isize,
    is_in_flow: bool,
) -> ScanResult<PlainScalar> {
    let start = cursor.mark;
    let mut scalar = PlainScalar {
        text: String::new(),
        end: start,
        ends_on_new_line: false,
    };
    let mut spaces = String::new();
    while cursor.peek_char(0) != '#' {
        let length = plain_length(cursor, is_in_flow);
        if is_in_flow {
            reject_colon(cursor, length, start)?;
        }
        if length == 0 {
            break;
        }
        scalar.ends_on_new_line = false;
        scalar.text.push_str(&spaces);
        scalar.text.extend(cursor.prefix(length));
        cursor.forward(length);
        scalar.end = cursor.mark;
        spaces.clear();
        let found = plain_spaces(cursor, &mut spaces, &mut scalar.ends_on_new_line);
        if !found
            || cursor.peek_char(0) == '#'
            || (!is_in_flow && (cursor.mark.column as isize) < indent)
        {
            break;
        }
    }
    Ok(scalar)
}

fn plain_length(cursor: &Cursor<'_>, is_in_flow: bool) -> usize {
    let mut length = 0;
    loop {
        let (c, next) = (cursor.peek_char(length), cursor.peek_char(length + 1));
        let continues = match c {
            // `a:b` is text, `a: b` is a key with a value.
            ':' if !is_blank_or_line_end(next) => true,
            '?' => true,
            ':' => false,
            ',' | '[' | ']' | '{' | '}' => !is_in_flow,
            c => !is_blank_or_line_end(c),
        };
        if !continues {
            return length;
        }
        length += 1;
    }
}

/// Rejects a colon in a flow collection that neither is part of the scalar nor starts a value.
fn reject_colon(cursor: &mut Cursor<'_>, length: usize, start: Mark) -> ScanResult<()> {
    let (c, next) = (cursor.peek_char(length), cursor.peek_char(length + 1));
    if c != ':' || is_blank_or_line_end(next) || ",[]{}".contains(next) {
        return Ok(());
    }
    cursor.forward(length);
    Err(Box::new(MarkedError {
        context: Some(("while scanning a plain scalar", start)),
        note: Some("Please check http://pyyaml.org/wiki/YAMLColonInFlowContext for details."),
        ..*MarkedError::new("found unexpected ':'", cursor.mark)
    }))
}

/// Scans the spaces and line breaks after a word; returns whether the scalar can continue.
fn plain_spaces(cursor: &mut Cursor<'_>, spaces: &mut String, is_on_new_line: &mut bool) -> bool {
    let blanks = cursor.take_while(|c| c == ' ');
    let Some(c) = cursor.scan_line_break() else {
        spaces.push_str(&blanks);
        return !spaces.is_empty();
    };
    *is_on_new_line = true;
    if cursor.is_separator() {
        return false;
    }
    let mut breaks = String::new();
    loop {
        if cursor.peek_char(0) == ' ' {
            cursor.forward(1);
        } else if let Some(c) = cursor.scan_line_break() {
            breaks.push(c);
            if cursor.is_separator() {
                return false;
            }
        } else {
            break;
        }
    }
    push_folded(spaces, c, &breaks);
    true
}

/// Adds the line breaks between two lines of text: a single one folds into a space; of several, all
/// but the first are kept.
fn push_folded(text: &mut String, first: char, others: &str) {
    if first != '\n' {
        text.push(first);
    } else if others.is_empty() {
        text.push(' ');
    }
    text.push_str(others);
}
