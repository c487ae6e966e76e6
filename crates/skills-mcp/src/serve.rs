//! Clients of a server.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::lines::Stream;
use crate::{Connection, ServeError, Server};

/// How long calls that are under way may take once a client has gone, or the server is to stop.
const DRAIN: Duration = Duration::from_secs(2);

impl Server {
    /// Serves one client, such as the one at the other end of standard input and output, until it closes the connection or `stop` is done.
    ///
    /// Must be called inside a Tokio runtime with time and I/O enabled. What calls started is ended when this returns and the runtime is dropped.
    ///
    /// # Errors
    /// When the client begins with something that the protocol does not know. A client that goes is no error.
    pub async fn serve<R, W>(&self, input: R, output: W, stop: impl Future<Output = ()>) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let token = self.shared.stop.child_token();
        let guard = token.clone().drop_guard();
        let connection = Connection::of_stream(self);
        let gone = connection.gone();
        let (stream, service, mut writing) = Stream::open(connection, input, output, gone.clone());
        let serving = async {
            let running = match service.serve_with_ct(stream, token.clone()).await {
                Ok(running) => running,
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
                Err(error) => return Err(ServeError::new(error)),
            };
            match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => tracing::error!(%error, "the connection ended unexpectedly"),
                Ok(_) => tracing::debug!("the client closed the connection"),
            }
            Ok(())
        };
        tokio::pin!(serving);
        let left = async {
            gone.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            served = &mut serving => {
                finish(&mut writing, Instant::now() + DRAIN).await;
                return served;
            }
            () = stop => drop(guard),
            () = left => drop(guard),
        }
        // What is under way is cancelled, and says so.
        let until = Instant::now() + DRAIN;
        let served = timeout_at(until, serving).await.unwrap_or(Ok(()));
        finish(&mut writing, until).await;
        served
    }

    /// Opens a connection for a transport of its own; one for each client, or for each request where a transport knows no clients.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::of_requests(self)
    }
}

/// Waits until all is written, but not for ever.
async fn finish(writing: &mut JoinHandle<()>, until: Instant) {
    if timeout_at(until, &mut *writing).await.is_err() {
        writing.abort();
    }
}
