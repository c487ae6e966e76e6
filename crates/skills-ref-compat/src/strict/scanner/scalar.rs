//! Scans scalars: block, quoted and plain.

use super::{ScanResult, Scanner, is_blank_or_line_end, is_line_end};
use crate::strict::mark::{Mark, MarkedError};
use crate::strict::python::{char_repr, encode_surrogate, repr};
use crate::strict::token::{Token, TokenKind};

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, style: char) -> ScanResult<()> {
        // The next token is on a new line, where a key may start.
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        let start = self.mark;
        self.forward(1);
        let (chomp, increment) = self.block_header(start)?;
        let (value, trailing, end) = self.block_text(style, chomp, increment);
        self.tokens.push_back(Token::new(
            TokenKind::Scalar {
                value,
                plain: false,
            },
            start,
            end,
        ));
        // ruamel.yaml attaches the lines after a block scalar to it as one comment.
        if trailing {
            while matches!(self.skip_to_next_token(), super::TokenGap::Comment(..)) {}
            self.push_token(TokenKind::Comment, self.mark);
        }
        Ok(())
    }

    /// Scans the line of `|` or `>`; returns the chomping indicator and the explicit indentation.
    fn block_header(&mut self, start: Mark) -> ScanResult<(Option<char>, Option<usize>)> {
        const CONTEXT: &str = "while scanning a block scalar";
        let (mut chomp, mut increment) = (None, None);
        for _ in 0..2 {
            match self.peek_char(0) {
                c @ ('+' | '-') if chomp.is_none() => chomp = Some(c),
                '0' if increment.is_none() => {
                    let text = "expected indentation indicator in the range 1-9, but found 0";
                    return Err(MarkedError::with_context(CONTEXT, start, text, self.mark));
                }
                c @ '1'..='9' if increment.is_none() => {
                    increment = c.to_digit(10).map(|digit| digit as usize)
                }
                _ => break,
            }
            self.forward(1);
        }
        let c = self.peek_char(0);
        if !is_line_end(c) && c != ' ' {
            let text = format!(
                "expected chomping or indentation indicators, but found {}",
                char_repr(c)
            );
            return Err(MarkedError::with_context(CONTEXT, start, text, self.mark));
        }
        while self.peek_char(0) == ' ' {
            self.forward(1);
        }
        if self.peek_char(0) == '#' {
            while !is_line_end(self.peek_char(0)) {
                self.forward(1);
            }
        }
        let c = self.peek_char(0);
        if !is_line_end(c) {
            let text = format!(
                "expected a comment or a line break, but found {}",
                char_repr(c)
            );
            return Err(MarkedError::with_context(CONTEXT, start, text, self.mark));
        }
        self.scan_line_break();
        Ok((chomp, increment))
    }

    /// Scans the lines of a block scalar.
    ///
    /// Returns its text, whether blank lines after it were dropped, and its end.
    fn block_text(
        &mut self,
        style: char,
        chomp: Option<char>,
        increment: Option<usize>,
    ) -> (String, bool, Mark) {
        // A block scalar at the top level may have no indentation.
        let min_indent = (self.indent + 1).max(0) as usize;
        let (mut breaks, mut end, indent);
        if let Some(increment) = increment {
            indent = min_indent.max(1) + increment - 1;
            (breaks, end) = self.block_breaks(indent);
        } else {
            let max_indent;
            (breaks, max_indent, end) = self.block_indentation();
            indent = min_indent.max(max_indent);
        }
        let mut text = String::new();
        let mut line_break = None;
        while self.mark.column == indent && self.peek_char(0) != '\0' {
            text.extend(breaks.drain(..));
            // Lines that start with a blank are not folded into one another.
            let leading = !matches!(self.peek_char(0), ' ' | '\t');
            while !is_line_end(self.peek_char(0)) {
                text.push(self.peek_char(0));
                self.forward(1);
            }
            line_break = self.scan_line_break();
            (breaks, end) = self.block_breaks(indent);
            if min_indent == 0 && (self.is_document_mark("---") || self.is_document_mark("...")) {
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
        if chomp != Some('-') {
            text.extend(line_break);
        }
        if chomp == Some('+') {
            text.extend(breaks.drain(..));
        }
        (text, !breaks.is_empty(), end)
    }

    /// Scans the blank lines at the start of a block scalar and the indentation of its first line.
    ///
    /// Returns their line breaks, the maximum column and the end of the last one.
    fn block_indentation(&mut self) -> (Vec<char>, usize, Mark) {
        let (mut breaks, mut max_indent, mut end) = (Vec::new(), 0, self.mark);
        loop {
            if self.peek_char(0) == ' ' {
                self.forward(1);
                max_indent = max_indent.max(self.mark.column);
            } else if let Some(c) = self.scan_line_break() {
                breaks.push(c);
                end = self.mark;
            } else {
                return (breaks, max_indent, end);
            }
        }
    }

    fn block_breaks(&mut self, indent: usize) -> (Vec<char>, Mark) {
        let (mut breaks, mut end) = (Vec::new(), self.mark);
        loop {
            while self.mark.column < indent && self.peek_char(0) == ' ' {
                self.forward(1);
            }
            let Some(c) = self.scan_line_break() else {
                return (breaks, end);
            };
            breaks.push(c);
            end = self.mark;
        }
    }

    pub(super) fn fetch_quoted(&mut self, quote: char) -> ScanResult<()> {
        // The scalar may be a key, but no key may follow it directly.
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        self.forward(1);
        let mut value = String::new();
        self.quoted_words(quote, start, &mut value)?;
        while self.peek_char(0) != quote {
            self.quoted_spaces(start, &mut value)?;
            self.quoted_words(quote, start, &mut value)?;
        }
        self.forward(1);
        self.push_token(
            TokenKind::Scalar {
                value,
                plain: false,
            },
            start,
        );
        Ok(())
    }

    fn quoted_words(&mut self, quote: char, start: Mark, value: &mut String) -> ScanResult<()> {
        let is_double = quote == '"';
        loop {
            let c = self.peek_char(0);
            match c {
                '\'' if !is_double && self.peek_char(1) == '\'' => {
                    value.push('\'');
                    self.forward(2);
                }
                '\'' if is_double => self.push_next_char(value),
                '"' | '\\' if !is_double => self.push_next_char(value),
                '\\' => {
                    self.forward(1);
                    self.scan_escape(start, value)?;
                }
                '\'' | '"' => return Ok(()),
                c if is_blank_or_line_end(c) => return Ok(()),
                _ => self.push_next_char(value),
            }
        }
    }

    fn push_next_char(&mut self, value: &mut String) {
        value.push(self.peek_char(0));
        self.forward(1);
    }

    fn scan_escape(&mut self, start: Mark, value: &mut String) -> ScanResult<()> {
        const CONTEXT: &str = "while scanning a double-quoted scalar";
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
            'x' => return self.scan_code_point(2, start, value),
            'u' => return self.scan_code_point(4, start, value),
            'U' => return self.scan_code_point(8, start, value),
            // An escaped line break joins two lines without a space.
            c if is_line_end(c) && c != '\0' => {
                self.scan_line_break();
                return self.quoted_breaks(start, value).map(drop);
            }
            _ => {
                return Err(MarkedError::with_context(
                    CONTEXT,
                    start,
                    format!("found unknown escape character {}", char_repr(c)),
                    self.mark,
                ));
            }
        };
        value.push(plain);
        self.forward(1);
        Ok(())
    }

    fn scan_code_point(
        &mut self,
        digits: usize,
        start: Mark,
        value: &mut String,
    ) -> ScanResult<()> {
        const CONTEXT: &str = "while scanning a double-quoted scalar";
        self.forward(1);
        for index in 0..digits {
            let c = self.peek_char(index);
            if !c.is_ascii_hexdigit() {
                let text = format!(
                    "expected escape sequence of {digits} hexdecimal numbers, but found {}",
                    char_repr(c)
                );
                return Err(MarkedError::with_context(CONTEXT, start, text, self.mark));
            }
        }
        let code: String = self.prefix(digits).iter().collect();
        // Half of a surrogate pair is a character in Python, so the reference validator accepts it.
        let code_point = u32::from_str_radix(&code, 16).ok();
        let Some(c) = code_point.and_then(|code| encode_surrogate(code).or(char::from_u32(code)))
        else {
            let text = format!("escape sequence {} is no character", repr(&code));
            return Err(MarkedError::with_context(CONTEXT, start, text, self.mark));
        };
        value.push(c);
        self.forward(digits);
        Ok(())
    }

    fn quoted_spaces(&mut self, start: Mark, value: &mut String) -> ScanResult<()> {
        const CONTEXT: &str = "while scanning a quoted scalar";
        let mut spaces = String::new();
        while matches!(self.peek_char(0), ' ' | '\t') {
            self.push_next_char(&mut spaces);
        }
        if self.peek_char(0) == '\0' {
            return Err(MarkedError::with_context(
                CONTEXT,
                start,
                "found unexpected end of stream",
                self.mark,
            ));
        }
        match self.scan_line_break() {
            None => value.push_str(&spaces),
            // One line break folds into a space; of several, all but the first are kept.
            Some(c) => {
                let mut breaks = String::new();
                self.quoted_breaks(start, &mut breaks)?;
                if c != '\n' {
                    value.push(c);
                } else if breaks.is_empty() {
                    value.push(' ');
                }
                value.push_str(&breaks);
            }
        }
        Ok(())
    }

    fn quoted_breaks(&mut self, start: Mark, breaks: &mut String) -> ScanResult<()> {
        loop {
            if self.is_separator() {
                let context = "while scanning a quoted scalar";
                return Err(MarkedError::with_context(
                    context,
                    start,
                    "found unexpected document separator",
                    self.mark,
                ));
            }
            while matches!(self.peek_char(0), ' ' | '\t') {
                self.forward(1);
            }
            match self.scan_line_break() {
                Some(c) => breaks.push(c),
                None => return Ok(()),
            }
        }
    }

    fn is_separator(&self) -> bool {
        let prefix = self.prefix(3);
        (prefix == ['-', '-', '-'] || prefix == ['.', '.', '.'])
            && is_blank_or_line_end(self.peek_char(3))
    }

    pub(super) fn fetch_plain(&mut self) -> ScanResult<()> {
        // The scalar may be a key, but no key may follow it directly.
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let (start, indent) = (self.mark, self.indent + 1);
        let (mut value, mut end) = (String::new(), self.mark);
        let mut spaces = String::new();
        while self.peek_char(0) != '#' {
            let length = self.plain_length();
            self.reject_colon(length, start)?;
            if length == 0 {
                break;
            }
            self.allow_simple_key = false;
            value.push_str(&spaces);
            value.extend(self.prefix(length));
            self.forward(length);
            end = self.mark;
            spaces.clear();
            // A line with less indentation than the block ends the scalar.
            let found = self.plain_spaces(&mut spaces);
            if !found
                || self.peek_char(0) == '#'
                || (self.flow_brackets.is_empty() && (self.mark.column as isize) < indent)
            {
                break;
            }
        }
        self.tokens.push_back(Token::new(
            TokenKind::Scalar { value, plain: true },
            start,
            end,
        ));
        Ok(())
    }

    fn plain_length(&self) -> usize {
        let block = self.flow_brackets.is_empty();
        let mut length = 0;
        loop {
            let (c, next) = (self.peek_char(length), self.peek_char(length + 1));
            let continues = match c {
                // `a:b` is text, `a: b` is a key with a value.
                ':' if !is_blank_or_line_end(next) => true,
                '?' => true,
                ':' => false,
                ',' | '[' | ']' | '{' | '}' => block,
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
        if self.flow_brackets.is_empty()
            || c != ':'
            || is_blank_or_line_end(next)
            || ",[]{}".contains(next)
        {
            return Ok(());
        }
        self.forward(length);
        let mut error = MarkedError::with_context(
            "while scanning a plain scalar",
            start,
            "found unexpected ':'",
            self.mark,
        );
        error.note =
            Some("Please check http://pyyaml.org/wiki/YAMLColonInFlowContext for details.");
        Err(error)
    }

    /// Scans the spaces and line breaks after a word; returns whether the scalar can continue.
    fn plain_spaces(&mut self, spaces: &mut String) -> bool {
        let mut blanks = String::new();
        while self.peek_char(0) == ' ' {
            self.push_next_char(&mut blanks);
        }
        let Some(c) = self.scan_line_break() else {
            spaces.push_str(&blanks);
            return !spaces.is_empty();
        };
        self.allow_simple_key = true;
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
        if c != '\n' {
            spaces.push(c);
        } else if breaks.is_empty() {
            spaces.push(' ');
        }
        spaces.push_str(&breaks);
        true
    }
}
