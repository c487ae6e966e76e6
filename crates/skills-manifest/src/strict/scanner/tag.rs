//! Anchors, aliases and tags. All but aliases are refused later; a mistake in them is reported first.

use super::{Scan, Scanner, is_end, is_end_or_space};
use crate::strict::mark::{Mark, Problem};
use crate::strict::python::repr_of;
use crate::strict::token::Kind;

impl Scanner<'_> {
    pub(super) fn fetch_anchor(&mut self) -> Scan<()> {
        self.save_key()?;
        self.allow_simple_key = false;
        let start = self.at;
        let is_alias = self.char(0) == '*';
        let context = if is_alias { "while scanning an alias" } else { "while scanning an anchor" };
        self.forward(1);
        let mut name = String::new();
        let mut length = 0;
        while is_anchor(self.char(length)) {
            name.push(self.char(length));
            length += 1;
        }
        let refusal = |c: char| format!("expected alphabetic or numeric character, but found {}", repr_of(c));
        if length == 0 {
            return Err(Problem::within(context, start, refusal(self.char(0)), self.at));
        }
        self.forward(length);
        let c = self.char(0);
        if !is_end_or_space(c) && !"?:,[]{}%@`".contains(c) {
            return Err(Problem::within(context, start, refusal(c), self.at));
        }
        self.push(if is_alias { Kind::Alias(name) } else { Kind::Anchor }, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Scan<()> {
        self.save_key()?;
        self.allow_simple_key = false;
        let start = self.at;
        let c = self.char(1);
        if c == '<' {
            self.forward(2);
            self.tag_uri("while parsing a tag", "while scanning a tag", start)?;
            if self.char(0) != '>' {
                let text = format!("expected '>', but found {}", repr_of(self.char(0)));
                return Err(Problem::within("while parsing a tag", start, text, self.at));
            }
            self.forward(1);
        } else if is_end_or_space(c) {
            self.forward(1);
        } else {
            let rest = self.text[self.at.index + 1..].iter();
            let has_handle = rest.take_while(|c| !is_end(**c) && **c != ' ').any(|c| *c == '!');
            if has_handle {
                self.tag_handle("while scanning a tag", start)?;
            } else {
                self.forward(1);
            }
            self.tag_uri("while parsing a tag", "while scanning a tag", start)?;
        }
        let c = self.char(0);
        if !is_end(c) && c != ' ' {
            return Err(Problem::within("while scanning a tag", start, format!("expected ' ', but found {}", repr_of(c)), self.at));
        }
        self.push(Kind::Tag, start);
        Ok(())
    }

    pub(super) fn tag_handle(&mut self, context: &'static str, start: Mark) -> Scan<String> {
        let refusal = |c: char| format!("expected '!', but found {}", repr_of(c));
        if self.char(0) != '!' {
            return Err(Problem::within(context, start, refusal(self.char(0)), self.at));
        }
        let mut length = 1;
        if self.char(1) != ' ' {
            while self.char(length).is_ascii_alphanumeric() || matches!(self.char(length), '-' | '_') {
                length += 1;
            }
            if self.char(length) != '!' {
                self.forward(length);
                return Err(Problem::within(context, start, refusal(self.char(0)), self.at));
            }
            length += 1;
        }
        let handle = self.prefix(length).iter().collect();
        self.forward(length);
        Ok(handle)
    }

    pub(super) fn tag_uri(&mut self, empty: &'static str, escape: &'static str, start: Mark) -> Scan<()> {
        let begin = self.at.index;
        loop {
            let c = self.char(0);
            if c == '%' {
                self.uri_escapes(escape, start)?;
            } else if c.is_ascii_alphanumeric() || (c != '\0' && "-;/?:@&=+$,_.!~*'()[]#".contains(c)) {
                self.forward(1);
            } else if self.at.index == begin {
                return Err(Problem::within(empty, start, format!("expected URI, but found {}", repr_of(c)), self.at));
            } else {
                return Ok(());
            }
        }
    }

    fn uri_escapes(&mut self, context: &'static str, start: Mark) -> Scan<()> {
        while self.char(0) == '%' {
            self.forward(1);
            for index in 0..2 {
                let c = self.char(index);
                if !c.is_ascii_hexdigit() {
                    let text = format!("expected URI escape sequence of 2 hexdecimal numbers, but found {}", repr_of(c));
                    return Err(Problem::within(context, start, text, self.at));
                }
            }
            self.forward(2);
        }
        Ok(())
    }
}

fn is_anchor(c: char) -> bool {
    !",[]{}".contains(c) && (('!'..='~').contains(&c) || (c >= '\u{A0}' && !matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')))
}
