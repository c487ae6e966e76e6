//! Position in a source text.

/// The rest of a source text, which a lexer consumes.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            rest: source.strip_prefix('\u{FEFF}').unwrap_or(source),
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Consumes `bytes` of the source.
    pub(super) fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    pub(super) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Consumes the rest of the line, without its end.
    pub(super) fn skip_line(&mut self) {
        self.take_while(|c| c != '\n' && c != '\r');
    }
}
