//! Serving a client on a stream.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::line_transport::LineTransport;
use crate::{Connection, ServeError, Server};

/// How long running calls may take after the client disconnected or the server was stopped.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

impl Server {
    /// Serves one client, for example on standard input and output, until it closes the connection
    /// or `stop` completes.
    ///
    /// When the client closes its end, running calls have two seconds before they are cancelled,
    /// and each response may take five minutes to be read. After `stop`, everything has two seconds
    /// in total.
    ///
    /// Must be called inside a Tokio runtime with time and I/O enabled. Programs of running calls
    /// are stopped when this method has returned and the runtime is dropped.
    ///
    /// # Errors
    /// If the client does not start with a valid request. A client that disconnects is not an
    /// error.
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
                    tracing::error!(%error, "the connection failed")
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
            // Running calls are cancelled and return a result that says so.
            token.cancel();
            sleep(DRAIN_TIMEOUT).await;
        };
        let left = async {
            gone.cancelled().await;
            sleep(DRAIN_TIMEOUT).await;
            token.cancel();
            // No call takes longer unless something is wrong.
            sleep(3 * DRAIN_TIMEOUT).await;
        };
        tokio::pin!(serving, stopped);
        let (served, is_told) = tokio::select! {
            // The client may still read its responses.
            served = &mut serving => (served, flush_until(&mut writing, &mut stopped).await),
            () = &mut stopped => (Ok(()), false),
            () = left => (Ok(()), flush_until(&mut writing, sleep(DRAIN_TIMEOUT)).await),
        };
        if !is_told {
            tracing::warn!("the connection was closed before all responses were written");
            writing.abort();
        }
        served
    }

    /// Creates a connection for another transport: one for each client, or for each request if the
    /// transport has no sessions.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::for_http(self)
    }
}

/// Waits until everything is written. Returns `false` if `end` came first.
async fn flush_until(writing: &mut JoinHandle<()>, end: impl Future<Output = ()>) -> bool {
    tokio::select! {
        _ = writing => true,
        () = end => false,
    }
}
