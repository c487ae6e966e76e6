//! Converts characters to tokens.
//!
//! It looks ahead exactly as far as the scanner of strictyaml: which of two errors is returned
//! depends on it. Names of functions follow that scanner, to make comparisons easy.

mod directive;
mod scalar;
mod simple_key;
mod tag;

use std::collections::{BTreeMap, VecDeque};

use super::cursor::{Cursor, ScanResult, is_blank_or_line_end};
use super::mark::{Mark, MarkedError};
use super::python::char_repr;
use super::token::{Token, TokenKind};
use simple_key::SimpleKey;

pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
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
        Self {
            cursor: Cursor {
                text,
                mark: Mark::default(),
            },
            done: false,
            flow_brackets: Vec::new(),
            tokens: VecDeque::new(),
            tokens_taken: 0,
            indent: -1,
            indents: Vec::new(),
            allow_simple_key: true,
            simple_keys: BTreeMap::new(),
        }
    }

    /// Returns the next token without taking it.
    pub(super) fn peek_token(&mut self) -> ScanResult<&Token> {
        while self.needs_more()? {
            self.fetch()?;
        }
        self.gather_comments()?;
        // The parser may peek again after it took the end of the stream.
        let end = self.cursor.mark;
        if self.tokens.is_empty() {
            self.tokens
                .push_back(Token::new(TokenKind::StreamEnd, end, end));
        }
        Ok(&self.tokens[0])
    }

    /// Takes the next token and the comments that belong to it.
    pub(super) fn next_token(&mut self) -> ScanResult<Token> {
        let token = self.peek_token()?.clone();
        // ruamel.yaml attaches comments to the token before them. Taking them along scans further
        // tokens, and thereby their errors.
        if let Some(comment) = self.tokens.get(1) {
            let takes = match token.kind {
                TokenKind::Scalar { .. } => true,
                TokenKind::Value | TokenKind::Flow(']' | '}') => {
                    token.end.line == comment.start.line
                }
                _ => false,
            };
            while takes && is_comment(self.tokens.get(1)) {
                self.tokens_taken += 1;
                self.tokens.remove(1);
                self.fetch()?;
            }
        }
        self.tokens_taken += 1;
        self.tokens.pop_front();
        Ok(token)
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
            self.push_token(TokenKind::Comment, start, self.cursor.mark);
            return Ok(());
        }
        self.remove_stale_keys()?;
        self.unwind_indent(self.cursor.mark.column as isize);
        // The order of the arms is that of the reference scanner.
        let c = self.cursor.peek_char(0);
        match c {
            '\0' => self.fetch_stream_end(),
            '%' if self.cursor.mark.column == 0 => self.fetch_directive(),
            '.' if self.cursor.is_document_end() => self.fetch_document_end(),
            '[' | '{' | ']' | '}' | ',' => self.fetch_flow_indicator(c),
            '-' if is_blank_or_line_end(self.cursor.peek_char(1)) => self.fetch_block_entry(),
            '?' if !self.flow_brackets.is_empty()
                || is_blank_or_line_end(self.cursor.peek_char(1)) =>
            {
                self.fetch_key()
            }
            ':' if self.is_value_indicator() => self.fetch_value(),
            '*' | '&' => self.fetch_node(tag::scan_anchor),
            '!' => self.fetch_node(tag::scan_tag),
            '|' | '>' if self.flow_brackets.is_empty() => self.fetch_block_scalar(c),
            '\'' | '"' => self.fetch_node(|cursor| cursor.scan_quoted(c)),
            _ if self.is_plain_start() => self.fetch_plain(),
            _ => {
                let problem = format!(
                    "found character {} that cannot start any token",
                    char_repr(c)
                );
                self.cursor.fail(
                    ("while scanning for the next token", self.cursor.mark),
                    problem,
                )
            }
        }
    }

    fn is_value_indicator(&self) -> bool {
        // In a flow mapping, a value may follow its colon without a space, as in JSON.
        let follows_value = || {
            let last = self.tokens.back();
            last.is_some_and(|token| token.kind == TokenKind::Value)
        };
        is_blank_or_line_end(self.cursor.peek_char(1))
            || self.flow_brackets.last() == Some(&'{') && !follows_value()
    }

    fn is_plain_start(&self) -> bool {
        let block = self.flow_brackets.is_empty();
        let (c, next) = (self.cursor.peek_char(0), self.cursor.peek_char(1));
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
        let start = self.cursor.mark;
        self.cursor.forward(length);
        self.push_token(kind, start, self.cursor.mark);
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
        self.push_token(TokenKind::StreamEnd, self.cursor.mark, self.cursor.mark);
        self.done = true;
        Ok(())
    }

    fn fetch_document_end(&mut self) -> ScanResult<()> {
        self.end_blocks()?;
        self.push_indicator(TokenKind::DocumentEnd, 3);
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
            return Err(MarkedError::new(problem, self.cursor.mark));
        }
        if self.add_indent(self.cursor.mark.column) {
            self.push_token(kind, self.cursor.mark, self.cursor.mark);
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

    /// Returns the start of a token that may be a key, but that no key may follow directly.
    fn start_node(&mut self) -> ScanResult<Mark> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        Ok(self.cursor.mark)
    }

    fn fetch_node(
        &mut self,
        scan: impl FnOnce(&mut Cursor<'a>) -> ScanResult<TokenKind>,
    ) -> ScanResult<()> {
        let start = self.start_node()?;
        let kind = scan(&mut self.cursor)?;
        self.push_token(kind, start, self.cursor.mark);
        Ok(())
    }

    fn fetch_directive(&mut self) -> ScanResult<()> {
        // A directive belongs to the next document, so it ends all blocks of this one.
        self.end_blocks()?;
        let start = self.cursor.mark;
        let (directive, end) = directive::scan(&mut self.cursor)?;
        self.push_token(TokenKind::Directive(directive), start, end);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, style: char) -> ScanResult<()> {
        // The next token is on a new line, where a key may start.
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        let start = self.cursor.mark;
        let block = self.cursor.scan_block(style, self.indent)?;
        let plain = false;
        let value = block.text;
        self.push_token(TokenKind::Scalar { value, plain }, start, block.end);
        // ruamel.yaml attaches the lines after a block scalar to it as one comment.
        if block.has_lines_after {
            while self.skip_to_next_token().is_some() {}
            self.push_token(TokenKind::Comment, self.cursor.mark, self.cursor.mark);
        }
        Ok(())
    }

    fn fetch_plain(&mut self) -> ScanResult<()> {
        let start = self.start_node()?;
        let is_in_flow = !self.flow_brackets.is_empty();
        let scalar = self.cursor.scan_plain(self.indent + 1, is_in_flow)?;
        self.allow_simple_key = scalar.ends_on_new_line;
        let plain = true;
        let value = scalar.text;
        self.push_token(TokenKind::Scalar { value, plain }, start, scalar.end);
        Ok(())
    }

    /// Skips spaces, comments and line breaks.
    ///
    /// Tabs are skipped only after a blank line, as in the scanner of strictyaml. Returns the start
    /// of a comment or of blank lines, which count as a token.
    fn skip_to_next_token(&mut self) -> Option<Mark> {
        // Only at the start of the text; elsewhere, a byte order mark is a character.
        if self.cursor.mark.index == 0 && self.cursor.peek_char(0) == '\u{FEFF}' {
            self.cursor.forward(1);
        }
        loop {
            self.cursor.skip_spaces();
            let start = self.cursor.mark;
            if self.cursor.peek_char(0) == '#' {
                self.cursor.skip_to_line_end();
                while self.cursor.scan_line_break().is_some() {}
                // Outside of flow collections, a new line may start with a key.
                self.allow_simple_key |= self.flow_brackets.is_empty();
                return Some(start);
            }
            self.cursor.scan_line_break()?;
            self.allow_simple_key |= self.flow_brackets.is_empty();
            if self.cursor.peek_char(0) == '\n' {
                let start = self.cursor.mark;
                loop {
                    if matches!(self.cursor.peek_char(0), ' ' | '\t') {
                        self.cursor.forward(1);
                    } else if self.cursor.scan_line_break().is_none() {
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
