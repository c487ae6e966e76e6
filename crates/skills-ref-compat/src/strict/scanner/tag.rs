//! Scans anchors, aliases and tags.
//!
//! The composer rejects all of them, but an error in their syntax is returned first.

use super::{ScanResult, Scanner, is_blank_or_line_end, is_line_end};
use crate::strict::mark::Context;
use crate::strict::token::TokenKind;

impl Scanner<'_> {
    pub(super) fn fetch_anchor(&mut self) -> ScanResult<()> {
        const EXPECTED: &str = "alphabetic or numeric character";
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        let is_alias = self.peek_char(0) == '*';
        let context = if is_alias {
            ("while scanning an alias", start)
        } else {
            ("while scanning an anchor", start)
        };
        self.forward(1);
        let name = self.take_while(is_anchor_char);
        let c = self.peek_char(0);
        let is_complete = is_blank_or_line_end(c) || "?:,[]{}%@`".contains(c);
        if name.is_empty() || !is_complete {
            return self.fail_expected(context, EXPECTED);
        }
        let kind = if is_alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor
        };
        self.push_token(kind, start, self.mark);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> ScanResult<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.mark;
        let context = ("while scanning a tag", start);
        let outer = ("while parsing a tag", start);
        let c = self.peek_char(1);
        if c == '<' {
            self.forward(2);
            self.tag_uri(outer, context)?;
            if self.peek_char(0) != '>' {
                return self.fail_expected(outer, "'>'");
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
                self.tag_handle(context)?;
            } else {
                self.forward(1);
            }
            self.tag_uri(outer, context)?;
        }
        if !self.is_at_space_or_line_end() {
            return self.fail_expected(context, "' '");
        }
        self.push_token(TokenKind::Tag, start, self.mark);
        Ok(())
    }

    pub(super) fn tag_handle(&mut self, context: Context) -> ScanResult<String> {
        if self.peek_char(0) != '!' {
            return self.fail_expected(context, "'!'");
        }
        self.forward(1);
        let mut handle = String::from('!');
        if self.peek_char(0) != ' ' {
            handle += &self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            if self.peek_char(0) != '!' {
                return self.fail_expected(context, "'!'");
            }
            self.push_next_char(&mut handle);
        }
        Ok(handle)
    }

    /// Scans the URI of a tag. `context` is that of the whole URI, `escape` that of an escape.
    pub(super) fn tag_uri(&mut self, context: Context, escape: Context) -> ScanResult<()> {
        let begin = self.mark.index;
        loop {
            let c = self.peek_char(0);
            if c == '%' {
                self.forward(1);
                self.take_hex_digits(2, escape, "URI escape sequence")?;
            } else if c.is_ascii_alphanumeric()
                || (c != '\0' && "-;/?:@&=+$,_.!~*'()[]#".contains(c))
            {
                self.forward(1);
            } else if self.mark.index == begin {
                return self.fail_expected(context, "URI");
            } else {
                return Ok(());
            }
        }
    }
}

fn is_anchor_char(c: char) -> bool {
    !",[]{}".contains(c)
        && (('!'..='~').contains(&c)
            || (c >= '\u{A0}' && !matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')))
}
