//! Clients of a server.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::line_transport::LineTransport;
use crate::{Connection, ServeError, Server};

/// How long calls that are under way may take once a client has gone, or the server is to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

impl Server {
    /// Serves one client, such as the one at the other end of standard input and output, until it
    /// closes the connection or `stop` is done.
    ///
    /// When the client closes its end, calls that are under way have two seconds before they are
    /// cancelled, and the client takes all answers at its own pace, each within five minutes. Once
    /// `stop` is done everything has two seconds.
    ///
    /// Must be called inside a Tokio runtime with time and I/O enabled. What calls started is ended
    /// when this returns and the runtime is dropped.
    ///
    /// # Errors
    /// When the client begins with something that the protocol does not know. A client that goes is
    /// no error.
    pub async fn serve<R, W>(
        &self,
        input: R,
        output: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let token = self.inner.stop.child_token();
        let _guard = token.clone().drop_guard();
        let connection = Connection::for_stream(self);
        let gone = connection.disconnected();
        let (stream, service, mut writing) =
            LineTransport::start(connection, input, output, gone.clone());
        let serving = async {
            let running = match service.serve_with_ct(stream, token.clone()).await {
                Ok(running) => running,
                Err(
                    ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled,
                ) => return Ok(()),
                Err(error) => return Err(ServeError::new(error)),
            };
            match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => {
                    tracing::error!(%error, "the connection ended unexpectedly")
                }
                Ok(_) => tracing::debug!("the client closed the connection"),
            }
            Ok(())
        };
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = self.inner.stop.cancelled() => {}
            }
        };
        let stopped = async {
            stop.await;
            // What is under way is cancelled, and says so.
            token.cancel();
            sleep(DRAIN_TIMEOUT).await;
        };
        let left = async {
            gone.cancelled().await;
            sleep(DRAIN_TIMEOUT).await;
            token.cancel();
            // No call takes longer, unless something is wrong.
            sleep(3 * DRAIN_TIMEOUT).await;
        };
        tokio::pin!(serving, stopped);
        let (served, is_told) = tokio::select! {
            // The client takes what it asked for at its own pace.
            served = &mut serving => (served, flush_until(&mut writing, &mut stopped).await),
            () = &mut stopped => (Ok(()), false),
            () = left => (Ok(()), flush_until(&mut writing, sleep(DRAIN_TIMEOUT)).await),
        };
        if !is_told {
            tracing::warn!("the connection ended before the client had taken everything");
            writing.abort();
        }
        served
    }

    /// Opens a connection for a transport of its own; one for each client, or for each request
    /// where a transport knows no clients.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::for_http(self)
    }
}

/// Waits until all is written, or says that the end came first.
async fn flush_until(writing: &mut JoinHandle<()>, end: impl Future<Output = ()>) -> bool {
    tokio::select! {
        _ = writing => true,
        () = end => false,
    }
}
