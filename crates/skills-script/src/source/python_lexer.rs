//! Lexer for Python source, as far as it is needed to find a docstring and calls.

/// Maximum length of a character name in bytes, so that many unterminated ones stay cheap.
const MAX_CHARACTER_NAME_BYTES: usize = 128;

/// A token. Comments, indentation and line ends inside brackets are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A name or keyword.
    Name(&'a str),
    /// A number, as written.
    Number(&'a str),
    /// A decoded string.
    StringLiteral(String),
    /// A string that is not constant text: bytes, a formatted string, or an unterminated one.
    Opaque,
    /// One character of an operator, or a bracket.
    Symbol(char),
    /// The end of a logical line.
    Newline,
}

/// Splits Python source into tokens in linear time. Invalid source results in some tokens, never in
/// an error.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    depth: usize,
    is_at_line_start: bool,
    indent: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            rest: source.strip_prefix('\u{FEFF}').unwrap_or(source),
            depth: 0,
            is_at_line_start: true,
            indent: 0,
        }
    }

    /// Returns the number of blanks before the logical line of the last token.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    /// Consumes `bytes` of the source.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Skips blanks, comments and joined lines.
    fn skip_trivia(&mut self) {
        loop {
            self.take_while(|c| c != '\n' && c != '\r' && c.is_whitespace());
            if self.rest.starts_with('#') {
                self.take_while(|c| c != '\n' && c != '\r');
            } else if let Some(bytes) = ["\\\r\n", "\\\n", "\\\r"]
                .iter()
                .find(|join| self.rest.starts_with(**join))
                .map(|join| join.len())
            {
                self.take(bytes);
            } else if self.depth > 0 && self.rest.starts_with(['\n', '\r']) {
                self.take(1);
            } else {
                return;
            }
        }
    }

    fn lex_word(&mut self) -> Token<'a> {
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_' || !c.is_ascii());
        // A short word directly before a quote can be a string prefix.
        if !self.rest.starts_with(['"', '\'']) || word.len() > 2 {
            return Token::Name(word);
        }
        match word.to_ascii_lowercase().as_str() {
            "r" => self.lex_string(StringKind::Raw),
            "u" => self.lex_string(StringKind::Plain),
            "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt" => {
                self.lex_string(StringKind::Opaque)
            }
            _ => Token::Name(word),
        }
    }

    fn lex_number(&mut self) -> Token<'a> {
        let mut before = ' ';
        let hexadecimal = self.rest.starts_with("0x") || self.rest.starts_with("0X");
        let end = self.rest.find(|c: char| {
            let exponent = !hexadecimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
            before = c;
            !(exponent || c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        });
        Token::Number(self.take(end.unwrap_or(self.rest.len())))
    }

    /// Lexes a string that starts with its quotes.
    fn lex_string(&mut self, kind: StringKind) -> Token<'a> {
        let quotes = ["\"\"\"", "'''", "\""]
            .into_iter()
            .find(|quotes| self.rest.starts_with(quotes))
            .unwrap_or("'");
        self.take(quotes.len());
        let Some(end) = find_string_end(self.rest, quotes) else {
            // An unterminated string ends with its line or with the source.
            self.take_while(|c| quotes.len() == 3 || c != '\n');
            return Token::Opaque;
        };
        let body = self.take(end);
        self.take(quotes.len());
        match kind {
            StringKind::Plain => Token::StringLiteral(decode_escapes(body)),
            StringKind::Raw => Token::StringLiteral(body.replace("\r\n", "\n")),
            StringKind::Opaque => Token::Opaque,
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if std::mem::take(&mut self.is_at_line_start) {
            let blanks = |c: char| c != '\n' && c != '\r' && c.is_whitespace();
            self.indent = self.take_while(blanks).chars().count();
        }
        self.skip_trivia();
        let c = self.rest.chars().next()?;
        let mut following = self.rest.chars().skip(1);
        Some(match c {
            '"' | '\'' => self.lex_string(StringKind::Plain),
            '0'..='9' => self.lex_number(),
            '.' if following.next().is_some_and(|c| c.is_ascii_digit()) => self.lex_number(),
            '\n' | '\r' => {
                self.take_while(|c| c == '\n' || c == '\r');
                self.is_at_line_start = true;
                Token::Newline
            }
            c if c.is_alphabetic() || c == '_' || !c.is_ascii() => self.lex_word(),
            c => {
                self.take(c.len_utf8());
                match c {
                    '(' | '[' | '{' => self.depth += 1,
                    ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                Token::Symbol(c)
            }
        })
    }
}

