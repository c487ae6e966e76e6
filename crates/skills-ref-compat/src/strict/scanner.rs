//! Converts characters to tokens.
//!
//! It looks ahead exactly as far as the scanner of strictyaml: which of two errors is returned
//! depends on it. Names of functions follow that scanner, to make comparisons easy.

mod directive;
mod scalar;
mod simple_key;
mod tag;

use std::collections::{BTreeMap, VecDeque};

use super::mark::{Context, Mark, MarkedError};
use super::python::char_repr;
use super::token::{Token, TokenKind};
use simple_key::SimpleKey;

pub(super) type ScanResult<T> = Result<T, Box<MarkedError>>;

pub(super) struct Scanner<'a> {
    text: &'a [char],
    mark: Mark,
    done: bool,
    flow_brackets: Vec<char>,
    /// The tokens that were scanned but not taken yet.
    tokens: VecDeque<Token>,
    tokens_taken: usize,
    /// The column of the current block; -1 outside of all blocks.
    indent: isize,
    indents: Vec<isize>,
    allow_simple_key: bool,
    /// The possible keys by nesting of flow brackets.
    simple_keys: BTreeMap<usize, SimpleKey>,
}

impl<'a> Scanner<'a> {
    /// Starts at the first character of `text`, which ends with NUL.
    pub(super) fn new(text: &'a [char]) -> Self {
        let at = Mark::default();
        let tokens = VecDeque::from([Token::new(TokenKind::StreamStart, at, at)]);
        Self {
            text,
            mark: at,
            done: false,
            flow_brackets: Vec::new(),
            tokens,
            tokens_taken: 0,
            indent: -1,
            indents: Vec::new(),
            allow_simple_key: true,
            simple_keys: BTreeMap::new(),
        }
    }

    /// Returns the next token without taking it.
    pub(super) fn peek_token(&mut self) -> ScanResult<&Token> {
        self.fetch_needed()?;
        self.gather_comments()?;
        // The parser may peek again after it took the end of the stream.
        let end = self.mark;
        if self.tokens.is_empty() {
            self.tokens
                .push_back(Token::new(TokenKind::StreamEnd, end, end));
        }
        Ok(&self.tokens[0])
    }

    /// Takes the next token and the comments that belong to it.
    pub(super) fn next_token(&mut self) -> ScanResult<Token> {
        self.peek_token()?;
        // ruamel.yaml attaches comments to the token before them. Taking them along scans further
        // tokens, and thereby their errors.
        if is_comment(self.tokens.get(1)) {
            let same_line = self.tokens[0].end.line == self.tokens[1].start.line;
            let takes = match self.tokens[0].kind {
                TokenKind::Scalar { .. } => true,
                TokenKind::Value | TokenKind::Flow(']' | '}') => same_line,
                _ => false,
            };
            while takes && is_comment(self.tokens.get(1)) {
                self.tokens_taken += 1;
                self.tokens.remove(1);
                self.fetch()?;
            }
        }
        self.tokens_taken += 1;
        let end = self.mark;
        Ok(self
            .tokens
            .pop_front()
            .unwrap_or(Token::new(TokenKind::StreamEnd, end, end)))
    }

    fn fetch_needed(&mut self) -> ScanResult<()> {
        while self.needs_more()? {
            self.fetch()?;
        }
        Ok(())
    }

    /// Drops comments before the next token, and reads one token ahead of it.
    fn gather_comments(&mut self) -> ScanResult<()> {
        if self.tokens.is_empty() {
            return Ok(());
        }
        self.drop_comment();
        while self.needs_more()? {
            self.fetch()?;
            if self.tokens.is_empty() {
                return Ok(());
            }
            self.drop_comment();
        }
        if !self.done && self.tokens.len() < 2 {
            self.fetch()?;
        }
        Ok(())
    }

    fn drop_comment(&mut self) {
        if is_comment(self.tokens.front()) {
            self.tokens.pop_front();
            self.tokens_taken += 1;
        }
    }

