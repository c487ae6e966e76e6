//! Reading what has no length written in front of it.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::close_reason::{CloseReason, ExceededLimit, RejectReason};

/// How much is read at once.
pub(super) const CHUNK_BYTES: usize = 16 * 1024;

/// Up to so many bytes, what is there is looked at after each read.
const EAGER_BYTES: usize = 1024;

/// What was made of the beginning of some bytes, with the number of these; nothing when more bytes
/// are needed.
pub(super) type ParseResult<T> = Result<Option<(T, usize)>, RejectReason>;

/// A side of a connection, with what was read of it and not used yet.
pub(super) struct BufferedStream<S> {
    pub(super) stream: S,
    pub(super) buffer: Vec<u8>,
}

impl<S: AsyncRead + Unpin> BufferedStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Reads until `parse` makes something of the beginning, and takes as many bytes as it says.
    /// `parse` returns nothing when it needs more; it has no more than about `most_bytes` to make
    /// something of. It is asked after each read, so it is for what is short.
    pub(super) async fn parse<T>(
        &mut self,
        most_bytes: usize,
        parse: impl Fn(&[u8]) -> ParseResult<T>,
    ) -> Result<T, CloseReason> {
        self.parse_incrementally(most_bytes, |_, _| true, parse)
            .await
    }

    /// The same for what may be long: so that nobody makes much work of few bytes at a time,
    /// `parse` is asked after each read only at first, and then when there are twice as many bytes,
    /// no more will come, or `may_end` says so. That gets all bytes, and how many there were before
    /// the read; it must not overlook an end.
    pub(super) async fn parse_incrementally<T>(
        &mut self,
        most_bytes: usize,
        may_end: impl Fn(&[u8], usize) -> bool,
        parse: impl Fn(&[u8]) -> ParseResult<T>,
    ) -> Result<T, CloseReason> {
        let (mut before, mut tried, mut has_ended) = (0, 0, false);
        loop {
            let length = self.buffer.len();
            let is_last = has_ended || length >= most_bytes;
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
            has_ended = self.read(most_bytes - length).await? == 0;
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::egress::http_head::{Head, may_be_complete};

    /// Reads a head that comes byte by byte, and says how often it was looked at.
    async fn slowly(head: &str) -> (Result<usize, CloseReason>, usize) {
        let (mut client, server) = duplex(1);
        let asked = Cell::new(0);
        let mut server = BufferedStream::new(server);
        let parse = |bytes: &[u8]| {
            asked.set(asked.get() + 1);
            Ok(Head::parse(bytes)?.map(|(_, length)| (length, length)))
        };
        let write = async move {
            client.write_all(head.as_bytes()).await.unwrap_or_default();
        };
        let (parsed, ()) = tokio::join!(
            server.parse_incrementally(16 * 1024, may_be_complete, parse),
            write
        );
        (parsed, asked.get())
    }

    #[tokio::test]
    async fn bytes_that_come_one_by_one_are_not_looked_at_each_time() {
        let head = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1_500));
        let (parsed, asked) = slowly(&head).await;
        assert_eq!(parsed, Ok(head.len()));
        assert!(asked < EAGER_BYTES + 10, "{asked}");
    }

    #[tokio::test]
    async fn what_never_ends_is_refused_or_gone() {
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
