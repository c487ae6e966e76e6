//! Clients of a server.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::lines::Stream;
use crate::{Connection, ServeError, Server};

/// How long calls that are under way may take once a client has gone, or the server is to stop.
const DRAIN: Duration = Duration::from_secs(2);

impl Server {
    /// Serves one client, such as the one at the other end of standard input and output, until it closes the connection or `stop` is done.
    ///
    /// When the client closes its end, calls that are under way have two seconds before they are cancelled, and the client takes all answers at its own pace, each
    /// within five minutes. Once `stop` is done everything has two seconds.
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
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = self.shared.stop.cancelled() => {}
            }
        };
        let left = async {
            gone.cancelled().await;
            sleep(DRAIN).await;
        };
        tokio::pin!(serving, stop);
        let mut until = None;
        let mut served = tokio::select! {
            served = &mut serving => Some(served),
            () = &mut stop => {
                until = Some(Instant::now() + DRAIN);
                None
            }
            () = left => None,
        };
        drop(guard);
        if served.is_none() {
            // What is under way is cancelled, and says so.
            let patience = until.unwrap_or_else(|| Instant::now() + 2 * DRAIN);
            served = timeout_at(patience, serving).await.ok();
            until = until.or_else(|| served.is_none().then_some(patience));
        }
        let given_up = async {
            // A client takes what it asked for at its own pace, until the server is to stop.
            if until.is_none() {
                stop.await;
            }
            sleep_until(until.unwrap_or_else(|| Instant::now() + DRAIN)).await;
        };
        tokio::select! {
            _ = &mut writing => {}
            () = given_up => {
                tracing::warn!("the client was not told everything: it takes nothing");
                writing.abort();
            }
        }
        served.unwrap_or(Ok(()))
    }

    /// Opens a connection for a transport of its own; one for each client, or for each request where a transport knows no clients.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::of_requests(self)
    }
}