    fn needs_more(&mut self) -> ScanResult<bool> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        // The next token may be a key as long as its colon was not scanned.
        self.remove_stale_keys()?;
        Ok(self.simple_keys.values().map(|key| key.token).min() == Some(self.tokens_taken))
    }

    fn fetch(&mut self) -> ScanResult<()> {
        if self.done {
            return Ok(());
        }
        if let Some(start) = self.skip_to_next_token() {
            self.push_token(TokenKind::Comment, start, self.mark);
            return Ok(());
        }
        self.remove_stale_keys()?;
        self.unwind_indent(self.mark.column as isize);
        // The order of the arms is that of the reference scanner.
        let c = self.peek_char(0);
        match c {
            '\0' => self.fetch_stream_end(),
            '%' if self.mark.column == 0 => self.fetch_directive(),
            '-' if self.is_document_mark("---") => {
                self.fetch_document_mark(TokenKind::DocumentStart)
            }
            '.' if self.is_document_mark("...") => self.fetch_document_mark(TokenKind::DocumentEnd),
            '[' | '{' | ']' | '}' | ',' => self.fetch_flow_indicator(c),
            '-' if is_blank_or_line_end(self.peek_char(1)) => self.fetch_block_entry(),
            '?' if !self.flow_brackets.is_empty() || is_blank_or_line_end(self.peek_char(1)) => {
                self.fetch_key()
            }
            ':' if self.is_value_indicator() => self.fetch_value(),
            '*' | '&' => self.fetch_anchor(),
            '!' => self.fetch_tag(),
            '|' | '>' if self.flow_brackets.is_empty() => self.fetch_block_scalar(c),
            '\'' | '"' => self.fetch_quoted(c),
            _ if self.is_plain_start() => self.fetch_plain(),
            _ => {
                let problem = format!(
                    "found character {} that cannot start any token",
                    char_repr(c)
                );
                self.fail(("while scanning for the next token", self.mark), problem)
            }
        }
    }

    /// Returns a character after the current position; NUL after the end of the text.
    fn peek_char(&self, ahead: usize) -> char {
        self.text
            .get(self.mark.index + ahead)
            .copied()
            .unwrap_or('\0')
    }

    fn prefix(&self, length: usize) -> &'a [char] {
        &self.text[self.mark.index..(self.mark.index + length).min(self.text.len())]
    }

    /// Skips the characters that match, and returns them.
    fn take_while(&mut self, matches: impl Fn(char) -> bool) -> String {
        let rest = &self.text[self.mark.index.min(self.text.len())..];
        let taken: String = rest.iter().copied().take_while(|c| matches(*c)).collect();
        self.forward(taken.chars().count());
        taken
    }

    fn take_hex_digits(
        &mut self,
        count: usize,
        context: Context,
        what: &str,
    ) -> ScanResult<String> {
        let digits = self.prefix(count);
        if let Some(c) = digits.iter().find(|c| !c.is_ascii_hexdigit()) {
            let problem = format!(
                "expected {what} of {count} hexdecimal numbers, but found {}",
                char_repr(*c)
            );
            return self.fail(context, problem);
        }
        self.forward(count);
        Ok(digits.iter().collect())
    }

    fn skip_spaces(&mut self) {
        while self.peek_char(0) == ' ' {
            self.forward(1);
        }
    }

    fn skip_to_line_end(&mut self) {
        while !is_line_end(self.peek_char(0)) {
            self.forward(1);
        }
    }

    fn is_at_space_or_line_end(&self) -> bool {
        let c = self.peek_char(0);
        c == ' ' || is_line_end(c)
    }

    /// Scans the end of a line, which may have a comment.
    fn scan_line_end(&mut self, context: Context) -> ScanResult<()> {
        self.skip_spaces();
        if self.peek_char(0) == '#' {
            self.skip_to_line_end();
        }
        if !is_line_end(self.peek_char(0)) {
            return self.fail_expected(context, "a comment or a line break");
        }
        self.scan_line_break();
        Ok(())
    }

    /// Returns an error at the current position.
    fn fail<T>(&self, context: Context, problem: impl Into<String>) -> ScanResult<T> {
        Err(MarkedError::within(context, problem, self.mark))
    }

    /// Returns the error that the current character is not what was expected.
    fn fail_expected<T>(&self, context: Context, expected: &str) -> ScanResult<T> {
        let found = char_repr(self.peek_char(0));
        self.fail(context, format!("expected {expected}, but found {found}"))
    }

    fn forward(&mut self, length: usize) {
        for _ in 0..length {
            let Some(&c) = self.text.get(self.mark.index) else {
                return;
            };
            self.mark.index += 1;
            // A byte order mark has no column, as in PyYAML.
            if c == '\n' || (c == '\r' && self.peek_char(0) != '\n') {
                self.mark.line += 1;
                self.mark.column = 0;
            } else if c != '\u{FEFF}' {
                self.mark.column += 1;
            }
        }
    }

    /// Skips a line break; returns the character that it is in a scalar.
    fn scan_line_break(&mut self) -> Option<char> {
        match self.peek_char(0) {
            '\r' if self.peek_char(1) == '\n' => self.forward(2),
            '\r' | '\n' | '\u{85}' => self.forward(1),
            c @ ('\u{2028}' | '\u{2029}') => {
                self.forward(1);
                return Some(c);
            }
            _ => return None,
        }
        Some('\n')
    }

    fn is_document_mark(&self, mark: &str) -> bool {
        self.mark.column == 0
            && self.prefix(3).iter().copied().eq(mark.chars())
            && is_blank_or_line_end(self.peek_char(3))
    }

    fn is_value_indicator(&self) -> bool {
        // In a flow mapping, a value may follow its colon without a space, as in JSON.
        let spaced = is_blank_or_line_end(self.peek_char(1));
        match self.flow_brackets.last() {
            None | Some('[') => spaced,
            Some(_) => {
                spaced
                    || self
                        .tokens
                        .back()
                        .is_none_or(|token| token.kind != TokenKind::Value)
            }
        }
    }

    fn is_plain_start(&self) -> bool {
        let (c, next, block) = (
            self.peek_char(0),
            self.peek_char(1),
            self.flow_brackets.is_empty(),
        );
        if !is_blank_or_line_end(c) && !"-?:,[]{}#&*!|>'\"%@`".contains(c) {
            return true;
        }
        match c {
            '-' => !is_blank_or_line_end(next),
            ':' if !block => !matches!(next, ' ' | '\t'),
            ':' | '?' => block && !is_blank_or_line_end(next),
            _ => false,
        }
    }

    fn push_token(&mut self, kind: TokenKind, start: Mark, end: Mark) {
        self.tokens.push_back(Token::new(kind, start, end));
    }

    /// Adds a token of the next `length` characters.
    fn push_indicator(&mut self, kind: TokenKind, length: usize) {
        let start = self.mark;
        self.forward(length);
        self.push_token(kind, start, self.mark);
    }

    /// Ends all blocks, so that the composer gets a complete tree.
    fn end_blocks(&mut self) -> ScanResult<()> {
        self.unwind_indent(-1);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> ScanResult<()> {
        self.end_blocks()?;
        self.simple_keys.clear();
        self.push_token(TokenKind::StreamEnd, self.mark, self.mark);
        self.done = true;
        Ok(())
    }

    fn fetch_document_mark(&mut self, kind: TokenKind) -> ScanResult<()> {
        self.end_blocks()?;
        self.push_indicator(kind, 3);
        Ok(())
    }

    fn fetch_flow_indicator(&mut self, c: char) -> ScanResult<()> {
        match c {
            '[' | '{' => {
                // The collection itself may be a key, and so may the token after the bracket.
                self.save_simple_key()?;
                self.flow_brackets.push(c);
                self.allow_simple_key = true;
            }
            ']' | '}' => {
                self.remove_simple_key()?;
                self.flow_brackets.pop();
                // Only a comma, a colon or another bracket can follow.
                self.allow_simple_key = false;
            }
            _ => {
                self.allow_simple_key = true;
                self.remove_simple_key()?;
            }
        }
        self.push_indicator(TokenKind::Flow(c), 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> ScanResult<()> {
        if self.flow_brackets.is_empty() {
            // A `-` after a value on the same line is not an entry.
            self.start_block(TokenKind::BlockSequenceStart, "sequence entries")?;
        }
        // `- key: value` starts a mapping in the entry.
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    /// Starts a block at the current position, unless it is in one of this column already.
    fn start_block(&mut self, kind: TokenKind, content: &str) -> ScanResult<()> {
        if !self.allow_simple_key {
            let problem = format!("{content} are not allowed here");
            return Err(MarkedError::new(problem, self.mark));
        }
        if self.add_indent(self.mark.column) {
            self.push_token(kind, self.mark, self.mark);
        }
        Ok(())
    }

    fn fetch_key(&mut self) -> ScanResult<()> {
        if self.flow_brackets.is_empty() {
            self.start_block(TokenKind::BlockMappingStart, "mapping keys")?;
        }
        self.allow_simple_key = self.flow_brackets.is_empty();
        self.remove_simple_key()?;
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> ScanResult<()> {
        if let Some(key) = self.simple_keys.remove(&self.flow_brackets.len()) {
            // The colon makes the earlier token a key, so its tokens are inserted before it.
            let position = key.token - self.tokens_taken;
            let token = |kind| Token::new(kind, key.mark, key.mark);
            self.tokens.insert(position, token(TokenKind::Key));
            if self.flow_brackets.is_empty() && self.add_indent(key.mark.column) {
                let start = token(TokenKind::BlockMappingStart);
                self.tokens.insert(position, start);
            }
            // The value is on the same line, so it cannot be a key: `a: b: c` is an error.
            self.allow_simple_key = false;
        } else {
            // `: value` after an explicit key (`? key`), or without a key.
            if self.flow_brackets.is_empty() {
                self.start_block(TokenKind::BlockMappingStart, "mapping values")?;
            }
            self.allow_simple_key = self.flow_brackets.is_empty();
            self.remove_simple_key()?;
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// Skips spaces, comments and line breaks.
    ///
    /// Tabs are skipped only after a blank line, as in the scanner of strictyaml. Returns the start
    /// of a comment or of blank lines, which count as a token.
    fn skip_to_next_token(&mut self) -> Option<Mark> {
        // Only at the start of the text; elsewhere, a byte order mark is a character.
        if self.mark.index == 0 && self.peek_char(0) == '\u{FEFF}' {
            self.forward(1);
        }
        loop {
            self.skip_spaces();
            let start = self.mark;
            if self.peek_char(0) == '#' {
                self.skip_to_line_end();
                while self.scan_line_break().is_some() {}
                // Outside of flow collections, a new line may start with a key.
                self.allow_simple_key |= self.flow_brackets.is_empty();
                return Some(start);
            }
            self.scan_line_break()?;
            self.allow_simple_key |= self.flow_brackets.is_empty();
            if self.peek_char(0) == '\n' {
                let start = self.mark;
                loop {
                    if matches!(self.peek_char(0), ' ' | '\t') {
                        self.forward(1);
                    } else if self.scan_line_break().is_none() {
                        break;
                    }
                }
                return Some(start);
            }
        }
    }
}

fn is_comment(token: Option<&Token>) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Comment)
}

/// Returns true if a character ends a line or the text.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\0' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank_or_line_end(c: char) -> bool {
    is_line_end(c) || matches!(c, ' ' | '\t')
}
