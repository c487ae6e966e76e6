//! A connection with byte counts and an idle timeout.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use skills_egress::Direction;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::abort::{AbortReason, AbortState};
use super::limits::HttpLimits;

/// A transport for HTTP.
pub(super) trait IoStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> IoStream for T {}

/// A connection below TLS, so that the transferred bytes are counted.
pub(super) struct MeteredStream<S> {
    stream: S,
    abort: AbortState,
    max_bytes: u64,
    idle_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// How many of the bytes waiting to be written are counted already.
    counted_bytes: usize,
    /// Permits another connection when this one is closed.
    _permit: OwnedSemaphorePermit,
}

impl<S> MeteredStream<S> {
    pub(super) fn new(
        stream: S,
        abort: AbortState,
        limits: &HttpLimits,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            stream,
            abort,
            max_bytes: limits.connections.bytes_per_direction,
            idle_timeout: limits.connections.idle_timeout,
            timer: None,
            counted_bytes: 0,
            _permit: permit,
        }
    }

    /// Is ready when no data was transferred for too long.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let idle_time = self.idle_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(idle_time)));
        timer
            .as_mut()
            .poll(cx)
            .map(|()| self.abort.abort_io(AbortReason::IdleTimeout))
    }

    /// Restarts the idle timeout. The timer stays: a waiting reader is woken by it, and is not
    /// polled again until then.
    fn reset_idle_timer(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(Instant::now() + self.idle_timeout);
        }
    }

    fn count_bytes(
        &self,
        direction: Direction,
        bytes: usize,
        reason: AbortReason,
    ) -> io::Result<()> {
        self.abort
            .log()
            .count_bytes(direction, bytes, self.max_bytes)
            .map_err(|_| self.abort.abort_io(reason))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let Poll::Ready(result) = Pin::new(&mut self.stream).poll_read(cx, buffer) else {
            return self.poll_idle(cx).map(Err);
        };
        self.timer = None;
        let reason = AbortReason::ReceivedLimit(self.max_bytes);
        Poll::Ready(result.and_then(|()| {
            self.count_bytes(Direction::Inbound, buffer.filled().len() - before, reason)
        }))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // The writer calls again with the bytes that were not accepted.
        let fresh = bytes.len().saturating_sub(self.counted_bytes);
        self.count_bytes(
            Direction::Outbound,
            fresh,
            AbortReason::SentLimit(self.max_bytes),
        )?;
        self.counted_bytes += fresh;
        let Poll::Ready(result) = Pin::new(&mut self.stream).poll_write(cx, bytes) else {
            return self.poll_idle(cx).map(Err);
        };
        self.reset_idle_timer();
        Poll::Ready(
            result.inspect(|written| {
                self.counted_bytes = self.counted_bytes.saturating_sub(*written)
            }),
        )
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}
