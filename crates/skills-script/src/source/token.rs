//! Tokens, and the brackets around them.

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

impl Token<'_> {
    pub(crate) fn is_opening_bracket(&self) -> bool {
        matches!(self, Self::Symbol('(' | '[' | '{'))
    }

    pub(crate) fn is_closing_bracket(&self) -> bool {
        matches!(self, Self::Symbol(')' | ']' | '}'))
    }
}

/// Number of brackets that are open.
#[derive(Debug, Default)]
pub(super) struct Depth(usize);

impl Depth {
    pub(super) fn is_top_level(&self) -> bool {
        self.0 == 0
    }

    pub(super) fn pass(&mut self, token: &Token<'_>) {
        if token.is_opening_bracket() {
            self.0 += 1;
        } else if token.is_closing_bracket() {
            self.0 = self.0.saturating_sub(1);
        }
    }
}

/// Returns a filter for this symbol outside of brackets, for the tokens in their order.
fn top_level_symbol<'a>(symbol: char) -> impl FnMut(&Token<'a>) -> bool {
    let mut depth = Depth::default();
    move |token| {
        depth.pass(token);
        depth.is_top_level() && *token == Token::Symbol(symbol)
    }
}

/// Returns the index of the first `=` that is not inside brackets.
pub(crate) fn top_level_equals(tokens: &[Token<'_>]) -> Option<usize> {
    tokens.iter().position(top_level_symbol('='))
}

/// Splits at commas that are not inside brackets.
pub(crate) fn split_at_commas<'t, 'a>(
    tokens: &'t [Token<'a>],
) -> impl Iterator<Item = &'t [Token<'a>]> {
    tokens.split(top_level_symbol(','))
}
