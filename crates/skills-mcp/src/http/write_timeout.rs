//! A TCP stream with a write timeout.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, join};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::sleep;
use tokio_io_timeout::TimeoutWriter;

/// Returns a stream that fails if a write makes no progress for too long, and a watch on its
/// client.
///
/// hyper has no write timeout, so that clients that do not read would hold their connections
/// forever.
pub(super) fn with_write_timeout(
    stream: TcpStream,
    timeout: Duration,
) -> (impl AsyncRead + AsyncWrite + Unpin, DisconnectWatch) {
    let (reader, writer) = stream.into_split();
    let reader = Arc::new(reader);
    let mut writer = TimeoutWriter::new(writer);
    writer.set_timeout(Some(timeout));
    let stream = join(SharedReader(Arc::clone(&reader)), writer);
    (Box::pin(stream), DisconnectWatch(reader))
}

/// The read half, shared with the disconnect watch.
#[derive(Debug)]
struct SharedReader(Arc<OwnedReadHalf>);

impl AsyncRead for SharedReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.0.as_ref().as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            // There is no exclusive reference to poll.
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

/// Detects that a client has disconnected.
#[derive(Debug)]
pub(super) struct DisconnectWatch(Arc<OwnedReadHalf>);

impl DisconnectWatch {
    /// Waits until the client has closed its side.
    ///
    /// hyper does not detect this while it handles one request and has started to read the next
    /// one.
    pub(super) async fn disconnected(&self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await {
            // Wait a little even after the end: clients that only closed their sending side still
            // get responses that are ready soon.
            sleep(POLL_INTERVAL).await;
            if ready.is_read_closed() {
                break;
            }
        }
    }

    /// Discards unsent data when the stream is closed. Otherwise the kernel would keep megabytes
    /// for a client that does not read, for minutes.
    pub(super) fn discard_unsent(&self) {
        _ = self.0.as_ref().as_ref().set_zero_linger();
    }
}

/// Interval for checking a connection with unread data.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
