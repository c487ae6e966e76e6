//! Reading of lines with a maximum length.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, Decoder};

/// Maximum length of a line: 16 MiB.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// Free space in the buffer for each read.
const READ_BYTES: usize = 8 << 10;

/// Reads lines from an input.
pub(super) struct LineReader<R> {
    input: R,
    buffer: BytesMut,
    codec: AnyDelimiterCodec,
}

/// The next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its terminator.
    Complete(Bytes),
    /// A line that exceeds the limit; the rest of it is skipped.
    TooLong,
    /// The end of the input. An unterminated last line is ignored.
    Eof,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self::with_limit(input, MAX_LINE_BYTES)
    }

    /// Creates a reader for lines of at most `max_bytes`, without terminator.
    fn with_limit(input: R, max_bytes: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            codec: AnyDelimiterCodec::new_with_max_length(vec![b'\n'], vec![b'\n'], max_bytes),
        }
    }

    /// Reads the next line. Cancel safe: a partial line is kept.
    pub(super) async fn next_line(&mut self) -> Line {
        loop {
            match self.codec.decode(&mut self.buffer) {
                Ok(Some(line)) => return Line::Complete(line),
                Ok(None) => {}
                Err(_) => return Line::TooLong,
            }
            if self.buffer.is_empty() {
                // A long line would otherwise keep up to 32 MiB allocated.
                self.buffer = BytesMut::new();
            }
            self.buffer.reserve(READ_BYTES);
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) => return Line::Eof,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "cannot read from the client");
                    return Line::Eof;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// The limit of the property tests, in bytes.
    const SHORT: usize = 12;

    /// An input that arrives in pieces, and is not ready before each of them.
    struct Pieces {
        pieces: VecDeque<Vec<u8>>,
        is_ready: bool,
    }

    impl Pieces {
        fn new(text: &[u8], cuts: &[usize]) -> Self {
            let (mut pieces, mut rest) = (VecDeque::new(), text);
            for cut in cuts {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push_back(piece.to_vec());
                rest = after;
            }
            pieces.push_back(rest.to_vec());
            pieces.retain(|piece| !piece.is_empty());
            Self {
                pieces,
                is_ready: false,
            }
        }
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.is_ready = !self.is_ready;
            if self.is_ready {
                return Poll::Pending;
            }
            if let Some(piece) = self.pieces.pop_front() {
                let (now, later) = piece.split_at(piece.len().min(buffer.remaining()));
                buffer.put_slice(now);
                if !later.is_empty() {
                    self.pieces.push_front(later.to_vec());
                }
            }
            Poll::Ready(Ok(()))
        }
    }

    /// Reads all lines; the future is dropped and created again whenever the input is not ready.
    fn all(mut lines: LineReader<Pieces>) -> Vec<Line> {
        let mut context = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        while all.last() != Some(&Line::Eof) {
            assert!(
                lines.buffer.capacity() <= 4 * READ_BYTES,
                "{} bytes are kept of a line",
                lines.buffer.capacity()
            );
            let future = std::pin::pin!(lines.next_line());
            if let Poll::Ready(line) = future.poll(&mut context) {
                all.push(line);
            }
        }
        all
    }

    /// Returns the expected lines, computed from the whole text.
    fn expected(text: &[u8]) -> Vec<Line> {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let rest = lines.pop().unwrap_or_default();
        let line = |line: &[u8]| {
            if line.len() > SHORT {
                Line::TooLong
            } else {
                Line::Complete(Bytes::copy_from_slice(line))
            }
        };
        let unended = (rest.len() > SHORT).then_some(Line::TooLong);
        lines
            .into_iter()
            .map(line)
            .chain(unended)
            .chain([Line::Eof])
            .collect()
    }

    proptest! {
        /// However the input is split, and whenever reading is interrupted, the lines are the same,
        /// and no more than the limit is stored.
        #[test]
        fn lines_do_not_depend_on_the_split_of_the_input(
            text in proptest::collection::vec(prop_oneof![3 => Just(b'x'), 1 => Just(b'\n'), 1 => any::<u8>()], 0..120),
            cuts in proptest::collection::vec(0usize..30, 0..20),
        ) {
            prop_assert_eq!(all(LineReader::with_limit(Pieces::new(&text, &cuts), SHORT)), expected(&text));
        }
    }

    #[tokio::test]
    async fn lines_are_complete_or_omitted() {
        let long = [b"x".repeat(MAX_LINE_BYTES + 1), b"\n".to_vec()].concat();
        let just = b"y".repeat(MAX_LINE_BYTES);
        let input = [&b"a\n\nb\r\n"[..], &long, &just, b"\n", &long, b"c\nrest"].concat();
        let mut lines = LineReader::new(&input[..]);
        let whole = |text: &[u8]| Line::Complete(Bytes::copy_from_slice(text));
        for expected in [
            whole(b"a"),
            whole(b""),
            whole(b"b\r"),
            Line::TooLong,
            whole(&just),
            Line::TooLong,
            whole(b"c"),
            Line::Eof,
        ] {
            assert!(lines.next_line().await == expected);
        }
    }
}
