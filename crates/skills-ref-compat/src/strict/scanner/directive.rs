//! Scans directives.
//!
//! Frontmatter cannot use them, since the `---` that must follow would end it, but their errors are
//! returned before that one.

use super::{ScanResult, Scanner, is_line_end};
use crate::strict::mark::{Mark, MarkedError};
use crate::strict::python::char_repr;
use crate::strict::token::{Directive, TokenKind};

const CONTEXT: &str = "while scanning a directive";

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> ScanResult<()> {
        // A directive belongs to the next document, so it ends all blocks of this one.
        self.unwind_indent(-1);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        self.forward(1);
        let name = self.directive_name(start)?;
        let directive = match name.as_str() {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.tag_directive(start)?,
            _ => Directive::Other,
        };
        // The text of unknown directives is not checked.
        let end = self.mark;
        if directive == Directive::Other {
            while !is_line_end(self.peek_char(0)) {
                self.forward(1);
            }
        }
        self.scan_line_end(start)?;
        self.tokens.push_back(super::Token::new(
            TokenKind::Directive(directive),
            start,
            end,
        ));
        Ok(())
    }

    fn directive_name(&mut self, start: Mark) -> ScanResult<String> {
        let mut name = String::new();
        loop {
            let c = self.peek_char(0);
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.') {
                name.push(c);
                self.forward(1);
                continue;
            }
            if name.is_empty() || !(is_line_end(c) || c == ' ') {
                return self.expected_error(start, "alphabetic or numeric character");
            }
            return Ok(name);
        }
    }

    fn scan_version(&mut self, start: Mark) -> ScanResult<Directive> {
        self.skip_spaces();
        let major = self.scan_number(start)?;
        if self.peek_char(0) != '.' {
            return self.expected_error(start, "a digit or '.'");
        }
        self.forward(1);
        self.scan_number(start)?;
        let c = self.peek_char(0);
        if !is_line_end(c) && c != ' ' {
            return self.expected_error(start, "a digit or ' '");
        }
        Ok(Directive::Version { major })
    }

    fn scan_number(&mut self, start: Mark) -> ScanResult<String> {
        let mut digits = String::new();
        while self.peek_char(0).is_ascii_digit() {
            digits.push(self.peek_char(0));
            self.forward(1);
        }
        if digits.is_empty() {
            self.expected_error(start, "a digit")
        } else {
            Ok(digits)
        }
    }

    fn tag_directive(&mut self, start: Mark) -> ScanResult<Directive> {
        self.skip_spaces();
        let handle = self.tag_handle(CONTEXT, start)?;
        if self.peek_char(0) != ' ' {
            return self.expected_error(start, "' '");
        }
        self.skip_spaces();
        self.tag_uri("while parsing a directive", CONTEXT, start)?;
        let c = self.peek_char(0);
        if !is_line_end(c) && c != ' ' {
            return self.expected_error(start, "' '");
        }
        Ok(Directive::Tag { handle })
    }

    fn scan_line_end(&mut self, start: Mark) -> ScanResult<()> {
        self.skip_spaces();
        if self.peek_char(0) == '#' {
            while !is_line_end(self.peek_char(0)) {
                self.forward(1);
            }
        }
        if !is_line_end(self.peek_char(0)) {
            return self.expected_error(start, "a comment or a line break");
        }
        self.scan_line_break();
        Ok(())
    }

    fn skip_spaces(&mut self) {
        while self.peek_char(0) == ' ' {
            self.forward(1);
        }
    }

    fn expected_error<T>(&self, start: Mark, expected: &str) -> ScanResult<T> {
        let text = format!(
            "expected {expected}, but found {}",
            char_repr(self.peek_char(0))
        );
        Err(MarkedError::with_context(CONTEXT, start, text, self.mark))
    }
}
