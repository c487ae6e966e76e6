//! Serving a client on a stream.

use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::Transport;
use rmcp::{RoleServer, Service, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

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
    /// Fails if the client does not start with a valid request. A client that disconnects is not an
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
        let disconnected = connection.disconnected();
        let (stream, service, mut writer_task) = LineTransport::start(
            connection,
            input,
            output,
            token.clone(),
            disconnected.clone(),
        );
        let serving = run_service(service, stream, token.clone());
        let after_stop = async {
            self.inner.stop.run_until_cancelled(stop).await;
            // Running calls are cancelled and return a result that says so.
            token.cancel();
            sleep(DRAIN_TIMEOUT).await;
        };
        let after_disconnect = async {
            disconnected.cancelled().await;
            sleep(DRAIN_TIMEOUT).await;
            token.cancel();
            // No call takes longer unless something is wrong.
            sleep(3 * DRAIN_TIMEOUT).await;
        };
        tokio::pin!(serving, after_stop);
        let (served, is_flushed) = tokio::select! {
            // The client may still read its responses.
            served = &mut serving => (served, flush_until(&mut writer_task, &mut after_stop).await),
            () = &mut after_stop => (Ok(()), false),
            () = after_disconnect => (Ok(()), flush_until(&mut writer_task, sleep(DRAIN_TIMEOUT)).await),
        };
        if !is_flushed {
            tracing::warn!("the connection was closed before all responses were written");
            // It could wait for minutes for a client that does not read.
            writer_task.abort();
        }
        served
    }

    /// Creates a connection for another transport: one for each client, or for each request if the
    /// transport has no sessions.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::new(self)
    }
}

/// Runs the protocol until the client closes the connection or `token` is cancelled.
async fn run_service(
    service: impl Service<RoleServer>,
    transport: impl Transport<RoleServer> + 'static,
    token: CancellationToken,
) -> Result<(), ServeError> {
    let running = match service.serve_with_ct(transport, token).await {
        Ok(running) => running,
        // A client that leaves before it starts is normal, for example when it only checks that the
        // program exists.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(ServeError::new(error)),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            tracing::error!(%error, "the connection failed")
        }
        Ok(_) => tracing::debug!("the client closed the connection"),
    }
    Ok(())
}

/// Waits until everything is written. Returns `false` if `end` came first.
async fn flush_until(writer_task: &mut JoinHandle<()>, end: impl Future<Output = ()>) -> bool {
    tokio::select! {
        _ = writer_task => true,
        () = end => false,
    }
}
