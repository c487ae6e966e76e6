//! Directives, which no frontmatter can use: the `---` that must follow would end it.

use super::{Scan, Scanner, is_end};
use crate::strict::mark::{Mark, Problem};
use crate::strict::python::repr_of;
use crate::strict::token::{Directive, Kind};

const CONTEXT: &str = "while scanning a directive";

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> Scan<()> {
        self.unwind_indent(-1);
        self.forget_key()?;
        self.allow_simple_key = false;
        let start = self.at;
        self.forward(1);
        let name = self.directive_name(start)?;
        let directive = match name.as_str() {
            "YAML" => self.version(start)?,
            "TAG" => self.tag_directive(start)?,
            _ => Directive::Other,
        };
        let end = self.at;
        if directive == Directive::Other {
            while !is_end(self.char(0)) {
                self.forward(1);
            }
        }
        self.rest_of_line(start)?;
        self.tokens.push_back(super::Token::new(Kind::Directive(directive), start, end));
        Ok(())
    }

    fn directive_name(&mut self, start: Mark) -> Scan<String> {
        let mut name = String::new();
        loop {
            let c = self.char(0);
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.') {
                name.push(c);
                self.forward(1);
                continue;
            }
            if name.is_empty() || !(is_end(c) || c == ' ') {
                return self.refuse(start, "alphabetic or numeric character");
            }
            return Ok(name);
        }
    }

    fn version(&mut self, start: Mark) -> Scan<Directive> {
        self.skip_spaces();
        let major = self.number(start)?;
        if self.char(0) != '.' {
            return self.refuse(start, "a digit or '.'");
        }
        self.forward(1);
        self.number(start)?;
        let c = self.char(0);
        if !is_end(c) && c != ' ' {
            return self.refuse(start, "a digit or ' '");
        }
        Ok(Directive::Version { major })
    }

    fn number(&mut self, start: Mark) -> Scan<String> {
        let mut digits = String::new();
        while self.char(0).is_ascii_digit() {
            digits.push(self.char(0));
            self.forward(1);
        }
        if digits.is_empty() { self.refuse(start, "a digit") } else { Ok(digits) }
    }

    fn tag_directive(&mut self, start: Mark) -> Scan<Directive> {
        self.skip_spaces();
        let handle = self.tag_handle(CONTEXT, start)?;
        if self.char(0) != ' ' {
            return self.refuse(start, "' '");
        }
        self.skip_spaces();
        self.tag_uri("while parsing a directive", CONTEXT, start)?;
        let c = self.char(0);
        if !is_end(c) && c != ' ' {
            return self.refuse(start, "' '");
        }
        Ok(Directive::Tag { handle })
    }

    fn rest_of_line(&mut self, start: Mark) -> Scan<()> {
        self.skip_spaces();
        if self.char(0) == '#' {
            while !is_end(self.char(0)) {
                self.forward(1);
            }
        }
        if !is_end(self.char(0)) {
            return self.refuse(start, "a comment or a line break");
        }
        self.line_break();
        Ok(())
    }

    fn skip_spaces(&mut self) {
        while self.char(0) == ' ' {
            self.forward(1);
        }
    }

    fn refuse<T>(&self, start: Mark, expected: &str) -> Scan<T> {
        let text = format!("expected {expected}, but found {}", repr_of(self.char(0)));
        Err(Problem::within(CONTEXT, start, text, self.at))
    }
}
