//! Lexer for Python source, as far as it is needed to find a docstring and calls.

use super::cursor::Cursor;
use super::string_escapes::{decode_escapes, find_string_end};
use super::token::{Depth, Token};

/// Splits Python source into tokens in linear time. Invalid source results in some tokens, never in
/// an error.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    source: Cursor<'a>,
    depth: Depth,
    is_at_line_start: bool,
    indent: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source: Cursor::new(source),
            depth: Depth::default(),
            is_at_line_start: true,
            indent: 0,
        }
    }

    /// Returns the number of blanks before the logical line of the last token.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    /// Skips blanks, comments and joined lines.
    fn skip_trivia(&mut self) {
        loop {
            self.source.take_while(is_blank);
            if self.source.rest.starts_with('#') {
                self.source.skip_line();
            } else if let Some(bytes) = self.line_join() {
                self.source.take(bytes);
            } else {
                return;
            }
        }
    }

    /// Returns the length of a line end that does not end the logical line.
    fn line_join(&self) -> Option<usize> {
        let rest = self.source.rest;
        if !self.depth.is_top_level() && rest.starts_with(['\n', '\r']) {
            return Some(1);
        }
        let mut joins = ["\\\r\n", "\\\n", "\\\r"].iter();
        joins
            .find(|join| rest.starts_with(**join))
            .map(|join| join.len())
    }

    fn lex_word(&mut self) -> Token<'a> {
        let word = self.source.take_while(is_word_char);
        // A short word directly before a quote can be a string prefix.
        if !self.source.rest.starts_with(['"', '\'']) || word.len() > 2 {
            return Token::Name(word);
        }
        match StringKind::of_prefix(word) {
            Some(kind) => self.lex_string(kind),
            None => Token::Name(word),
        }
    }

    fn lex_number(&mut self) -> Token<'a> {
        let rest = self.source.rest;
        let mut before = ' ';
        let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
        let end = rest.find(|c: char| {
            let exponent = !hexadecimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
            before = c;
            !(exponent || c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        });
        Token::Number(self.source.take(end.unwrap_or(rest.len())))
    }

    /// Lexes a string that starts with its quotes.
    fn lex_string(&mut self, kind: StringKind) -> Token<'a> {
        let quotes = ["\"\"\"", "'''", "\""]
            .into_iter()
            .find(|quotes| self.source.rest.starts_with(quotes))
            .unwrap_or("'");
        self.source.take(quotes.len());
        let Some(end) = find_string_end(self.source.rest, quotes) else {
            // An unterminated string ends with its line or with the source.
            self.source.take_while(|c| quotes.len() == 3 || c != '\n');
            return Token::Opaque;
        };
        let body = self.source.take(end);
        self.source.take(quotes.len());
        kind.token(body)
    }

    fn lex_line_end(&mut self) -> Token<'a> {
        self.source.take_while(|c| c == '\n' || c == '\r');
        self.is_at_line_start = true;
        Token::Newline
    }

    fn lex_symbol(&mut self, symbol: char) -> Token<'a> {
        self.source.take(symbol.len_utf8());
        let token = Token::Symbol(symbol);
        self.depth.pass(&token);
        token
    }

    /// Returns true if a number starts with the next character, a dot.
    fn is_fraction(&self) -> bool {
        self.source.rest[1..].starts_with(|c: char| c.is_ascii_digit())
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if std::mem::take(&mut self.is_at_line_start) {
            self.indent = self.source.take_while(is_blank).chars().count();
        }
        self.skip_trivia();
        Some(match self.source.peek()? {
            '"' | '\'' => self.lex_string(StringKind::Plain),
            '0'..='9' => self.lex_number(),
            '.' if self.is_fraction() => self.lex_number(),
            '\n' | '\r' => self.lex_line_end(),
            c if is_word_char(c) => self.lex_word(),
            c => self.lex_symbol(c),
        })
    }
}

fn is_blank(c: char) -> bool {
    c != '\n' && c != '\r' && c.is_whitespace()
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || !c.is_ascii()
}

/// How a string literal is decoded.
enum StringKind {
    Plain,
    Raw,
    Opaque,
}

impl StringKind {
    fn of_prefix(prefix: &str) -> Option<Self> {
        match prefix.to_ascii_lowercase().as_str() {
            "r" => Some(Self::Raw),
            "u" => Some(Self::Plain),
            "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt" => Some(Self::Opaque),
            _ => None,
        }
    }

    fn token<'a>(self, body: &str) -> Token<'a> {
        match self {
            Self::Plain => Token::StringLiteral(decode_escapes(body)),
            Self::Raw => Token::StringLiteral(body.replace("\r\n", "\n")),
            Self::Opaque => Token::Opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(source: &str, expected: &str) {
        let words = Lexer::new(source).map(|token| match token {
            Token::Name(name) => name.to_owned(),
            Token::Number(number) => format!("#{number}"),
            Token::StringLiteral(text) => format!("{text:?}"),
            Token::Opaque => "?".to_owned(),
            Token::Symbol(symbol) => symbol.to_string(),
            Token::Newline => "|".to_owned(),
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn lines_join_inside_brackets_and_after_a_backslash() {
        check(
            "a = (1,  # one\n  2)\nb \\\n= 3\r\n\r\nc",
            "a = ( #1 , #2 ) | b = #3 | c",
        );
    }

    #[test]
    fn strings_are_decoded() {
        check(
            r#"'a\'b' "\x41\u5929\101\n" r"\n\"" u'x'"#,
            r#""a'b" "A天A\n" "\\n\\\"" "x""#,
        );
        check("'''one\r\n'two' \\\nthree'''", "\"one\\n'two' three\"");
        check(r"'\N{BULLET}\q\ud800'", "\"\u{FFFD}\\\\q\u{FFFD}\"");
        check("'' \"\"", r#""" """#);
    }

    #[test]
    fn strings_that_are_not_constant_are_opaque() {
        check("b'a' f\"b{c}\" Rb'x' t'' x'y'", "? ? ? ? x \"y\"");
        check("'open\na \"\"\"open\nb", "? | a ?");
    }

    #[test]
    fn numbers_keep_their_spelling() {
        check(
            "1_000 0xfe+1 1e-3 .5 1.5j x.y",
            "#1_000 #0xfe + #1 #1e-3 #.5 #1.5j x . y",
        );
    }

    proptest! {
        #[test]
        fn tokens_are_never_longer_than_the_source(source in "(\\PC|[\\\\\"'\\n\\r#(){}]|[rbfuxN0-9]){0,200}") {
            let size = |token: &Token<'_>| match token {
                Token::Name(text) | Token::Number(text) => text.len(),
                // A replacement character is longer than an octal escape.
                Token::StringLiteral(text) => text.chars().count(),
                _ => 0,
            };
            let tokens: Vec<_> = Lexer::new(&source).collect();
            prop_assert!(tokens.iter().map(size).sum::<usize>() <= source.len());
            prop_assert!(tokens.len() <= source.len());
        }
    }
}
