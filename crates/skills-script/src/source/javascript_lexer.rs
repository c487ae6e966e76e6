//! Lexer for JavaScript and TypeScript source, as far as it is needed to find calls and strings.

use super::python_lexer::{Token, decode_escapes, find_string_end};

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
    rest: &'a str,
    /// Whether a slash divides, because the token before it ends an expression.
    after_expression: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        let mut rest = source.strip_prefix('\u{FEFF}').unwrap_or(source);
        if rest.starts_with("#!") {
            rest = rest.split_at(rest.find('\n').unwrap_or(rest.len())).1;
        }
        Self {
            rest,
            after_expression: false,
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip_trivia(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n' && c != '\r');
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.find("*/").map_or(self.rest.len(), |at| at + 4);
                self.take(end);
            } else {
                return;
            }
        }
    }

    fn lex_string(&mut self, quote: &str) -> Token<'a> {
        self.take(1);
        let Some(end) = find_string_end(self.rest, quote) else {
            self.take_while(|c| c != '\n');
            return Token::Opaque;
        };
        let body = self.take(end);
        self.take(1);
        Token::StringLiteral(decode_escapes(body))
    }

    /// Lexes a template. Only one without expressions is constant text.
    fn lex_template(&mut self) -> Token<'a> {
        self.take(1);
        let end = template_end(self.rest);
        let body = self.take(end.unwrap_or(self.rest.len()));
        if end.is_none() {
            return Token::Opaque;
        }
        self.take(1);
        if body.contains("${") {
            Token::Opaque
        } else {
            Token::StringLiteral(decode_escapes(body))
        }
    }

    fn lex_slash(&mut self) -> Token<'a> {
        match regex_end(self.rest).filter(|_| !self.after_expression) {
            Some(end) => {
                self.take(end);
                self.take_while(|c| c.is_ascii_alphabetic());
                Token::Opaque
            }
            None => {
                self.take(1);
                Token::Symbol('/')
            }
        }
    }

    fn lex_number(&mut self) -> Token<'a> {
        Token::Number(self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_trivia();
        let token = match self.rest.chars().next()? {
            '"' => self.lex_string("\""),
            '\'' => self.lex_string("'"),
            '`' => self.lex_template(),
            '/' => self.lex_slash(),
            '0'..='9' => self.lex_number(),
            c if is_name_char(c) => Token::Name(self.take_while(is_name_char)),
            c => {
                self.take(c.len_utf8());
                Token::Symbol(c)
            }
        };
        self.after_expression = match &token {
            Token::Name(name) => !BEFORE_EXPRESSION.contains(name),
            Token::Symbol(symbol) => matches!(symbol, ')' | ']' | '}'),
            _ => true,
        };
        Some(token)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()
}

/// Finds the backquote that ends a template. Expressions in it can contain templates.
fn template_end(text: &str) -> Option<usize> {
    /// Where a position is: in the text of a template, or in an expression at a depth of braces.
    enum State {
        Text,
        Expression(usize),
    }
    let mut stack = vec![State::Text];
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match (stack.last_mut()?, byte) {
            (State::Text, b'\\') => {
                bytes.next();
            }
            (State::Text, b'`') => {
                stack.pop();
                if stack.is_empty() {
                    return Some(at);
                }
            }
            (State::Text, b'$') if bytes.peek().is_some_and(|(_, next)| *next == b'{') => {
                bytes.next();
                stack.push(State::Expression(0));
            }
            (State::Expression(_), b'`') => stack.push(State::Text),
            (State::Expression(depth), b'{') => *depth += 1,
            (State::Expression(0), b'}') => {
                stack.pop();
            }
            (State::Expression(depth), b'}') => *depth -= 1,
            _ => {}
        }
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
