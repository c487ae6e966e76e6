//! Flow collections: `[a, "b"]` and `{"a": {"b": 1}}`, on one or several lines.

use super::event::{EventSink, MAX_DEPTH, NestedKind, is_plain_key};
use super::lines::{Lines, indent_of, trim_end_spaces, trim_spaces};
use super::quoted;
use super::scalar::parse_plain;

/// Maximum number of values of a flow collection; the library limits the size of all values.
const MAX_VALUES: usize = 2_000;

/// Parses the flow collection that starts `value`.
pub(super) fn parse<'a>(
    lines: &mut Lines<'a>,
    value: &'a str,
    parent_indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let mut parser = FlowParser {
        rest: lines.text_from(value),
        parent_indent,
        values: 0,
        depth,
        sink,
    };
    parser.parse_value()?;
    let after = lines.continue_after(parser.rest);
    let trimmed = trim_spaces(after);
    let is_comment = trimmed.starts_with('#') && after.starts_with(' ');
    (trimmed.is_empty() || is_comment).then_some(())
}

struct FlowParser<'a, 's, S> {
    rest: &'a str,
    parent_indent: usize,
    values: usize,
    depth: usize,
    sink: &'s mut S,
}

impl<'a, S: EventSink<'a>> FlowParser<'a, '_, S> {
    fn parse_value(&mut self) -> Option<()> {
        self.values += 1;
        if self.values > MAX_VALUES || self.depth >= MAX_DEPTH {
            return None;
        }
        match self.rest.as_bytes().first()? {
            b'[' => self.parse_collection(NestedKind::List, ']'),
            b'{' => self.parse_collection(NestedKind::Mapping, '}'),
            quote @ (b'"' | b'\'') => {
                let text = self.take_quoted(*quote)?;
                quoted::emit_line(text, *quote, self.sink)
            }
            _ => {
                let text = self.take_plain()?;
                self.sink.scalar(parse_plain(text)?)
            }
        }
    }

    fn parse_collection(&mut self, kind: NestedKind, closing: char) -> Option<()> {
        self.rest = &self.rest[1..];
        self.depth += 1;
        self.sink.begin_nested(kind)?;
        loop {
            self.skip_space()?;
            if self.take(closing) {
                self.depth -= 1;
                return self.sink.end_nested();
            }
            if kind == NestedKind::Mapping {
                let key = self.take_key()?;
                self.sink.key(key)?;
                self.skip_space()?;
            }
            self.parse_value()?;
            self.skip_space()?;
            if !self.take(',') && !self.rest.starts_with(closing) {
                return None;
            }
        }
    }

    /// Takes a key and its colon, which must be on the same line.
    fn take_key(&mut self) -> Option<&'a str> {
        match self.rest.as_bytes().first()? {
            quote @ (b'"' | b'\'') => {
                let key = self.take_quoted(*quote)?;
                // An escape would make the key another text. `<<` is a merge key also in quotes for
                // some parsers.
                if key.len() > super::event::MAX_KEY_BYTES
                    || key.contains(['\\', '\'', '"'])
                    || key == "<<"
                {
                    return None;
                }
                self.rest = &self.rest[indent_of(self.rest)..];
                self.rest = self.rest.strip_prefix(':')?;
                Some(key)
            }
            _ => {
                let end = memchr::memchr(b':', self.rest.as_bytes())?;
                let key = &self.rest[..end];
                if !is_plain_key(key) {
                    return None;
                }
                self.rest = &self.rest[end + 1..];
                // `a:b` is a text.
                self.rest.starts_with([' ', '\n']).then_some(key)
            }
        }
    }

    /// Takes a text in quotes on one line, without its quotes.
    fn take_quoted(&mut self, quote: u8) -> Option<&'a str> {
        let inner = self.rest.get(1..)?;
        let line_end = memchr::memchr(b'\n', inner.as_bytes()).unwrap_or(inner.len());
        let end = quoted::find_end(&inner[..line_end], quote)??;
        self.rest = inner.get(end + 1..)?;
        Some(&inner[..end])
    }

    /// Takes an unquoted text up to the next delimiter on the line.
    fn take_plain(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find([',', ']', '}', '\n', '[', '{', '"', '\'', '#', '?'])
            .unwrap_or(self.rest.len());
        let text = trim_end_spaces(&self.rest[..end]);
        // A colon before a delimiter ends a key in a collection.
        if text.ends_with(':') {
            return None;
        }
        self.rest = &self.rest[end..];
        Some(text)
    }

    fn take(&mut self, delimiter: char) -> bool {
        let after = self.rest.strip_prefix(delimiter);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Skips spaces and line ends. `None` if a line is indented too little to be part of the value.
    fn skip_space(&mut self) -> Option<()> {
        loop {
            self.rest = &self.rest[indent_of(self.rest)..];
            let Some(next) = self.rest.strip_prefix('\n') else {
                return Some(());
            };
            let indent = indent_of(next);
            self.rest = &next[indent..];
            // Many authors put the closing bracket below the key.
            let is_deep_enough =
                indent > self.parent_indent || self.rest.starts_with(['\n', ']', '}']);
            if !is_deep_enough {
                return None;
            }
        }
    }
}
