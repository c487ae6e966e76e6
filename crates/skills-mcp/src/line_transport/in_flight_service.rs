//! A service whose requests are cancelled by the transport.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, Service};

use super::in_flight::InFlight;

/// A service that answers every request, and whose requests are cancelled by the transport.
pub(crate) struct InFlightService<S> {
    service: S,
    in_flight: Arc<InFlight>,
}

impl<S> InFlightService<S> {
    pub(super) fn new(service: S, in_flight: Arc<InFlight>) -> Self {
        Self { service, in_flight }
    }
}

impl<S: Service<RoleServer>> Service<RoleServer> for InFlightService<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        // rmcp never sees a cancellation: it would drop the response by its id, which may belong to
        // another request by then.
        context.ct = self.in_flight.cancellation(&context.id);
        catch_panics(self.service.handle_request(request, context)).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.service
            .handle_notification(notification, context)
            .await
    }

    fn get_info(&self) -> ServerConfig {
        self.service.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.service.supported_protocol_versions()
    }
}

/// Converts panics into internal errors, so that every request is answered.
async fn catch_panics(
    work: impl Future<Output = Result<ServerResult, ErrorData>>,
) -> Result<ServerResult, ErrorData> {
    // Handlers share only state behind locks, and those tolerate poisoning.
    let result = AssertUnwindSafe(work).catch_unwind().await;
    result.unwrap_or_else(|_| {
        tracing::error!("a request handler panicked");
        Err(ErrorData::internal_error("internal error", None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_with_an_error() {
        let error = catch_panics(async { panic!("as it should") })
            .await
            .unwrap_err();
        assert_eq!(error.code, rmcp::model::ErrorCode::INTERNAL_ERROR);
    }
}
