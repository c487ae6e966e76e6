//! Serving of one connection.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::pin::pin;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::limits::HttpLimits;
use super::write_timeout::with_write_timeout;

/// Serves the requests of a connection until it closes, times out, or has answered its last request
/// during shutdown.
///
/// When the client disconnects, its requests are dropped, even if it has sent more.
pub(super) async fn serve(
    stream: TcpStream,
    router: Router,
    limits: HttpLimits,
    stopping: CancellationToken,
) {
    // Responses are small and written at once; Nagle's algorithm would only delay them.
    _ = stream.set_nodelay(true);
    let (stream, client) = with_write_timeout(stream, limits.write_timeout);
    // HTTP/1.1 only: timeouts and the disconnect watch are per connection, which HTTP/2 would share
    // between requests.
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        // Clients that send their headers slowly would hold connections.
        .header_read_timeout(limits.header_read_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let serving = async {
        tokio::select! {
            served = connection.as_mut() => served,
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    tokio::select! {
        served = serving => if let Err(error) = served {
            tracing::debug!(error = %error, "connection failed");
            if is_write_timeout(&*error) {
                client.discard_unsent();
            }
        },
        () = client.disconnected() => tracing::debug!("client disconnected before the response"),
    }
}

fn is_write_timeout(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::TimedOut)
}

const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 64 << 10;
