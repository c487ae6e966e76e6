//! Calls of `add_argument` in Python source.

use serde_json::Value;

use super::literal::parse_literal;
use crate::python_lexer::Token;

/// A call of `add_argument`.
#[derive(Debug)]
pub(super) struct Call<'t, 'a> {
    /// Positional arguments of the call.
    pub(super) values: Vec<&'t [Token<'a>]>,
    keywords: Vec<(&'a str, &'t [Token<'a>])>,
}

/// Finds the calls, in order. A call inside another one is part of it; an unterminated call is
/// ignored.
pub(super) fn find_calls<'t, 'a>(tokens: &'t [Token<'a>]) -> impl Iterator<Item = Call<'t, 'a>> {
    let mut rest = tokens;
    std::iter::from_fn(move || {
        let start = rest.windows(3).position(|three| {
            three
                == [
                    Token::Symbol('.'),
                    Token::Name("add_argument"),
                    Token::Symbol('('),
                ]
        })?;
        let inside = &rest[start + 3..];
        let end = closing_bracket(inside)?;
        rest = &inside[end..];
        Some(Call::parse(&inside[..end]))
    })
}

impl<'t, 'a> Call<'t, 'a> {
    fn parse(tokens: &'t [Token<'a>]) -> Self {
        let mut call = Self {
            values: Vec::new(),
            keywords: Vec::new(),
        };
        let mut depth = 0_usize;
        // Commas inside brackets belong to the value.
        let parts = tokens.split(|token| {
            match token {
                Token::Symbol('(' | '[' | '{') => depth += 1,
                Token::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *token == Token::Symbol(',')
        });
        for part in parts {
            match part {
                // `**more` contains keywords that are not constants.
                [] | [Token::Symbol('*'), Token::Symbol('*'), ..] => {}
                [Token::Name(keyword), Token::Symbol('='), rest @ ..]
                    if rest.first() != Some(&Token::Symbol('=')) =>
                {
                    call.keywords.push((keyword, rest));
                }
                part => call.values.push(part),
            }
        }
        call
    }

    fn keyword_tokens(&self, keyword: &str) -> Option<&'t [Token<'a>]> {
        self.keywords
            .iter()
            .find(|(name, _)| *name == keyword)
            .map(|(_, tokens)| *tokens)
    }

    /// Returns the value of a keyword, if it is a constant.
    pub(super) fn keyword_literal(&self, keyword: &str) -> Option<Value> {
        self.keyword_tokens(keyword).and_then(parse_literal)
    }

    /// Returns the value of a keyword, if it is a constant string.
    pub(super) fn keyword_text(&self, keyword: &str) -> Option<String> {
        match self.keyword_literal(keyword)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the last component of a keyword's value, if it is a possibly dotted name.
    pub(super) fn keyword_name(&self, keyword: &str) -> Option<&'a str> {
        let tokens = self.keyword_tokens(keyword)?;
        let is_dotted = tokens.iter().enumerate().all(|(at, token)| match token {
            Token::Name(_) => at % 2 == 0,
            token => at % 2 == 1 && *token == Token::Symbol('.'),
        });
        match tokens.last() {
            Some(Token::Name(name)) if is_dotted => Some(name),
            _ => None,
        }
    }
}

/// Returns the bracket that closes the one before these tokens.
fn closing_bracket(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| match token {
        Token::Symbol('(' | '[' | '{') => {
            depth += 1;
            false
        }
        Token::Symbol(')' | ']' | '}') => {
            let closes = depth == 0;
            depth = depth.saturating_sub(1);
            closes
        }
        _ => false,
    })
}
