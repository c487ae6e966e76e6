//! Reads messages without a length prefix.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};

/// Bytes per read.
pub(crate) const CHUNK_BYTES: usize = 16 * 1024;

/// Up to this many bytes, the input is parsed after each read.
const EAGER_BYTES: usize = 1024;

/// A parsed value and the number of bytes it took; `None` if more bytes are needed.
pub(crate) type ParseResult<T> = Result<Option<(T, usize)>, RejectReason>;

/// One side of a connection, with bytes that were read but not consumed yet.
pub(crate) struct BufferedStream<S> {
    pub(crate) stream: S,
    pub(crate) buffer: Vec<u8>,
    /// The maximum number of bytes of one message.
    max_bytes: usize,
}

impl<S: AsyncRead + Unpin> BufferedStream<S> {
    pub(crate) fn new(stream: S, max_bytes: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            max_bytes,
        }
    }

    /// Returns the first byte without consuming it.
    pub(crate) async fn peek(&mut self) -> Result<u8, CloseReason> {
        self.parse(|bytes| Ok(bytes.first().map(|first| (*first, 0))))
            .await
    }

    /// Reads until `parse` returns a value, and consumes its bytes. `parse` returns `None` if it
    /// needs more; it gets all bytes so far, up to the limit. It is called after each read, so
    /// this is for short messages, and for parsers that keep their position.
    pub(crate) async fn parse<T>(
        &mut self,
        parse: impl FnMut(&[u8]) -> ParseResult<T>,
    ) -> Result<T, CloseReason> {
        self.parse_if(|_, _| true, parse).await
    }

    /// Like [`parse`](Self::parse), for the head of an HTTP message, which may be long. To keep the
    /// work for tiny reads linear, `parse` is called after each read only at first, and later if
    /// the number of bytes has doubled, the stream or the head has ended.
    pub(crate) async fn parse_head<T>(
        &mut self,
        parse: impl FnMut(&[u8]) -> ParseResult<T>,
    ) -> Result<T, CloseReason> {
        self.parse_if(has_head_end, parse).await
    }

    /// Calls `parse` if `may_end` returns true for all bytes and their number before the last read.
    async fn parse_if<T>(
        &mut self,
        may_end: impl Fn(&[u8], usize) -> bool,
        mut parse: impl FnMut(&[u8]) -> ParseResult<T>,
    ) -> Result<T, CloseReason> {
        let mut before = 0;
        let mut tried = 0;
        let mut has_ended = false;
        loop {
            let length = self.buffer.len();
            // The limit counts bytes that were read, so a client cannot make the buffer grow.
            let is_last = has_ended || length >= self.max_bytes;
            if is_last
                || length < EAGER_BYTES
                || length >= tried * 2
                || may_end(&self.buffer, before)
            {
                if let Some((value, used)) = parse(&self.buffer)? {
                    self.buffer.drain(..used);
                    return Ok(value);
                }
                tried = length;
            }
            if is_last {
                return Err(if has_ended {
                    CloseReason::Disconnected
                } else {
                    ExceededLimit::HeadBytes.into()
                });
            }
            before = length;
            has_ended = self.read(self.max_bytes - length).await? == 0;
        }
    }

    async fn read(&mut self, room: usize) -> Result<usize, CloseReason> {
        let mut chunk = [0; 4096];
        let room = room.min(chunk.len());
        let length = self.stream.read(&mut chunk[..room]).await?;
        self.buffer.extend_from_slice(&chunk[..length]);
        Ok(length)
    }
}

/// Returns true if the head of an HTTP message ends in the bytes after the first `before`.
fn has_head_end(bytes: &[u8], before: usize) -> bool {
    bytes
        // The end can begin in the bytes of an earlier read.
        .get(before.saturating_sub(3)..)
        .is_some_and(|read| read.windows(4).any(|four| four == b"\r\n\r\n"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::request::Request;

    /// Reads a head that arrives byte by byte, and returns how often it was parsed.
    async fn slowly(head: &str) -> (Result<usize, CloseReason>, usize) {
        let (mut client, server) = duplex(1);
        let asked = Cell::new(0);
        let mut server = BufferedStream::new(server, 16 * 1024);
        let parse = |bytes: &[u8]| {
            asked.set(asked.get() + 1);
            Ok(Request::parse(bytes)?.map(|(_, length)| (length, length)))
        };
        let write = async move {
            client.write_all(head.as_bytes()).await.unwrap_or_default();
        };
        let (parsed, ()) = tokio::join!(server.parse_head(parse), write);
        (parsed, asked.get())
    }

    #[tokio::test]
    async fn bytes_that_arrive_one_by_one_are_not_parsed_each_time() {
        let head = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(9_000));
        let (parsed, asked) = slowly(&head).await;
        assert_eq!(parsed, Ok(head.len()));
        assert!(asked < EAGER_BYTES + 10, "{asked}");
    }

    #[test]
    fn the_end_of_a_head_is_found_wherever_a_read_ends() {
        let head = b"GET / HTTP/1.1\r\nA: b\r\n\r\n";
        for cut in 0..head.len() {
            assert!(
                has_head_end(head, cut) && !has_head_end(&head[..cut], 0),
                "{cut}"
            );
        }
    }

    #[tokio::test]
    async fn a_head_without_end_is_rejected_or_disconnected() {
        let line = format!("GET /{}", "x".repeat(2_000));
        assert_eq!(slowly(&line).await.0, Err(CloseReason::Disconnected));
        assert!(matches!(
            slowly(&(line + "\n")).await.0,
            Err(CloseReason::Rejected(_))
        ));
        assert_eq!(
            slowly(&"x".repeat(16 * 1024)).await.0,
            Err(ExceededLimit::HeadBytes.into())
        );
    }
}
