//! The lines of a text while it is parsed.

#[inline]
pub(super) fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b' ').count()
}

#[inline]
pub(super) fn trim_spaces(text: &str) -> &str {
    trim_end_spaces(&text[indent_of(text)..])
}

#[inline]
pub(super) fn trim_end_spaces(text: &str) -> &str {
    let end = text
        .bytes()
        .rposition(|b| b != b' ')
        .map_or(0, |last| last + 1);
    &text[..end]
}

/// The text that is left, from the start of a line.
pub(super) struct Lines<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        Some(&self.rest[..end])
    }

    /// Returns the next line that is neither blank nor a comment; skips those before it.
    pub(super) fn peek_content(&mut self) -> Option<&'a str> {
        loop {
            let line = self.peek()?;
            match line.as_bytes().get(indent_of(line)) {
                None | Some(b'#') => self.advance_past(line),
                Some(_) => return Some(line),
            }
        }
    }

    /// Returns the next line that continues a scalar, with the number of blank lines before it, and
    /// skips these.
    ///
    /// `None` if the next line with text is a comment or indented by `parent_indent` or less; then
    /// no line is skipped.
    pub(super) fn continuation(&mut self, parent_indent: usize) -> Option<(&'a str, usize)> {
        let before = self.rest;
        let mut blank_lines = 0;
        while let Some(line) = self.peek() {
            let indent = indent_of(line);
            match line.as_bytes().get(indent) {
                None => {
                    self.advance_past(line);
                    blank_lines += 1;
                }
                Some(b'#') => break,
                Some(_) if indent <= parent_indent => break,
                Some(_) => return Some((line, blank_lines)),
            }
        }
        self.rest = before;
        None
    }

    /// Skips the line that [`peek`](Self::peek) returned.
    pub(super) fn advance_past(&mut self, line: &str) {
        self.rest = self.rest.get(line.len() + 1..).unwrap_or_default();
    }

    /// Returns the text from the start of `part`, a part of a line, to the end.
    pub(super) fn text_from(&self, part: &str) -> &'a str {
        let offset = part.as_ptr().addr() - self.text.as_ptr().addr();
        self.text.get(offset..).unwrap_or_default()
    }

    /// Continues at the line after the start of `rest`, the end of the text, and returns what is
    /// before it on its line.
    pub(super) fn continue_after(&mut self, rest: &'a str) -> &'a str {
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.rest = rest.get(end + 1..).unwrap_or_default();
        &rest[..end]
    }
}
