//! S-expressions.

use std::iter::Peekable;
use std::str::Chars;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    List(Vec<Self>),
    Symbol(String),
    Text(String),
    /// `#"…"`, in which nothing is special.
    Raw(String),
}

impl Expression {
    pub(super) fn list(&self) -> &[Self] {
        let Self::List(list) = self else {
            panic!("not a list: {self:?}")
        };
        list
    }

    pub(super) fn symbol(&self) -> &str {
        let Self::Symbol(symbol) = self else {
            panic!("not a symbol: {self:?}")
        };
        symbol
    }

    pub(super) fn text(&self) -> &str {
        let Self::Text(text) = self else {
            panic!("not a text: {self:?}")
        };
        text
    }
}

/// Parses expressions to the end of the text.
pub(super) fn parse(text: &str) -> Vec<Expression> {
    let mut characters = text.chars().peekable();
    let mut expressions = Vec::new();
    while skip_space(&mut characters) {
        expressions.push(expression(&mut characters));
    }
    expressions
}

fn skip_space(characters: &mut Peekable<Chars<'_>>) -> bool {
    while characters.next_if(|c| c.is_ascii_whitespace()).is_some() {}
    characters.peek().is_some()
}

fn expression(characters: &mut Peekable<Chars<'_>>) -> Expression {
    match characters.next().expect("the text ends too early") {
        '(' => {
            let mut list = Vec::new();
            loop {
                assert!(skip_space(characters), "a list does not end");
                if characters.next_if_eq(&')').is_some() {
                    return Expression::List(list);
                }
                list.push(expression(characters));
            }
        }
        '"' => Expression::Text(quoted(characters, false)),
        '#' => {
            assert_eq!(
                characters.next(),
                Some('"'),
                "only raw strings begin with #"
            );
            Expression::Raw(quoted(characters, true))
        }
        c if is_symbol(c) => {
            let mut symbol = String::from(c);
            while let Some(c) = characters.next_if(|c| is_symbol(*c)) {
                symbol.push(c);
            }
            Expression::Symbol(symbol)
        }
        c => panic!("unexpected {c:?}"),
    }
}

fn quoted(characters: &mut Peekable<Chars<'_>>, is_raw: bool) -> String {
    let mut text = String::new();
    loop {
        match characters.next().expect("a string does not end") {
            '"' => return text,
            '\\' if !is_raw => match characters.next() {
                Some(c @ ('"' | '\\')) => text.push(c),
                other => panic!("unknown escape {other:?}"),
            },
            c => text.push(c),
        }
    }
}

fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '*')
}
