//! A handler that reports its requests.

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use skills_mcp::{HttpError, HttpServer, Principal};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::client::{Call, PATIENCE};

/// A handler with these tools: `whoami` returns the principal, `head` the headers of the request,
/// `long` more than any socket buffers, `wait` waits for a signal or a cancellation, and `tell`
/// reports progress before it waits. Subscriptions wait in the same way.
#[derive(Clone, Default)]
pub(super) struct Probe {
    pub(super) started: Arc<Notify>,
    pub(super) go_on: Arc<Notify>,
    pub(super) cancelled: Arc<Notify>,
}

impl ServerHandler for Probe {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        )
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.started.notify_one();
        tokio::select! {
            () = self.go_on.notified() => {}
            () = context.cancelled() => self.cancelled.notify_one(),
        }
        Ok(())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = match request.name.as_ref() {
            "whoami" => Principal::from_extensions(&context.extensions).to_string(),
            "head" => format!(
                "{:?}",
                context
                    .extensions
                    .get::<http::request::Parts>()
                    .map(|head| &head.headers)
            ),
            "long" => "x".repeat(32 << 20),
            "tell" => {
                let token = context.meta.get_progress_token().unwrap();
                context
                    .peer
                    .notify_progress(ProgressNotificationParam::new(token, 1.0))
                    .await
                    .unwrap();
                self.wait(&context).await
            }
            _ => self.wait(&context).await,
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

impl Probe {
    async fn wait(&self, context: &RequestContext<RoleServer>) -> String {
        self.started.notify_one();
        tokio::select! {
            () = self.go_on.notified() => "went on".to_owned(),
            () = context.ct.cancelled() => {
                self.cancelled.notify_one();
                "cancelled".to_owned()
            }
        }
    }
}

/// A server with the probe as handler.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) probe: Probe,
    stop: oneshot::Sender<()>,
    abort: oneshot::Sender<()>,
    task: JoinHandle<Result<(), HttpError>>,
}

impl Server {
    pub(super) async fn start(change: impl FnOnce(HttpServer) -> HttpServer) -> Self {
        let bound = change(HttpServer::new("127.0.0.1:0".parse().unwrap()))
            .bind()
            .await
            .unwrap();
        let (address, probe) = (bound.address(), Probe::default());
        let (stop, stopped) = oneshot::channel();
        let handlers = {
            let probe = probe.clone();
            move || probe.clone()
        };
        let (abort, aborted) = oneshot::channel();
        let received = async |signal: oneshot::Receiver<()>| {
            if signal.await.is_err() {
                std::future::pending().await
            }
        };
        let task =
            tokio::spawn(bound.serve_with_shutdown(handlers, received(stopped), received(aborted)));
        Self {
            address,
            probe,
            stop,
            abort,
            task,
        }
    }

    /// Asserts that the server still responds.
    #[track_caller]
    pub(super) fn answers(&self) -> impl Future<Output = ()> {
        let address = self.address;
        async move { assert_eq!(Call::tool("whoami").send(address).await.text(), "local") }
    }

    pub(super) fn stop(self) -> JoinHandle<Result<(), HttpError>> {
        self.stop.send(()).unwrap();
        self.task
    }

    /// Stops the server, and returns the trigger of the immediate shutdown.
    pub(super) fn stop_gracefully(
        self,
    ) -> (oneshot::Sender<()>, JoinHandle<Result<(), HttpError>>) {
        self.stop.send(()).unwrap();
        (self.abort, self.task)
    }
}

/// Waits for a signal of the probe.
pub(super) async fn heard(what: &Notify) {
    timeout(PATIENCE, what.notified()).await.expect("in time");
}