/// How a string literal is decoded.
enum StringKind {
    Plain,
    Raw,
    Opaque,
}

/// Finds the closing quotes. A quote after a backslash does not close, in raw strings either.
pub(super) fn find_string_end(text: &str, closing: &str) -> Option<usize> {
    // Only a string with three quotes may contain line ends.
    let is_multiline = closing.len() == 3;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '\n' if !is_multiline => return None,
            _ if text[at..].starts_with(closing) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Decodes the escapes of a string. Unknown character names become the replacement character.
pub(super) fn decode_escapes(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find(['\\', '\r']) {
        text.push_str(&rest[..at]);
        let (decoded, bytes) = decode_escape(&rest[at..]);
        text.extend(decoded);
        rest = &rest[at + bytes..];
    }
    text.push_str(rest);
    text
}

/// Decodes the escape or line end at the start of `text`, and returns its length in bytes.
fn decode_escape(text: &str) -> (Option<char>, usize) {
    let plain = |c| (Some(c), 2);
    match text.as_bytes() {
        [b'\r', b'\n', ..] => (None, 1),
        [b'\r', ..] => (Some('\n'), 1),
        [b'\\', b'\r', b'\n', ..] => (None, 3),
        [b'\\', b'\n' | b'\r', ..] => (None, 2),
        [b'\\', b'n', ..] => plain('\n'),
        [b'\\', b't', ..] => plain('\t'),
        [b'\\', b'r', ..] => plain('\r'),
        [b'\\', b'a', ..] => plain('\u{7}'),
        [b'\\', b'b', ..] => plain('\u{8}'),
        [b'\\', b'f', ..] => plain('\u{C}'),
        [b'\\', b'v', ..] => plain('\u{B}'),
        [b'\\', quoted @ (b'\\' | b'\'' | b'"'), ..] => plain(char::from(*quoted)),
        [b'\\', b'x', ..] => decode_digits(text, 2, 2, 16),
        [b'\\', b'u', ..] => decode_digits(text, 2, 4, 16),
        [b'\\', b'U', ..] => decode_digits(text, 2, 8, 16),
        [b'\\', b'0'..=b'7', ..] => decode_digits(text, 1, 3, 8),
        [b'\\', b'N', b'{', ..] => {
            let end = text
                .bytes()
                .take(MAX_CHARACTER_NAME_BYTES)
                .position(|byte| byte == b'}');
            end.map_or((Some('\\'), 1), |at| {
                (Some(char::REPLACEMENT_CHARACTER), at + 1)
            })
        }
        // An unknown escape is literal.
        _ => (Some('\\'), 1),
    }
}

/// Decodes up to `max_digits` digits of `text`, starting at byte `start`.
fn decode_digits(text: &str, start: usize, max_digits: usize, radix: u32) -> (Option<char>, usize) {
    let digits = text[start..]
        .chars()
        .take(max_digits)
        .take_while(|c| c.is_digit(radix));
    let (count, code) = digits.fold((0, 0_u32), |(count, code), c| {
        let digit = c.to_digit(radix).unwrap_or_default();
        (count + 1, code.saturating_mul(radix).saturating_add(digit))
    });
    (
        Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
        start + count,
    )
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
