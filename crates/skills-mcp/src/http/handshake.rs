//! The handshake of legacy clients.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use super::headers::{is_stateless, is_stateless_version};
use super::json_rpc_header::JsonRpcHeader;
use super::rejection::Rejection;

/// Layer that rejects `initialize` of protocol versions that have no such method, by the header or
/// by the metadata. rmcp would start a session of another version.
pub(super) async fn check(request: Request, next: Next) -> Result<Response, Rejection> {
    let header = request.extensions().get::<JsonRpcHeader>();
    if let Some(header) = header
        && let Some(id) = header.initialize_id()
        && (header.meta_version().is_some_and(is_stateless)
            || is_stateless_version(request.headers())?)
    {
        return Err(Rejection::MethodNotFound {
            method: "initialize",
            id: id.clone(),
        });
    }
    Ok(next.run(request).await)
}
