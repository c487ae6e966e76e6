//! Lines of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read: 16 MiB.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Lines of an input.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether what comes belongs to a line that is too long.
    is_passing: bool,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// More than a line may have; the rest of it is passed over.
    TooLong,
    /// Nothing more. What stands behind the last end of a line is no line.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), is_passing: false }
    }

    /// Reads the next line. When this is dropped, nothing of the line is lost.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                Ok(_) => return Line::End,
                Err(error) => {
                    tracing::debug!(%error, "the client cannot be read");
                    return Line::End;
                }
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            let is_too_long = self.line.len() + taken > MAX_LINE;
            if !self.is_passing && !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            match (self.is_passing, end.is_some()) {
                (true, true) => self.is_passing = false,
                (true, false) => {}
                (false, is_end) if is_too_long => {
                    self.is_passing = !is_end;
                    self.line = Vec::new();
                    return Line::TooLong;
                }
                (false, true) => return Line::Whole(std::mem::take(&mut self.line)),
                (false, false) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_or_not_at_all() {
        let long = [b"x".repeat(MAX_LINE + 1), b"\n".to_vec()].concat();
        let just = b"y".repeat(MAX_LINE);
        let input = [&b"a\n\nb\r\n"[..], &long, &just, b"\n", &long, b"c\nrest"].concat();
        let mut lines = Lines::new(&input[..]);
        let whole = |text: &[u8]| Line::Whole(text.to_vec());
        for expected in [whole(b"a"), whole(b""), whole(b"b\r"), Line::TooLong, whole(&just), Line::TooLong, whole(b"c"), Line::End] {
            assert!(lines.next().await == expected);
        }
    }
}
