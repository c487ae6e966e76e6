//! A server: the tools of a host, for clients of the protocol.

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

/// A server of skills and their tools.
///
/// Cheap to clone; clones are one server.
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
    /// Calls that are under way are given up.
    pub(crate) cancel_calls: CancellationToken,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenancy {
    /// Whoever may call is its owner, so their answers may hold for good.
    SingleUser,
    /// Several may call, and none of them decides for the others.
    MultiUser,
}

impl Server {
    /// Starts to put a server together.
    pub fn builder(tools: ToolSet) -> ServerBuilder {
        ServerBuilder::new(tools)
    }

    /// Does what takes the disk aside, so that nobody else waits.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&server)).await;
        done.map_err(|_| {
            ErrorData::internal_error("the server failed; nothing more is known", None)
        })
    }

    /// Ends streams and subscriptions; whoever subscribed is told so. Over HTTP, calls go on.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Gives up the calls that are under way: programs end, and clients are told what was written
    /// until then.
    pub fn cancel_calls(&self) {
        self.inner.cancel_calls.cancel();
    }
}
