//! Tokens of source text, as far as the inference of arguments needs them.

mod call;
mod cursor;
mod javascript_lexer;
mod literal;
mod python_lexer;
mod string_escapes;
mod token;

use std::ops::Range;

pub(crate) use call::{Call, Fields};
pub(crate) use python_lexer::Lexer as PythonLexer;
pub(crate) use token::{Token, top_level_equals};

use javascript_lexer::Lexer as JavaScriptLexer;

/// Maximum size of source that is inspected, in bytes.
pub(crate) const MAX_SOURCE_BYTES: usize = 256 * 1024;

/// The tokens of a source text, with the pairs of brackets.
pub(crate) struct Tokens<'a> {
    tokens: Vec<Token<'a>>,
    /// For each opening bracket the index of the one that closes it.
    closing: Vec<Option<usize>>,
}

/// A call `.name(…)`.
pub(crate) struct MethodCall<'t, 'a> {
    pub(crate) name: &'a str,
    /// The index of the name.
    pub(crate) at: usize,
    /// The tokens between the brackets.
    pub(crate) inside: Range<usize>,
    pub(crate) call: Call<'t, 'a>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn python(source: &'a str) -> Self {
        Self::new(PythonLexer::new(source).collect())
    }

    pub(crate) fn javascript(source: &'a str) -> Self {
        Self::new(JavaScriptLexer::new(source).collect())
    }

    fn new(tokens: Vec<Token<'a>>) -> Self {
        let mut closing = vec![None; tokens.len()];
        let mut open = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            if token.is_opening_bracket() {
                open.push(index);
            } else if token.is_closing_bracket()
                && let Some(start) = open.pop()
            {
                closing[start] = Some(index);
            }
        }
        Self { tokens, closing }
    }

    pub(crate) fn all(&self) -> &[Token<'a>] {
        &self.tokens
    }

    pub(crate) fn indices(&self) -> Range<usize> {
        0..self.tokens.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Token<'a>> {
        self.tokens.get(index)
    }

    pub(crate) fn is_symbol(&self, index: usize, symbol: char) -> bool {
        self.get(index) == Some(&Token::Symbol(symbol))
    }

    pub(crate) fn is_name(&self, index: usize, name: &str) -> bool {
        matches!(self.get(index), Some(Token::Name(found)) if *found == name)
    }

    pub(crate) fn name(&self, index: usize) -> Option<&'a str> {
        match self.get(index) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn number(&self, index: usize) -> Option<usize> {
        match self.get(index) {
            Some(Token::Number(number)) => number.parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn text(&self, index: usize) -> Option<&str> {
        match self.get(index) {
            Some(Token::StringLiteral(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.has_any_name(&[name])
    }

    pub(crate) fn has_any_name(&self, names: &[&str]) -> bool {
        self.tokens
            .iter()
            .any(|token| matches!(token, Token::Name(found) if names.contains(found)))
    }

    /// Returns the indices between an opening bracket and the one that closes it.
    pub(crate) fn inside(&self, open: usize) -> Option<Range<usize>> {
        let close = (*self.closing.get(open)?)?;
        Some(open + 1..close)
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &[Token<'a>] {
        self.tokens.get(range).unwrap_or_default()
    }

    /// Returns the call `.name(…)` or `name(…)` whose name is at an index.
    pub(crate) fn call_at(&self, at: usize) -> Option<MethodCall<'_, 'a>> {
        let name = self.name(at)?;
        if !self.is_symbol(at + 1, '(') {
            return None;
        }
        let inside = self.inside(at + 1)?;
        Some(MethodCall {
            name,
            at,
            call: Call::parse(self.slice(inside.clone())),
            inside,
        })
    }

    /// Returns the call of the decorator `@owner.name(…)` at an index.
    pub(crate) fn decorator_at(&self, at: usize) -> Option<MethodCall<'_, 'a>> {
        let is_decorator = self.is_symbol(at, '@') && self.is_symbol(at + 2, '.');
        is_decorator.then(|| self.call_at(at + 3))?
    }

    /// Returns the name `owner` of the `owner.name` whose second name is at an index.
    pub(crate) fn owner(&self, at: usize) -> Option<&'a str> {
        self.name(at.checked_sub(2)?)
    }

    /// Returns the calls `.name(…)` with one of these names, in order. A call inside another one of
    /// them is part of it; an unterminated call is ignored.
    pub(crate) fn method_calls<'t>(
        &'t self,
        names: &'t [&str],
    ) -> impl Iterator<Item = MethodCall<'t, 'a>> {
        let mut next = 1;
        std::iter::from_fn(move || {
            let call = (next..self.tokens.len()).find_map(|at| self.method_call_at(at, names))?;
            next = call.inside.end + 1;
            Some(call)
        })
    }

    fn method_call_at(&self, at: usize, names: &[&str]) -> Option<MethodCall<'_, 'a>> {
        let is_method = self.is_symbol(at - 1, '.') && names.contains(&self.name(at)?);
        is_method.then(|| self.call_at(at))?
    }

    /// Returns the first index of the dotted name that ends at `at`, such as `self` in
    /// `self.parser.add_argument`.
    pub(crate) fn dotted_start(&self, mut at: usize) -> usize {
        while at >= 2 && self.is_symbol(at - 1, '.') && self.name(at - 2).is_some() {
            at -= 2;
        }
        at
    }

    /// Returns the name that an expression is assigned to, if it starts at `at`.
    pub(crate) fn assigned_name(&self, at: usize) -> Option<&'a str> {
        let equals = at.checked_sub(1)?;
        let target = equals.checked_sub(1)?;
        self.is_symbol(equals, '=').then(|| self.name(target))?
    }
}
