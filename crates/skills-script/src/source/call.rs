//! Arguments of calls, and fields of JavaScript objects.

use serde_json::Value;

use super::literal::{parse_literal, parse_text};
use super::token::{Token, split_at_commas};

/// The arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct Call<'t, 'a> {
    /// Positional arguments.
    pub(crate) values: Vec<&'t [Token<'a>]>,
    /// Arguments with names.
    pub(crate) keywords: Fields<'t, 'a>,
}

/// Values with names: the keywords of a call, or the fields of a JavaScript object.
#[derive(Debug, Default)]
pub(crate) struct Fields<'t, 'a> {
    fields: Vec<Field<'t, 'a>>,
}

type Field<'t, 'a> = (&'t str, &'t [Token<'a>]);

impl<'t, 'a> Call<'t, 'a> {
    pub(crate) fn parse(tokens: &'t [Token<'a>]) -> Self {
        let mut call = Self::default();
        for part in split_at_commas(tokens) {
            match part {
                // `**more` contains keywords that are not constants.
                [] | [Token::Symbol('*'), Token::Symbol('*'), ..] => {}
                [Token::Name(keyword), Token::Symbol('='), rest @ ..]
                    if !matches!(rest.first(), Some(Token::Symbol('=' | '>'))) =>
                {
                    call.keywords.fields.push((keyword, rest));
                }
                part => call.values.push(part),
            }
        }
        call
    }

    /// Returns a positional argument that is a constant string.
    pub(crate) fn value_text(&self, index: usize) -> Option<String> {
        parse_text(self.values.get(index)?)
    }

    /// Returns all positional arguments, if they are constant strings.
    pub(crate) fn value_texts(&self) -> Option<Vec<String>> {
        self.values.iter().map(|value| parse_text(value)).collect()
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
        Self {
            fields: split_at_commas(tokens).filter_map(parse_field).collect(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Field<'t, 'a>> {
        self.fields.iter().copied()
    }

    /// Returns the tokens of a value.
    pub(crate) fn tokens(&self, name: &str) -> Option<&'t [Token<'a>]> {
        self.iter()
            .find(|(field, _)| *field == name)
            .map(|(_, tokens)| tokens)
    }

    /// Returns a value that is a constant.
    pub(crate) fn literal(&self, name: &str) -> Option<Value> {
        self.tokens(name).and_then(parse_literal)
    }

    /// Returns a value that is a constant string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.tokens(name).and_then(parse_text)
    }

    /// Returns the last component of a value that is a possibly dotted name.
    pub(crate) fn name(&self, name: &str) -> Option<&'a str> {
        dotted_name(self.tokens(name)?)
    }

    /// Returns true if a value is the constant `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.literal(name) == Some(Value::Bool(true))
    }
}

fn parse_field<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<Field<'t, 'a>> {
    match tokens {
        [Token::Name(name), Token::Symbol(':'), value @ ..] => Some((name, value)),
        [Token::StringLiteral(name), Token::Symbol(':'), value @ ..] => Some((name, value)),
        // A shorthand for a variable of this name.
        [Token::Name(name)] => Some((name, tokens)),
        _ => None,
    }
}

/// Returns the last component, if the tokens are a possibly dotted name.
fn dotted_name<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let is_dotted = tokens.chunks(2).all(|part| {
        matches!(
            part,
            [Token::Name(_)] | [Token::Name(_), Token::Symbol('.')]
        )
    });
    match tokens.last() {
        Some(Token::Name(name)) if is_dotted => Some(name),
        _ => None,
    }
}
