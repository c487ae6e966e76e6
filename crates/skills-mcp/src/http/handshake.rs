//! The handshake of legacy clients.

use axum::extract::Request;

use super::headers::{is_stateless, is_stateless_version};
use super::json_rpc_header::JsonRpcHeader;
use super::rejection::Rejection;

/// Rejects `initialize` of protocol versions that have no such method, by the header or
/// by the metadata. rmcp would start a session of another version.
pub(super) fn check(request: &Request) -> Result<(), Rejection> {
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
    Ok(())
}
