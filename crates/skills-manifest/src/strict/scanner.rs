//! Turns characters into tokens, with the same look-ahead as strictyaml's scanner: which of two mistakes is reported depends on it.

mod directive;
mod scalar;
mod tag;

use std::collections::{BTreeMap, VecDeque};

use super::mark::{Mark, Problem};
use super::python::repr_of;
use super::token::{Kind, Token};

pub(super) type Scan<T> = Result<T, Box<Problem>>;

/// How many characters a key may have before its colon.
const MAX_KEY_CHARACTERS: usize = 1024;

/// A token that may turn out to be a key.
struct SimpleKey {
    token: usize,
    required: bool,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    text: &'a [char],
    at: Mark,
    done: bool,
    flow: Vec<char>,
    tokens: VecDeque<Token>,
    taken: usize,
    indent: isize,
    indents: Vec<isize>,
    allow_simple_key: bool,
    keys: BTreeMap<usize, SimpleKey>,
}

/// What lies between two tokens.
enum Gap {
    Nothing,
    /// A comment or empty lines, which count as a token.
    Comment(Mark, Mark),
}

impl<'a> Scanner<'a> {
    /// Starts at the first character of `text`, which ends with NUL.
    pub(super) fn new(text: &'a [char]) -> Self {
        let at = Mark::default();
        let tokens = VecDeque::from([Token::new(Kind::StreamStart, at, at)]);
        Self {
            text,
            at,
            done: false,
            flow: Vec::new(),
            tokens,
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            allow_simple_key: true,
            keys: BTreeMap::new(),
        }
    }

    /// Looks at the next token without taking it.
    pub(super) fn peek(&mut self) -> Scan<&Token> {
        self.fill()?;
        self.gather_comments()?;
        // The stream's end stays in the queue: nothing takes it.
        let end = self.at;
        if self.tokens.is_empty() {
            self.tokens.push_back(Token::new(Kind::StreamEnd, end, end));
        }
        Ok(&self.tokens[0])
    }

    /// Takes the next token and the comments that belong to it.
    pub(super) fn next(&mut self) -> Scan<Token> {
        self.peek()?;
        let is_comment = |token: Option<&Token>| token.is_some_and(|token| token.kind == Kind::Comment);
        if is_comment(self.tokens.get(1)) {
            let same_line = self.tokens[0].end.line == self.tokens[1].start.line;
            let takes = match self.tokens[0].kind {
                Kind::Scalar { .. } => true,
                Kind::Value | Kind::FlowSequenceEnd | Kind::FlowMappingEnd => same_line,
                _ => false,
            };
            while takes && is_comment(self.tokens.get(1)) {
                self.taken += 1;
                self.tokens.remove(1);
                self.fetch()?;
            }
        }
        self.taken += 1;
        let end = self.at;
        Ok(self.tokens.pop_front().unwrap_or(Token::new(Kind::StreamEnd, end, end)))
    }

    fn fill(&mut self) -> Scan<()> {
        while self.needs_more()? {
            self.fetch()?;
        }
        Ok(())
    }

    /// Drops comments before the next token, and reads one token ahead of it.
    fn gather_comments(&mut self) -> Scan<()> {
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
        if self.tokens.front().is_some_and(|token| token.kind == Kind::Comment) {
            self.tokens.pop_front();
            self.taken += 1;
        }
    }

