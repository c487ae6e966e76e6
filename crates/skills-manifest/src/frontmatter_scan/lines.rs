//! The lines of a file, while its frontmatter is searched.

/// The closing delimiter: its byte range, empty for an inferred end, and its line.
pub(super) struct FrontmatterEnd {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: usize,
}

/// How much of the file the scanned bytes are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum InputExtent {
    Prefix,
    WholeFile,
}

/// A line, with the white space at its end removed.
#[derive(Clone)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    pub(super) offset: usize,
    pub(super) number: usize,
    /// Whether no more bytes can become part of the line.
    pub(super) is_terminated: bool,
}

impl Line<'_> {
    pub(super) fn is_delimiter(&self) -> bool {
        self.text == b"---"
    }
}

/// An iterator over lines that end with LF, CRLF or CR.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) extent: InputExtent,
    pub(super) offset: usize,
    pub(super) number: usize,
}

impl<'a> Lines<'a> {
    /// Starts at the first line of `bytes`.
    pub(super) fn new(bytes: &'a [u8], extent: InputExtent) -> Self {
        Self {
            bytes,
            extent,
            offset: 0,
            number: 0,
        }
    }

    /// Makes `line` the next one again.
    pub(super) fn rewind(&mut self, line: &Line<'_>) {
        (self.offset, self.number) = (line.offset, line.number - 1);
    }

    /// Returns the end of frontmatter at `line`, the last one that was read.
    pub(super) fn end_at(&self, line: &Line<'_>) -> FrontmatterEnd {
        FrontmatterEnd {
            start: line.offset,
            end: self.offset,
            line: line.number,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self
            .bytes
            .get(self.offset..)
            .filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr2(b'\n', b'\r', rest);
        let ends_with_both = end.is_some_and(|end| rest[end..].starts_with(b"\r\n"));
        // The LF of a CRLF may follow after the prefix.
        let may_be_half =
            end.is_some_and(|end| rest[end..] == *b"\r") && self.extent == InputExtent::Prefix;
        let line = Line {
            text: rest[..end.unwrap_or(rest.len())].trim_ascii_end(),
            offset: self.offset,
            number: self.number + 1,
            is_terminated: (end.is_some() && !may_be_half) || self.extent == InputExtent::WholeFile,
        };
        self.offset += end.map_or(rest.len(), |end| end + 1 + usize::from(ends_with_both));
        self.number += 1;
        Some(line)
    }
}
