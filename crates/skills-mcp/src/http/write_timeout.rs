//! The socket of a connection, which its client may neglect.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Sleep, sleep};

/// A socket that fails once its client has not taken anything for too long.
///
/// What waits to be written has no limit of time in the library that speaks HTTP, so such clients
/// would keep their connections for good.
#[derive(Debug)]
pub(super) struct WriteTimeoutStream {
    reader: Arc<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    timeout: Duration,
    /// Runs while a write waits.
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

    /// Returns what tells when the client has gone.
    pub(super) fn disconnect_watch(&self) -> DisconnectWatch {
        DisconnectWatch(self.reader.clone())
    }

    fn with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let timeout = self.timeout;
        let late = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(late.as_mut().poll(context));
        // Else the system would keep what nobody takes for minutes more, and that is megabytes.
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

/// Looks after the client of a connection.
#[derive(Debug)]
pub(super) struct DisconnectWatch(Arc<OwnedReadHalf>);

impl DisconnectWatch {
    /// Waits until the client has closed its side.
    ///
    /// The library does not look for that while it answers one request and has begun to read the
    /// next.
    pub(super) async fn disconnected(self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await {
            // Also after the end: what can be answered at once is answered to those who said all
            // that they had to say.
            sleep(POLL_INTERVAL).await;
            if ready.is_read_closed() {
                break;
            }
        }
    }
}

/// How often a connection is looked at that has more to read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