    fn needs_more(&mut self) -> Scan<bool> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.forget_stale_keys()?;
        Ok(self.keys.values().map(|key| key.token).min() == Some(self.taken))
    }

    fn fetch(&mut self) -> Scan<()> {
        if self.done {
            return Ok(());
        }
        if let Gap::Comment(start, end) = self.skip_to_next_token() {
            self.tokens.push_back(Token::new(Kind::Comment, start, end));
            return Ok(());
        }
        self.forget_stale_keys()?;
        self.unwind_indent(self.at.column as isize);
        let c = self.char(0);
        match c {
            '\0' => self.fetch_stream_end(),
            '%' if self.at.column == 0 => self.fetch_directive(),
            '-' if self.is_document_mark("---") => self.fetch_document_mark(Kind::DocumentStart),
            '.' if self.is_document_mark("...") => self.fetch_document_mark(Kind::DocumentEnd),
            '[' | '{' => self.fetch_flow_start(c),
            ']' | '}' => self.fetch_flow_end(c),
            ',' => self.fetch_flow_entry(),
            '-' if is_end_or_space(self.char(1)) => self.fetch_block_entry(),
            '?' if !self.flow.is_empty() || is_end_or_space(self.char(1)) => self.fetch_key(),
            ':' if self.is_value() => self.fetch_value(),
            '*' | '&' => self.fetch_anchor(),
            '!' => self.fetch_tag(),
            '|' | '>' if self.flow.is_empty() => self.fetch_block_scalar(c),
            '\'' | '"' => self.fetch_quoted(c),
            _ if self.is_plain() => self.fetch_plain(),
            _ => {
                let text = format!("found character {} that cannot start any token", repr_of(c));
                let context = Some(("while scanning for the next token", None));
                Err(Box::new(Problem { context, text, mark: self.at, note: None }))
            }
        }
    }

    // Characters.

    fn char(&self, ahead: usize) -> char {
        self.text.get(self.at.index + ahead).copied().unwrap_or('\0')
    }

    fn prefix(&self, length: usize) -> &'a [char] {
        &self.text[self.at.index..(self.at.index + length).min(self.text.len())]
    }

    fn forward(&mut self, length: usize) {
        for _ in 0..length {
            let Some(&c) = self.text.get(self.at.index) else { return };
            self.at.index += 1;
            if c == '\n' || (c == '\r' && self.char(0) != '\n') {
                self.at.line += 1;
                self.at.column = 0;
            } else if c != '\u{FEFF}' {
                self.at.column += 1;
            }
        }
    }

    /// Passes a line break; returns what it counts as in a scalar.
    fn line_break(&mut self) -> Option<char> {
        match self.char(0) {
            '\r' if self.char(1) == '\n' => self.forward(2),
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
        self.at.column == 0 && self.prefix(3).iter().copied().eq(mark.chars()) && is_end_or_space(self.char(3))
    }

    fn is_value(&self) -> bool {
        let spaced = is_end_or_space(self.char(1));
        match self.flow.last() {
            None | Some('[') => spaced,
            Some(_) => spaced || self.tokens.back().is_none_or(|token| token.kind != Kind::Value),
        }
    }

    fn is_plain(&self) -> bool {
        let (c, next, block) = (self.char(0), self.char(1), self.flow.is_empty());
        if !is_end_or_space(c) && !"-?:,[]{}#&*!|>'\"%@`".contains(c) {
            return true;
        }
        match c {
            '-' => !is_end_or_space(next),
            ':' if !block => !matches!(next, ' ' | '\t'),
            ':' | '?' => block && !is_end_or_space(next),
            _ => false,
        }
    }

    // Keys and indentation.

    fn forget_stale_keys(&mut self) -> Scan<()> {
        let at = self.at;
        let is_stale = |key: &SimpleKey| key.mark.line != at.line || at.index - key.mark.index > MAX_KEY_CHARACTERS;
        if let Some(key) = self.keys.values().find(|key| key.required && is_stale(key)) {
            return Err(no_colon(key, at));
        }
        self.keys.retain(|_, key| !is_stale(key));
        Ok(())
    }

    fn save_key(&mut self) -> Scan<()> {
        let required = self.flow.is_empty() && self.indent == self.at.column as isize;
        if self.allow_simple_key {
            self.forget_key()?;
            let key = SimpleKey { token: self.taken + self.tokens.len(), required, mark: self.at };
            self.keys.insert(self.flow.len(), key);
        }
        Ok(())
    }

    fn forget_key(&mut self) -> Scan<()> {
        match self.keys.remove(&self.flow.len()) {
            Some(key) if key.required => Err(no_colon(&key, self.at)),
            _ => Ok(()),
        }
    }

    fn unwind_indent(&mut self, column: isize) {
        while self.flow.is_empty() && self.indent > column {
            self.indent = self.indents.pop().unwrap_or(-1);
            self.push(Kind::BlockEnd, self.at);
        }
    }

    fn add_indent(&mut self, column: usize) -> bool {
        let deeper = self.indent < column as isize;
        if deeper {
            self.indents.push(self.indent);
            self.indent = column as isize;
        }
        deeper
    }

    /// Adds a token from `start` to here.
    fn push(&mut self, kind: Kind, start: Mark) {
        self.tokens.push_back(Token::new(kind, start, self.at));
    }

    /// Adds a token of the next `length` characters.
    fn push_next(&mut self, kind: Kind, length: usize) {
        let start = self.at;
        self.forward(length);
        self.push(kind, start);
    }

    // One function for each kind of token.

    fn fetch_stream_end(&mut self) -> Scan<()> {
        self.unwind_indent(-1);
        self.forget_key()?;
        self.allow_simple_key = false;
        self.keys.clear();
        self.push(Kind::StreamEnd, self.at);
        self.done = true;
        Ok(())
    }

    fn fetch_document_mark(&mut self, kind: Kind) -> Scan<()> {
        self.unwind_indent(-1);
        self.forget_key()?;
        self.allow_simple_key = false;
        self.push_next(kind, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, c: char) -> Scan<()> {
        self.save_key()?;
        self.flow.push(c);
        self.allow_simple_key = true;
        self.push_next(if c == '[' { Kind::FlowSequenceStart } else { Kind::FlowMappingStart }, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, c: char) -> Scan<()> {
        self.forget_key()?;
        self.flow.pop();
        self.allow_simple_key = false;
        self.push_next(if c == ']' { Kind::FlowSequenceEnd } else { Kind::FlowMappingEnd }, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scan<()> {
        self.allow_simple_key = true;
        self.forget_key()?;
        self.push_next(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scan<()> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                return Err(Problem::new("sequence entries are not allowed here", self.at));
            }
            if self.add_indent(self.at.column) {
                self.push(Kind::BlockSequenceStart, self.at);
            }
        }
        self.allow_simple_key = true;
        self.forget_key()?;
        self.push_next(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan<()> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                return Err(Problem::new("mapping keys are not allowed here", self.at));
            }
            if self.add_indent(self.at.column) {
                self.push(Kind::BlockMappingStart, self.at);
            }
        }
        self.allow_simple_key = self.flow.is_empty();
        self.forget_key()?;
        self.push_next(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan<()> {
        if let Some(key) = self.keys.remove(&self.flow.len()) {
            let position = key.token - self.taken;
            self.tokens.insert(position, Token::new(Kind::Key, key.mark, key.mark));
            if self.flow.is_empty() && self.add_indent(key.mark.column) {
                self.tokens.insert(position, Token::new(Kind::BlockMappingStart, key.mark, key.mark));
            }
            self.allow_simple_key = false;
        } else {
            if self.flow.is_empty() {
                if !self.allow_simple_key {
                    return Err(Problem::new("mapping values are not allowed here", self.at));
                }
                if self.add_indent(self.at.column) {
                    self.push(Kind::BlockMappingStart, self.at);
                }
            }
            self.allow_simple_key = self.flow.is_empty();
            self.forget_key()?;
        }
        self.push_next(Kind::Value, 1);
        Ok(())
    }

    /// Passes spaces, comments and line breaks. Behind an empty line tabs count as spaces, which no other place allows.
    fn skip_to_next_token(&mut self) -> Gap {
        if self.at.index == 0 && self.char(0) == '\u{FEFF}' {
            self.forward(1);
        }
        loop {
            while self.char(0) == ' ' {
                self.forward(1);
            }
            let start = self.at;
            if self.char(0) == '#' {
                while !is_end(self.char(0)) {
                    self.forward(1);
                }
                while self.line_break().is_some() {}
                self.allow_simple_key |= self.flow.is_empty();
                return Gap::Comment(start, self.at);
            }
            if self.line_break().is_none() {
                return Gap::Nothing;
            }
            self.allow_simple_key |= self.flow.is_empty();
            if self.char(0) == '\n' {
                let start = self.at;
                loop {
                    if matches!(self.char(0), ' ' | '\t') {
                        self.forward(1);
                    } else if self.line_break().is_none() {
                        break;
                    }
                }
                return Gap::Comment(start, self.at);
            }
        }
    }
}

fn no_colon(key: &SimpleKey, at: Mark) -> Box<Problem> {
    Problem::within("while scanning a simple key", key.mark, "could not find expected ':'", at)
}

/// The end of a line or of the text.
fn is_end(c: char) -> bool {
    matches!(c, '\n' | '\0' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_end_or_space(c: char) -> bool {
    is_end(c) || matches!(c, ' ' | '\t')
}
