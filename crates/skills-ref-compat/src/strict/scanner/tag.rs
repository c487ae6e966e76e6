//! Scans anchors, aliases and tags.
//!
//! The composer rejects all of them, but an error in their syntax is returned first.

use super::{ScanResult, Scanner, is_blank_or_line_end, is_line_end};
use crate::strict::mark::{Mark, MarkedError};
use crate::strict::python::char_repr;
use crate::strict::token::TokenKind;

impl Scanner<'_> {
    pub(super) fn fetch_anchor(&mut self) -> ScanResult<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        let is_alias = self.peek_char(0) == '*';
        let context = if is_alias {
            "while scanning an alias"
        } else {
            "while scanning an anchor"
        };
        self.forward(1);
        let mut name = String::new();
        let mut length = 0;
        while is_anchor_char(self.peek_char(length)) {
            name.push(self.peek_char(length));
            length += 1;
        }
        let expected_error = |c: char| {
            format!(
                "expected alphabetic or numeric character, but found {}",
                char_repr(c)
            )
        };
        if length == 0 {
            return Err(MarkedError::with_context(
                context,
                start,
                expected_error(self.peek_char(0)),
                self.mark,
            ));
        }
        self.forward(length);
        let c = self.peek_char(0);
        if !is_blank_or_line_end(c) && !"?:,[]{}%@`".contains(c) {
            return Err(MarkedError::with_context(
                context,
                start,
                expected_error(c),
                self.mark,
            ));
        }
        self.push_token(
            if is_alias {
                TokenKind::Alias(name)
            } else {
                TokenKind::Anchor
            },
            start,
        );
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> ScanResult<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        let c = self.peek_char(1);
        if c == '<' {
            self.forward(2);
            self.tag_uri("while parsing a tag", "while scanning a tag", start)?;
            if self.peek_char(0) != '>' {
                let text = format!("expected '>', but found {}", char_repr(self.peek_char(0)));
                return Err(MarkedError::with_context(
                    "while parsing a tag",
                    start,
                    text,
                    self.mark,
                ));
            }
            self.forward(1);
        } else if is_blank_or_line_end(c) {
            self.forward(1);
        } else {
            // `!a!b` has a handle `!a!`, `!a` does not; the second `!` may be anywhere in the word.
            let rest = self.text[self.mark.index + 1..].iter();
            let has_handle = rest
                .take_while(|c| !is_line_end(**c) && **c != ' ')
                .any(|c| *c == '!');
            if has_handle {
                self.tag_handle("while scanning a tag", start)?;
            } else {
                self.forward(1);
            }
            self.tag_uri("while parsing a tag", "while scanning a tag", start)?;
        }
        let c = self.peek_char(0);
        if !is_line_end(c) && c != ' ' {
            return Err(MarkedError::with_context(
                "while scanning a tag",
                start,
                format!("expected ' ', but found {}", char_repr(c)),
                self.mark,
            ));
        }
        self.push_token(TokenKind::Tag, start);
        Ok(())
    }

    pub(super) fn tag_handle(&mut self, context: &'static str, start: Mark) -> ScanResult<String> {
        let expected_error = |c: char| format!("expected '!', but found {}", char_repr(c));
        if self.peek_char(0) != '!' {
            return Err(MarkedError::with_context(
                context,
                start,
                expected_error(self.peek_char(0)),
                self.mark,
            ));
        }
        let mut length = 1;
        if self.peek_char(1) != ' ' {
            while self.peek_char(length).is_ascii_alphanumeric()
                || matches!(self.peek_char(length), '-' | '_')
            {
                length += 1;
            }
            if self.peek_char(length) != '!' {
                self.forward(length);
                return Err(MarkedError::with_context(
                    context,
                    start,
                    expected_error(self.peek_char(0)),
                    self.mark,
                ));
            }
            length += 1;
        }
        let handle = self.prefix(length).iter().collect();
        self.forward(length);
        Ok(handle)
    }

    pub(super) fn tag_uri(
        &mut self,
        empty: &'static str,
        escape: &'static str,
        start: Mark,
    ) -> ScanResult<()> {
        let begin = self.mark.index;
        loop {
            let c = self.peek_char(0);
            if c == '%' {
                self.uri_escapes(escape, start)?;
            } else if c.is_ascii_alphanumeric()
                || (c != '\0' && "-;/?:@&=+$,_.!~*'()[]#".contains(c))
            {
                self.forward(1);
            } else if self.mark.index == begin {
                return Err(MarkedError::with_context(
                    empty,
                    start,
                    format!("expected URI, but found {}", char_repr(c)),
                    self.mark,
                ));
            } else {
                return Ok(());
            }
        }
    }

    fn uri_escapes(&mut self, context: &'static str, start: Mark) -> ScanResult<()> {
        while self.peek_char(0) == '%' {
            self.forward(1);
            for index in 0..2 {
                let c = self.peek_char(index);
                if !c.is_ascii_hexdigit() {
                    let text = format!(
                        "expected URI escape sequence of 2 hexdecimal numbers, but found {}",
                        char_repr(c)
                    );
                    return Err(MarkedError::with_context(context, start, text, self.mark));
                }
            }
            self.forward(2);
        }
        Ok(())
    }
}

fn is_anchor_char(c: char) -> bool {
    !",[]{}".contains(c)
        && (('!'..='~').contains(&c)
            || (c >= '\u{A0}' && !matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')))
}
