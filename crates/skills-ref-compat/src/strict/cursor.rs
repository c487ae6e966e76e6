//! The position in the characters, and what any token needs.

use super::mark::{Context, Mark, MarkedError, is_line_end};
use super::python::char_repr;

pub(super) type ScanResult<T> = Result<T, Box<MarkedError>>;

/// A position in a text, which ends with NUL and has no carriage returns.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a [char],
    pub(super) mark: Mark,
}

impl<'a> Cursor<'a> {
    /// Returns a character after the current position; NUL after the end of the text.
    pub(super) fn peek_char(&self, ahead: usize) -> char {
        self.text
            .get(self.mark.index + ahead)
            .copied()
            .unwrap_or('\0')
    }

    pub(super) fn prefix(&self, length: usize) -> &'a [char] {
        &self.text[self.mark.index..(self.mark.index + length).min(self.text.len())]
    }

    /// Skips the characters that match, and returns them.
    pub(super) fn take_while(&mut self, matches: impl Fn(char) -> bool) -> String {
        let rest = &self.text[self.mark.index.min(self.text.len())..];
        let taken: String = rest.iter().copied().take_while(|c| matches(*c)).collect();
        self.forward(taken.chars().count());
        taken
    }

    pub(super) fn take_hex_digits(
        &mut self,
        count: usize,
        context: Context,
        what: &str,
    ) -> ScanResult<String> {
        let digits = self.prefix(count);
        if let Some(c) = digits.iter().find(|c| !c.is_ascii_hexdigit()) {
            let problem = format!(
                "expected {what} of {count} hexdecimal numbers, but found {}",
                char_repr(*c)
            );
            return self.fail(context, problem);
        }
        self.forward(count);
        Ok(digits.iter().collect())
    }

    pub(super) fn skip_spaces(&mut self) {
        while self.peek_char(0) == ' ' {
            self.forward(1);
        }
    }

    pub(super) fn skip_to_line_end(&mut self) {
        while !is_line_end(self.peek_char(0)) {
            self.forward(1);
        }
    }

    pub(super) fn is_at_space_or_line_end(&self) -> bool {
        let c = self.peek_char(0);
        c == ' ' || is_line_end(c)
    }

    /// Scans the end of a line, which may have a comment.
    pub(super) fn scan_line_end(&mut self, context: Context) -> ScanResult<()> {
        self.skip_spaces();
        if self.peek_char(0) == '#' {
            self.skip_to_line_end();
        }
        self.ensure(
            is_line_end(self.peek_char(0)),
            context,
            "a comment or a line break",
        )?;
        self.scan_line_break();
        Ok(())
    }

    /// Returns an error at the current position.
    pub(super) fn fail<T>(&self, context: Context, problem: impl Into<String>) -> ScanResult<T> {
        Err(MarkedError::within(context, problem, self.mark))
    }

    /// Fails at the current character unless it is what was expected.
    pub(super) fn ensure(
        &self,
        is_expected: bool,
        context: Context,
        expected: &str,
    ) -> ScanResult<()> {
        if is_expected {
            return Ok(());
        }
        let found = char_repr(self.peek_char(0));
        self.fail(context, format!("expected {expected}, but found {found}"))
    }

    pub(super) fn forward(&mut self, length: usize) {
        for _ in 0..length {
            let Some(&c) = self.text.get(self.mark.index) else {
                return;
            };
            self.mark.index += 1;
            // A byte order mark has no column, as in PyYAML.
            if c == '\n' {
                self.mark.line += 1;
                self.mark.column = 0;
            } else if c != '\u{FEFF}' {
                self.mark.column += 1;
            }
        }
    }

    /// Skips a line break; returns the character that it is in a scalar.
    pub(super) fn scan_line_break(&mut self) -> Option<char> {
        match self.peek_char(0) {
            '\n' | '\u{85}' => self.forward(1),
            c @ ('\u{2028}' | '\u{2029}') => {
                self.forward(1);
                return Some(c);
            }
            _ => return None,
        }
        Some('\n')
    }

    pub(super) fn is_document_end(&self) -> bool {
        self.mark.column == 0 && self.is_separator()
    }

    pub(super) fn push_next_char(&mut self, value: &mut String) {
        value.push(self.peek_char(0));
        self.forward(1);
    }

    /// Returns true for `...`. The text contains no `---`, which ends frontmatter.
    pub(super) fn is_separator(&self) -> bool {
        self.prefix(3) == ['.', '.', '.'] && is_blank_or_line_end(self.peek_char(3))
    }
}

pub(super) fn is_blank_or_line_end(c: char) -> bool {
    is_line_end(c) || matches!(c, ' ' | '\t')
}
