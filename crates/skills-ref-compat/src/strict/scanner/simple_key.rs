//! Keys without `?`, which only the colon after them identifies, and the indentation of blocks.

use super::Scanner;
use crate::strict::cursor::ScanResult;
use crate::strict::mark::{Mark, MarkedError};
use crate::strict::token::TokenKind;

/// Maximum length of a key before its colon, in characters.
const MAX_KEY_CHARACTERS: usize = 1024;

/// A token that may turn out to be a key.
pub(super) struct SimpleKey {
    /// The number of the token, counted from the start of the stream.
    pub(super) token: usize,
    /// Whether only a key is valid at this position.
    required: bool,
    pub(super) mark: Mark,
}

impl Scanner<'_> {
    /// Drops possible keys that no colon can complete any more: on an earlier line, or too long.
    pub(super) fn remove_stale_keys(&mut self) -> ScanResult<()> {
        let mark = self.cursor.mark;
        let is_stale = |key: &SimpleKey| {
            key.mark.line != mark.line || mark.index - key.mark.index > MAX_KEY_CHARACTERS
        };
        // A required key without a colon is an error now, even if a colon follows on a later line.
        if let Some(key) = self
            .simple_keys
            .values()
            .find(|key| key.required && is_stale(key))
        {
            return Err(missing_colon_error(key, mark));
        }
        self.simple_keys.retain(|_, key| !is_stale(key));
        Ok(())
    }

    /// Records that the next token may be a key, which shows only at the colon after it.
    pub(super) fn save_simple_key(&mut self) -> ScanResult<()> {
        // On the level of a block mapping, only a key can follow.
        let required =
            self.flow_brackets.is_empty() && self.indent == self.cursor.mark.column as isize;
        if self.allow_simple_key {
            // One possible key per level: the new one replaces an earlier one.
            self.remove_simple_key()?;
            let key = SimpleKey {
                token: self.tokens_taken + self.tokens.len(),
                required,
                mark: self.cursor.mark,
            };
            self.simple_keys.insert(self.flow_brackets.len(), key);
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> ScanResult<()> {
        match self.simple_keys.remove(&self.flow_brackets.len()) {
            Some(key) if key.required => Err(missing_colon_error(&key, self.cursor.mark)),
            _ => Ok(()),
        }
    }

    /// Ends all blocks that are indented deeper than `column`.
    pub(super) fn unwind_indent(&mut self, column: isize) {
        while self.flow_brackets.is_empty() && self.indent > column {
            self.indent = self.indents.pop().unwrap_or(-1);
            self.push_token(TokenKind::BlockEnd, self.cursor.mark, self.cursor.mark);
        }
    }

    /// Starts a block at `column` if it is deeper than the current one; returns whether it is.
    pub(super) fn add_indent(&mut self, column: usize) -> bool {
        let is_deeper = self.indent < column as isize;
        if is_deeper {
            self.indents.push(self.indent);
            self.indent = column as isize;
        }
        is_deeper
    }
}

fn missing_colon_error(key: &SimpleKey, at: Mark) -> Box<MarkedError> {
    let context = ("while scanning a simple key", key.mark);
    MarkedError::within(context, "could not find expected ':'", at)
}
