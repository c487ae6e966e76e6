//! One request and its response over one connection.

use std::pin::pin;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use skills_egress::RejectReason;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::io::TokioIo;

use super::abort::AbortState;
use super::body::LimitedBody;
use super::failure::{HttpFailure, connection_error};
use super::metered_stream::IoStream;

/// Drives a connection after the head of the response.
pub(super) type ConnectionDriver = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The minimum that hyper accepts.
const MIN_BUFFER_BYTES: usize = 8 * 1024;

/// Sends a request and waits for the head of the response. The rest arrives while the returned
/// driver is polled.
pub(super) async fn exchange(
    wire: Box<dyn IoStream>,
    request: Request<LimitedBody>,
    max_head_bytes: usize,
    abort: &AbortState,
) -> Result<(Response<Incoming>, ConnectionDriver), HttpFailure> {
    let failed = |error| HttpFailure::from_exchange(abort, error, max_head_bytes);
    let mut builder = http1::Builder::new();
    builder
        .max_header_size(max_head_bytes)
        .max_buf_size(max_head_bytes.max(MIN_BUFFER_BYTES));
    let (mut sender, connection) = builder
        .handshake(TokioIo::new(wire))
        .await
        .map_err(failed)?;
    let mut connection = Box::pin(connection);
    let mut is_done = false;
    let response = {
        let mut response = pin!(sender.send_request(request));
        loop {
            tokio::select! {
                // If both are ready, prefer a response to the end of its connection.
                biased;
                result = &mut response => break result.map_err(failed)?,
                result = &mut connection, if !is_done => {
                    result.map_err(failed)?;
                    is_done = true;
                }
            }
        }
    };
    // No protocol switch was requested.
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(HttpFailure::new(
            Error::HttpUpgradeFailed,
            RejectReason::Unreachable,
        ));
    }
    let abort = abort.clone();
    let driving = async move {
        // The connection has ended and must not be polled again.
        if is_done {
            return Ok(());
        }
        connection
            .await
            .map_err(|error| connection_error(&abort, error))
    };
    Ok((response, Box::new(driving)))
}
