//! Scans scalars: block, quoted and plain.

use crate::strict::cursor::{Cursor, ScanResult, is_blank_or_line_end};
use crate::strict::mark::{Context, Mark, MarkedError, is_line_end};
use crate::strict::python::{char_repr, encode_surrogate, repr};
use crate::strict::token::TokenKind;

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

/// The text of a plain scalar.
pub(super) struct PlainScalar {
    pub(super) text: String,
    pub(super) end: Mark,
    /// Whether a line break was skipped after it, so that a key may follow.
    pub(super) ends_on_new_line: bool,
}

impl Cursor<'_> {
    /// Scans a block scalar in a block of this indentation.
    pub(super) fn scan_block(&mut self, style: char, indent: isize) -> ScanResult<BlockScalar> {
        let context = ("while scanning a block scalar", self.mark);
        self.forward(1);
        let header = self.block_header(context)?;
        // A block scalar at the top level may have no indentation.
        let min_indent = (indent + 1).max(0) as usize;
        Ok(self.block_text(style, &header, min_indent))
    }

    /// Scans the line of `|` or `>`.
    fn block_header(&mut self, context: Context) -> ScanResult<BlockHeader> {
        let (mut chomping, mut increment) = (None, None);
        for _ in 0..2 {
            match self.peek_char(0) {
                c @ ('+' | '-') if chomping.is_none() => chomping = Some(c),
                '0' if increment.is_none() => {
                    let problem = "expected indentation indicator in the range 1-9, but found 0";
                    return self.fail(context, problem);
                }
                c @ '1'..='9' if increment.is_none() => {
                    increment = c.to_digit(10).map(|digit| digit as usize)
                }
                _ => break,
            }
            self.forward(1);
        }
        self.ensure(
            self.is_at_space_or_line_end(),
            context,
            "chomping or indentation indicators",
        )?;
        self.scan_line_end(context)?;
        Ok(BlockHeader {
            chomping,
            increment,
        })
    }

    /// Scans the lines of a block scalar.
    fn block_text(&mut self, style: char, header: &BlockHeader, min_indent: usize) -> BlockScalar {
        let (mut breaks, mut end, indent);
        if let Some(increment) = header.increment {
            indent = min_indent.max(1) + increment - 1;
            (breaks, end, _) = self.block_breaks(indent);
        } else {
            let max_column;
            (breaks, end, max_column) = self.block_breaks(usize::MAX);
            indent = min_indent.max(max_column);
        }
        let mut text = String::new();
        let mut line_break = None;
        while self.mark.column == indent && self.peek_char(0) != '\0' {
            text.extend(breaks.drain(..));
            // Lines that start with a blank are not folded into one another.
            let leading = !matches!(self.peek_char(0), ' ' | '\t');
            text += &self.take_while(|c| !is_line_end(c));
            line_break = self.scan_line_break();
            (breaks, end, _) = self.block_breaks(indent);
            if min_indent == 0 && self.is_document_end() {
                break;
            }
            if self.mark.column != indent || self.peek_char(0) == '\0' {
                break;
            }
            if style == '>'
                && line_break == Some('\n')
                && leading
                && !matches!(self.peek_char(0), ' ' | '\t')
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
    fn block_breaks(&mut self, max_column: usize) -> (Vec<char>, Mark, usize) {
        let (mut breaks, mut end, mut column) = (Vec::new(), self.mark, 0);
        loop {
            while self.mark.column < max_column && self.peek_char(0) == ' ' {
                self.forward(1);
                column = column.max(self.mark.column);
            }
            let Some(c) = self.scan_line_break() else {
                return (breaks, end, column);
            };
            breaks.push(c);
            end = self.mark;
        }
    }

    pub(super) fn scan_quoted(&mut self, quote: char) -> ScanResult<TokenKind> {
        let start = self.mark;
        self.forward(1);
        let mut value = String::new();
        self.quoted_words(quote, start, &mut value)?;
        while self.peek_char(0) != quote {
            self.quoted_spaces(("while scanning a quoted scalar", start), &mut value)?;
            self.quoted_words(quote, start, &mut value)?;
        }
        self.forward(1);
        Ok(TokenKind::Scalar {
            value,
            plain: false,
        })
    }

    fn quoted_words(&mut self, quote: char, start: Mark, value: &mut String) -> ScanResult<()> {
        loop {
            let c = self.peek_char(0);
            if c == '\'' && quote == '\'' && self.peek_char(1) == '\'' {
                value.push('\'');
                self.forward(2);
            } else if c == quote || is_blank_or_line_end(c) {
                return Ok(());
            } else if c == '\\' && quote == '"' {
                self.forward(1);
                self.scan_escape(start, value)?;
            } else {
                self.push_next_char(value);
            }
        }
    }

    fn scan_escape(&mut self, start: Mark, value: &mut String) -> ScanResult<()> {
        let context = ("while scanning a double-quoted scalar", start);
        let c = self.peek_char(0);
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
            'x' => return self.scan_code_point(2, context, value),
            'u' => return self.scan_code_point(4, context, value),
            'U' => return self.scan_code_point(8, context, value),
            // An escaped line break joins two lines without a space.
            c if is_line_end(c) && c != '\0' => {
                self.scan_line_break();
                return self.quoted_breaks(("while scanning a quoted scalar", start), value);
            }
            _ => {
                let problem = format!("found unknown escape character {}", char_repr(c));
                return self.fail(context, problem);
            }
        };
        value.push(plain);
        self.forward(1);
        Ok(())
    }

    fn scan_code_point(
        &mut self,
        digits: usize,
        context: Context,
        value: &mut String,
    ) -> ScanResult<()> {
        self.forward(1);
        let start = self.mark;
        let code = self.take_hex_digits(digits, context, "escape sequence")?;
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

    fn quoted_spaces(&mut self, context: Context, value: &mut String) -> ScanResult<()> {
        let spaces = self.take_while(|c| matches!(c, ' ' | '\t'));
        if self.peek_char(0) == '\0' {
            return self.fail(context, "found unexpected end of stream");
        }
        let Some(c) = self.scan_line_break() else {
            value.push_str(&spaces);
            return Ok(());
        };
        let mut breaks = String::new();
        self.quoted_breaks(context, &mut breaks)?;
        push_folded(value, c, &breaks);
        Ok(())
    }

    fn quoted_breaks(&mut self, context: Context, breaks: &mut String) -> ScanResult<()> {
        loop {
            if self.is_separator() {
                return self.fail(context, "found unexpected document separator");
            }
            self.take_while(|c| matches!(c, ' ' | '\t'));
            match self.scan_line_break() {
                Some(c) => breaks.push(c),
                None => return Ok(()),
            }
        }
    }

    /// Scans a plain scalar. Outside of flow collections, a line with less indentation ends it.
    pub(super) fn scan_plain(
        &mut self,
        indent: isize,
        is_in_flow: bool,
    ) -> ScanResult<PlainScalar> {
        let start = self.mark;
        let mut scalar = PlainScalar {
            text: String::new(),
            end: start,
            ends_on_new_line: false,
        };
        let mut spaces = String::new();
        while self.peek_char(0) != '#' {
            let length = self.plain_length(is_in_flow);
            if is_in_flow {
                self.reject_colon(length, start)?;
            }
            if length == 0 {
                break;
            }
            scalar.ends_on_new_line = false;
            scalar.text.push_str(&spaces);
            scalar.text.extend(self.prefix(length));
            self.forward(length);
            scalar.end = self.mark;
            spaces.clear();
            let found = self.plain_spaces(&mut spaces, &mut scalar.ends_on_new_line);
            if !found
                || self.peek_char(0) == '#'
                || (!is_in_flow && (self.mark.column as isize) < indent)
            {
                break;
            }
        }
        Ok(scalar)
    }

    fn plain_length(&self, is_in_flow: bool) -> usize {
        let mut length = 0;
        loop {
            let (c, next) = (self.peek_char(length), self.peek_char(length + 1));
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
    fn reject_colon(&mut self, length: usize, start: Mark) -> ScanResult<()> {
        let (c, next) = (self.peek_char(length), self.peek_char(length + 1));
        if c != ':' || is_blank_or_line_end(next) || ",[]{}".contains(next) {
            return Ok(());
        }
        self.forward(length);
        Err(Box::new(MarkedError {
            context: Some(("while scanning a plain scalar", start)),
            note: Some("Please check http://pyyaml.org/wiki/YAMLColonInFlowContext for details."),
            ..*MarkedError::new("found unexpected ':'", self.mark)
        }))
    }

    /// Scans the spaces and line breaks after a word; returns whether the scalar can continue.
    fn plain_spaces(&mut self, spaces: &mut String, is_on_new_line: &mut bool) -> bool {
        let blanks = self.take_while(|c| c == ' ');
        let Some(c) = self.scan_line_break() else {
            spaces.push_str(&blanks);
            return !spaces.is_empty();
        };
        *is_on_new_line = true;
        if self.is_separator() {
            return false;
        }
        let mut breaks = String::new();
        loop {
            if self.peek_char(0) == ' ' {
                self.forward(1);
            } else if let Some(c) = self.scan_line_break() {
                breaks.push(c);
                if self.is_separator() {
                    return false;
                }
            } else {
                break;
            }
        }
        push_folded(spaces, c, &breaks);
        true
    }
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
