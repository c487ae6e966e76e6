//! Arguments of calls, and fields of JavaScript objects.

use serde_json::Value;

use super::literal::parse_literal;
use super::python_lexer::Token;

/// The arguments of a call.
#[derive(Debug)]
pub(crate) struct Call<'t, 'a> {
    /// Positional arguments.
    pub(crate) values: Vec<&'t [Token<'a>]>,
    keywords: Vec<(&'a str, &'t [Token<'a>])>,
}

/// The fields of a JavaScript object, `{name: value, …}`.
#[derive(Debug, Default)]
pub(crate) struct Fields<'t, 'a> {
    fields: Vec<(&'t str, &'t [Token<'a>])>,
}

impl<'t, 'a> Call<'t, 'a> {
    pub(crate) fn parse(tokens: &'t [Token<'a>]) -> Self {
        let mut call = Self {
            values: Vec::new(),
            keywords: Vec::new(),
        };
        for part in split_at_commas(tokens) {
            match part {
                // `**more` contains keywords that are not constants.
                [] | [Token::Symbol('*'), Token::Symbol('*'), ..] => {}
                [Token::Name(keyword), Token::Symbol('='), rest @ ..]
                    if !matches!(rest.first(), Some(Token::Symbol('=' | '>'))) =>
                {
                    call.keywords.push((keyword, rest));
                }
                part => call.values.push(part),
            }
        }
        call
    }

    /// Returns the tokens of a keyword's value.
    pub(crate) fn keyword_tokens(&self, keyword: &str) -> Option<&'t [Token<'a>]> {
        self.keywords
            .iter()
            .find(|(name, _)| *name == keyword)
            .map(|(_, tokens)| *tokens)
    }

    /// Returns the value of a keyword, if it is a constant.
    pub(crate) fn keyword_literal(&self, keyword: &str) -> Option<Value> {
        self.keyword_tokens(keyword).and_then(parse_literal)
    }

    /// Returns the value of a keyword, if it is a constant string.
    pub(crate) fn keyword_text(&self, keyword: &str) -> Option<String> {
        match self.keyword_literal(keyword)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the last component of a keyword's value, if it is a possibly dotted name.
    pub(crate) fn keyword_name(&self, keyword: &str) -> Option<&'a str> {
        dotted_name(self.keyword_tokens(keyword)?)
    }

    /// Returns a positional argument that is a constant string.
    pub(crate) fn value_text(&self, index: usize) -> Option<String> {
        match parse_literal(self.values.get(index)?)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl<'t, 'a> Fields<'t, 'a> {
    /// Parses the tokens of an object, with its braces. Any other expression has no fields.
    pub(crate) fn of_object(tokens: &'t [Token<'a>]) -> Self {
        match tokens {
            [Token::Symbol('{'), inside @ .., Token::Symbol('}')] => Self::parse(inside),
            _ => Self::default(),
        }
    }

    /// Parses the tokens between the braces of an object. Fields without a constant name are
    /// omitted.
    pub(crate) fn parse(tokens: &'t [Token<'a>]) -> Self {
        let mut fields = Vec::new();
        for part in split_at_commas(tokens) {
            match part {
                [Token::Name(name), Token::Symbol(':'), value @ ..] => fields.push((*name, value)),
                [Token::StringLiteral(name), Token::Symbol(':'), value @ ..] => {
                    fields.push((name.as_str(), value))
                }
                // A shorthand for a variable of this name.
                [name @ Token::Name(field)] => fields.push((*field, std::slice::from_ref(name))),
                _ => {}
            }
        }
        Self { fields }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'t str, &'t [Token<'a>])> {
        self.fields.iter().copied()
    }

    /// Returns the tokens of a field's value.
    pub(crate) fn tokens(&self, name: &str) -> Option<&'t [Token<'a>]> {
        self.fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, tokens)| *tokens)
    }

    /// Returns the value of a field, if it is a constant.
    pub(crate) fn literal(&self, name: &str) -> Option<Value> {
        self.tokens(name).and_then(parse_literal)
    }

    /// Returns the value of a field, if it is a constant string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.literal(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns true if a field is the constant `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.literal(name) == Some(Value::Bool(true))
    }
}

/// Splits at commas that are not inside brackets.
pub(crate) fn split_at_commas<'t, 'a>(
    tokens: &'t [Token<'a>],
) -> impl Iterator<Item = &'t [Token<'a>]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == Token::Symbol(',')
    })
}

/// Returns the last component, if the tokens are a possibly dotted name.
fn dotted_name<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let is_dotted = tokens.iter().enumerate().all(|(at, token)| match token {
        Token::Name(_) => at % 2 == 0,
        token => at % 2 == 1 && *token == Token::Symbol('.'),
    });
    match tokens.last() {
        Some(Token::Name(name)) if is_dotted => Some(name),
        _ => None,
    }
}
