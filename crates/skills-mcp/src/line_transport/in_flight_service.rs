//! A service that tracks its running requests.

use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, Service};

use super::in_flight::InFlight;

/// A service whose requests count as running until they are finished, even after a cancellation.
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
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let guard = self.in_flight.start_work(&context.id);
        let result = catch_panics(self.service.handle_request(request, context)).await;
        guard.complete();
        result
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
    let mut work = pin!(work);
    poll_fn(|context| {
        // Handlers share only state behind locks, and those tolerate poisoning.
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))).unwrap_or_else(|_| {
            tracing::error!("a request handler panicked");
            Poll::Ready(Err(ErrorData::internal_error("internal error", None)))
        })
    })
    .await
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
