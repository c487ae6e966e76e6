//! A TCP stream with a write timeout.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Sleep, sleep};

/// A TCP stream that fails if a write makes no progress for too long.
///
/// hyper has no write timeout, so that clients that do not read would hold their connections
/// forever.
#[derive(Debug)]
pub(super) struct WriteTimeoutStream {
    reader: Arc<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    timeout: Duration,
    /// Active while a write is pending.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeoutStream {
    pub(super) fn new(stream: TcpStream, timeout: Duration) -> Self {
        let (reading, writing) = stream.into_split();
        Self {
            reader: Arc::new(reading),
            writer: writing,
            timeout,
            deadline: None,
        }
    }

    /// Returns a future that completes when the client disconnects.
    pub(super) fn disconnect_watch(&self) -> DisconnectWatch {
        DisconnectWatch(self.reader.clone())
    }

    fn with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            // Any progress resets the timeout, since slow clients are fine.
            self.deadline = None;
            return written;
        }
        let timeout = self.timeout;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(deadline.as_mut().poll(context));
        // Otherwise the kernel would keep megabytes of unread data for minutes.
        _ = self.reader.as_ref().as_ref().set_zero_linger();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.reader.as_ref().as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            // The read half is shared with the disconnect watch, so there is no exclusive reference
            // to poll.
            match stream.try_read(buffer.initialize_unfilled()) {
                Ok(bytes) => {
                    buffer.advance(bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(context, bytes);
        self.with_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write_vectored(context, parts);
        self.with_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.writer.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

/// Detects that a client has disconnected.
#[derive(Debug)]
pub(super) struct DisconnectWatch(Arc<OwnedReadHalf>);

impl DisconnectWatch {
    /// Waits until the client has closed its side.
    ///
    /// hyper does not detect this while it handles one request and has started to read the next
    /// one.
    pub(super) async fn disconnected(self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await {
            // Wait a little even after the end: clients that only closed their sending side still
            // get responses that are ready soon.
            sleep(POLL_INTERVAL).await;
            if ready.is_read_closed() {
                break;
            }
        }
    }
}

/// Interval for checking a connection with unread data.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
