//! A server: the tools of a host, for clients of the protocol.

mod builder;

use std::sync::Arc;

use rmcp::ErrorData;
use skills_tools::ToolSet;
use tokio_util::sync::CancellationToken;

pub use builder::Builder;

use crate::changes::{Changes, Noted};
use crate::seal::Seal;
use crate::turns::Turns;
use crate::watch::LookOut;

/// A server of skills and their tools.
///
/// Cheap to clone; clones are one server.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) tools: ToolSet,
    pub(crate) seal: Seal,
    pub(crate) turns: Turns,
    pub(crate) changes: Changes,
    pub(crate) noted: Noted,
    pub(crate) look_out: LookOut,
    pub(crate) owners: Owners,
    pub(crate) version: String,
    pub(crate) stop: CancellationToken,
    /// Calls that are under way are given up.
    pub(crate) give_up: CancellationToken,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owners {
    /// Whoever may call is its owner, so their answers may hold for good.
    Callers,
    /// Several may call, and none of them decides for the others.
    Others,
}

impl Server {
    /// Starts to put a server together.
    pub fn builder(tools: ToolSet) -> Builder {
        Builder::new(tools)
    }

    /// Does what takes the disk aside, so that nobody else waits.
    pub(crate) async fn blocking<T: Send + 'static>(
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
        self.shared.stop.cancel();
    }

    /// Gives up the calls that are under way: programs end, and clients are told what was written
    /// until then.
    pub fn cancel_calls(&self) {
        self.shared.give_up.cancel();
    }
}
