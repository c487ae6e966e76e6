//! A connection whose bytes are counted and whose silence is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use skills_sandbox::egress::Way;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::fuse::{Cut, Fuse};
use super::limits::HttpLimits;

/// What HTTP is spoken over.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection below TLS, so that what is counted is what goes.
pub(super) struct Metered<S> {
    stream: S,
    fuse: Fuse,
    most_bytes: u64,
    idle_time: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// How many bytes of those that wait to be written are counted already.
    counted: usize,
    /// Makes room for another connection when this one is closed.
    _permit: OwnedSemaphorePermit,
}

impl<S> Metered<S> {
    pub(super) fn new(
        stream: S,
        fuse: Fuse,
        limits: &HttpLimits,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (most_bytes, idle_time) = (limits.bytes_each_way, limits.idle_time);
        Self {
            stream,
            fuse,
            most_bytes,
            idle_time,
            timer: None,
            counted: 0,
            _permit: permit,
        }
    }

    /// Is ready when nothing has gone either way for too long.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let idle_time = self.idle_time;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(idle_time)));
        timer
            .as_mut()
            .poll(cx)
            .map(|()| self.fuse.blow_io(Cut::Idle))
    }

    /// Begins the silence anew. The timer stays: whoever waits to read is woken by it, and is not
    /// asked again until then.
    fn restart(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(Instant::now() + self.idle_time);
        }
    }

    fn spend(&self, way: Way, bytes: usize, cut: Cut) -> io::Result<()> {
        self.fuse
            .log()
            .spend(way, bytes, self.most_bytes)
            .map_err(|_| self.fuse.blow_io(cut))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
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
        let cut = Cut::Received(self.most_bytes);
        Poll::Ready(result.and_then(|()| self.spend(Way::In, buffer.filled().len() - before, cut)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Whoever writes comes back with what was not taken.
        let fresh = bytes.len().saturating_sub(self.counted);
        self.spend(Way::Out, fresh, Cut::Sent(self.most_bytes))?;
        self.counted += fresh;
        let Poll::Ready(result) = Pin::new(&mut self.stream).poll_write(cx, bytes) else {
            return self.poll_idle(cx).map(Err);
        };
        self.restart();
        Poll::Ready(result.inspect(|written| self.counted = self.counted.saturating_sub(*written)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}
