//! Lexer for JavaScript and TypeScript source, as far as it is needed to find calls and strings.

use super::cursor::Cursor;
use super::string_escapes::{decode_escapes, find_string_end};
use super::token::Token;

/// Maximum length of a regular expression in bytes, so that many unterminated ones stay cheap.
const MAX_REGEX_BYTES: usize = 500;
/// Names after which a slash starts a regular expression.
const BEFORE_EXPRESSION: [&str; 8] = [
    "return", "typeof", "case", "in", "of", "delete", "void", "await",
];

/// Splits JavaScript source into tokens in linear time. Comments, white space and line ends are
/// skipped. Invalid source results in some tokens, never in an error.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    source: Cursor<'a>,
    /// Whether a slash divides, because the token before it ends an expression.
    after_expression: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        let mut source = Cursor::new(source);
        if source.rest.starts_with("#!") {
            source.take_while(|c| c != '\n');
        }
        Self {
            source,
            after_expression: false,
        }
    }

    fn skip_trivia(&mut self) {
        loop {
            self.source.take_while(char::is_whitespace);
            if self.source.rest.starts_with("//") {
                self.source.skip_line();
            } else if let Some(bytes) = self.comment_length() {
                self.source.take(bytes);
            } else {
                return;
            }
        }
    }

    /// Returns the length of the `/* … */` at the start, which may be unterminated.
    fn comment_length(&self) -> Option<usize> {
        let comment = self.source.rest.strip_prefix("/*")?;
        Some(
            comment
                .find("*/")
                .map_or(self.source.rest.len(), |at| at + 4),
        )
    }

    fn lex_string(&mut self, quote: &str) -> Token<'a> {
        self.source.take(1);
        let Some(end) = find_string_end(self.source.rest, quote) else {
            self.source.take_while(|c| c != '\n');
            return Token::Opaque;
        };
        let body = self.source.take(end);
        self.source.take(1);
        Token::StringLiteral(decode_escapes(body))
    }

    /// Lexes a template. Only one without expressions is constant text.
    fn lex_template(&mut self) -> Token<'a> {
        self.source.take(1);
        let Some(end) = template_end(self.source.rest) else {
            self.source.take(self.source.rest.len());
            return Token::Opaque;
        };
        let body = self.source.take(end);
        self.source.take(1);
        if body.contains("${") {
            return Token::Opaque;
        }
        Token::StringLiteral(decode_escapes(body))
    }

    fn lex_slash(&mut self) -> Token<'a> {
        match regex_end(self.source.rest).filter(|_| !self.after_expression) {
            Some(end) => {
                self.source.take(end);
                self.source.take_while(|c| c.is_ascii_alphabetic());
                Token::Opaque
            }
            None => self.lex_symbol('/'),
        }
    }

    fn lex_symbol(&mut self, symbol: char) -> Token<'a> {
        self.source.take(symbol.len_utf8());
        Token::Symbol(symbol)
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_trivia();
        let token = match self.source.peek()? {
            '"' => self.lex_string("\""),
            '\'' => self.lex_string("'"),
            '`' => self.lex_template(),
            '/' => self.lex_slash(),
            '0'..='9' => Token::Number(self.source.take_while(is_number_char)),
            c if is_name_char(c) => Token::Name(self.source.take_while(is_name_char)),
            c => self.lex_symbol(c),
        };
        self.after_expression = ends_expression(&token);
        Some(token)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

fn ends_expression(token: &Token<'_>) -> bool {
    match token {
        Token::Name(name) => !BEFORE_EXPRESSION.contains(name),
        Token::Symbol(_) => token.is_closing_bracket(),
        _ => true,
    }
}

/// Finds the backquote that ends a template. Expressions in it can contain templates.
fn template_end(text: &str) -> Option<usize> {
    // The backquotes and braces around a position.
    let mut open = vec![b'`'];
    let mut before = b'`';
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        let in_text = open.last() == Some(&b'`');
        match byte {
            b'\\' if in_text => drop(bytes.next()),
            b'`' if in_text && open.len() == 1 => return Some(at),
            b'`' if !in_text => open.push(byte),
            b'`' => drop(open.pop()),
            b'}' if !in_text => drop(open.pop()),
            b'{' if !in_text || before == b'$' => open.push(byte),
            _ => {}
        }
        before = byte;
    }
    None
}

/// Returns the length of the regular expression at the start of `text`, without its flags.
fn regex_end(text: &str) -> Option<usize> {
    let (mut escaped, mut in_class) = (false, false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' | '\r' => return None,
            _ if at > MAX_REGEX_BYTES => return None,
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
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
    fn names_strings_and_comments_are_distinguished() {
        check(
            "#!/usr/bin/env node\nconst $a = 'x\\'y' // \"no\"\n/* 'no' */ + \"z\";",
            r#"const $a = "x'y" + "z" ;"#,
        );
        check("`one\ntwo` `a${b + `c}`}d`", r#""one\ntwo" ?"#);
        check("'open\n`open", "? ?");
    }

    #[test]
    fn a_slash_divides_after_an_expression() {
        check("a / b / c", "a / b / c");
        check("x = /[/'\"]+/g.test('a')", "x = ? . test ( \"a\" )");
        check("return /'/", "return ?");
        check("f(x) / 2", "f ( x ) / #2");
    }

    proptest! {
        #[test]
        fn any_source_is_split(source in "(\\PC|[\\\\\"'`/\\n${}\\[\\]*]){0,200}") {
            prop_assert!(Lexer::new(&source).count() <= source.len());
        }
    }
}
