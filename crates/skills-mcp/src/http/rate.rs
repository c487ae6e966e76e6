//! Limit of the request rate.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;

/// Layer that rejects requests above the rate limit of their principal.
pub(super) async fn check(
    Extension(limits): Extension<Arc<PrincipalLimits>>,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    limits.check_rate()?;
    Ok(next.run(request).await)
}
