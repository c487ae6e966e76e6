//! A server that offers the tools of a host application to MCP clients.

mod builder;

use std::sync::Arc;

use rmcp::ErrorData;
use skills_tools::ToolSet;
use tokio_util::sync::CancellationToken;

pub use builder::ServerBuilder;

use crate::call_limiter::CallLimiter;
use crate::list_changes::{ListTracker, LogOnce};
use crate::list_watcher::ListWatcher;
use crate::request_state::RequestStateSigner;

/// Serves skills and their tools to MCP clients.
///
/// One server can serve several clients at the same time, on streams ([`serve`](Self::serve)) and
/// over HTTP ([`HttpServer`](crate::HttpServer)). Cheap to clone; clones share all state.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) tools: ToolSet,
    pub(crate) state_signer: RequestStateSigner,
    pub(crate) call_limiter: CallLimiter,
    pub(crate) list_tracker: ListTracker,
    pub(crate) log_once: LogOnce,
    pub(crate) list_watcher: ListWatcher,
    pub(crate) tenancy: Tenancy,
    pub(crate) version: String,
    pub(crate) stop: CancellationToken,
    /// Cancels the running calls.
    pub(crate) cancel_calls: CancellationToken,
}

/// Whether callers decide for themselves or share the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenancy {
    /// The caller owns the server, so approvals may be stored permanently.
    SingleUser,
    /// Several callers share the server, and none decides for the others.
    MultiUser,
}

impl Server {
    /// Returns a builder for a server with these tools.
    pub fn builder(tools: ToolSet) -> ServerBuilder {
        ServerBuilder::new(tools)
    }

    /// Runs blocking I/O on the blocking pool.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&server)).await;
        done.map_err(|_| ErrorData::internal_error("internal error", None))
    }

    /// Ends streams and subscriptions and notifies the subscribers. Calls over HTTP continue.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Cancels the running calls: programs are stopped, and clients receive the output up to then.
    pub fn cancel_calls(&self) {
        self.inner.cancel_calls.cancel();
    }
}
