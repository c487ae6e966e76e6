//! A server: the tools of a host, for clients of the protocol.

mod builder;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::{ErrorData, ServiceExt};
use skills_tools::{ToolSet, Watching};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use builder::Builder;

use crate::changes::{Changes, List, Noted};
use crate::seal::Seal;
use crate::turns::Turns;
use crate::{Connection, ServeError, prompts, resources, tools};

/// How long calls that are under way may take once a client has gone.
const DRAIN: Duration = Duration::from_secs(2);

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
    pub(crate) watching: OnceLock<Watching>,
    pub(crate) owners: Owners,
    pub(crate) version: String,
    pub(crate) stop: CancellationToken,
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

    /// Serves one client, such as the one at the other end of standard input and output, until it closes the connection or `stop` is done.
    ///
    /// Must be called inside a Tokio runtime with time and I/O enabled. What calls started is ended when this returns and the runtime is dropped.
    ///
    /// # Errors
    /// When the client begins with something that the protocol does not know. A client that goes is no error.
    pub async fn serve<R, W>(&self, input: R, output: W, stop: impl Future<Output = ()>) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let token = self.shared.stop.child_token();
        let guard = token.clone().drop_guard();
        let serving = async {
            let running = match Connection::of_stream(self).serve_with_ct((input, output), token.clone()).await {
                Ok(running) => running,
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
                Err(error) => return Err(ServeError::new(error)),
            };
            match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => tracing::error!(%error, "the connection ended unexpectedly"),
                Ok(_) => tracing::debug!("the client closed the connection"),
            }
            Ok(())
        };
        tokio::pin!(serving);
        tokio::select! {
            served = &mut serving => return served,
            () = stop => drop(guard),
        }
        // What is under way is cancelled, and says so.
        tokio::time::timeout(DRAIN, serving).await.unwrap_or(Ok(()))
    }

    /// Opens a connection for a transport of its own; one for each client, or for each request where a transport knows no clients.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::of_requests(self)
    }

    /// Begins to look out for changes, once, when a client wants to know of something.
    pub(crate) fn watch(&self) {
        let server = self.clone();
        if self.shared.watching.get().is_none() {
            // Looking around takes the disk, and nobody waits for it.
            tokio::task::spawn_blocking(move || {
                let weak = Arc::downgrade(&server.shared);
                let look = move || {
                    if let Some(shared) = weak.upgrade() {
                        Server { shared }.look();
                    }
                };
                server.shared.watching.get_or_init(|| server.shared.tools.watch(look));
            });
        }
    }

    /// Compares what clients were told with what is there.
    fn look(&self) {
        for list in List::ALL.into_iter().filter(|list| self.shared.changes.is_told(*list)) {
            match list {
                List::Tools => drop(tools::all(self)),
                List::Prompts => drop(prompts::all(self)),
                List::Resources => drop(resources::all(self)),
            }
        }
    }

    /// Does what takes the disk aside, so that nobody else waits.
    pub(crate) async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Self) -> T + Send + 'static) -> Result<T, ErrorData> {
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&server)).await;
        done.map_err(|_| ErrorData::internal_error("the server failed; nothing more is known", None))
    }

    /// Ends all connections.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }
}
