//! A server that offers the tools of a host application to MCP clients.

mod builder;

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rmcp::ErrorData;
use skills_threads::ThreadError;
use skills_tools::ToolSet;
use tokio_util::sync::CancellationToken;

pub use builder::ServerBuilder;

use crate::call_limiter::CallLimiter;
use crate::elicitation::TrustCommand;
use crate::list_changes::{ListTracker, ListWatcher, LogOnce};
use crate::project_question::Project;
use crate::request_state::RequestStateSigner;
use crate::served_skills::ServedSkills;

/// Serves skills and their tools to MCP clients.
///
/// One server can serve several clients at the same time, on streams ([`serve`](Self::serve)) and
/// over HTTP (`HttpServer`). Lists are watched for changes as soon as a client reads one. Cheap to
/// clone; clones share all state.
///
/// ```
/// use skills_mcp::Server;
/// use skills_tools::ToolSet;
/// use skills_tools::runtime::SkillRuntime;
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolSet::builder(SkillRuntime::builder().build()).build()?;
/// let server = Server::builder(tools).version("1.2.3").build()?;
///
/// // The client and the server are connected by a pipe within the process.
/// let (client, host) = tokio::io::duplex(64 << 10);
/// let (responses, mut requests) = tokio::io::split(client);
/// let (input, output) = tokio::io::split(host);
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let conversation = async move {
///     let request = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
///         "protocolVersion": "2025-11-25", "capabilities": {},
///         "clientInfo": {"name": "example", "version": "1"}}}"#;
///     // One message per line.
///     requests.write_all((request.replace('\n', "") + "\n").as_bytes()).await?;
///     let response = BufReader::new(responses).lines().next_line().await?;
///     stop.send(()).ok();
///     Ok::<_, std::io::Error>(response.unwrap_or_default())
/// };
/// let serving = server.serve(input, output, async { stopped.await.unwrap_or_default() });
/// let (served, response) = tokio::join!(serving, conversation);
/// served?;
/// assert!(response?.contains(r#""version":"1.2.3""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
    /// The tools of one client, if it can change its workspace.
    own_tools: Option<Arc<RwLock<ToolSet>>>,
}

/// Returns the tools of a server with a directory as the workspace.
pub(crate) type SelectWorkspace =
    dyn Fn(&ToolSet, &Path) -> Result<ToolSet, Box<dyn Error + Send + Sync>> + Send + Sync;

pub(crate) struct Inner {
    /// The tools of all clients that have none of their own; see [`Server::tools`].
    pub(crate) shared_tools: ToolSet,
    pub(crate) select_workspace: Option<Box<SelectWorkspace>>,
    pub(crate) state_signer: RequestStateSigner,
    pub(crate) call_limiter: CallLimiter,
    pub(crate) list_tracker: ListTracker,
    pub(crate) served_skills: ServedSkills,
    pub(crate) log_once: LogOnce,
    pub(crate) list_watcher: ListWatcher,
    pub(crate) tenancy: Tenancy,
    pub(crate) result_data: crate::ResultData,
    pub(crate) trust_command: Arc<TrustCommand>,
    /// The project; its skills can wait for trust.
    pub(crate) project: Option<Project>,
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
    /// Returns a builder for a server with these tools, with the defaults of [`ServerBuilder`].
    pub fn builder(tools: ToolSet) -> ServerBuilder {
        ServerBuilder::new(tools)
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            own_tools: None,
        }
    }

    /// Returns the server for one client, whose tools can be [changed](Self::set_tools).
    pub(crate) fn for_client(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            own_tools: Some(Arc::new(RwLock::new(self.inner.shared_tools.clone()))),
        }
    }

    /// Returns the tools of the client.
    pub(crate) fn tools(&self) -> ToolSet {
        let own = self.own_tools.as_ref();
        own.map_or_else(
            || self.inner.shared_tools.clone(),
            |own| own.read().unwrap_or_else(PoisonError::into_inner).clone(),
        )
    }

    /// Sets the tools of the client, unless they have the same workspace as the current ones. Calls
    /// that are running keep theirs.
    pub(crate) fn set_tools(&self, tools: ToolSet) {
        if let Some(own) = &self.own_tools {
            let mut current = own.write().unwrap_or_else(PoisonError::into_inner);
            if current.workspace_directory() != tools.workspace_directory() {
                *current = tools;
            }
        }
    }

    /// Runs blocking I/O on the blocking pool.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.clone();
        let done = skills_threads::run_blocking(move || work(&server)).await;
        done.map_err(|error| {
            let message = if ThreadError::is_in(&error) {
                error.to_string()
            } else {
                "internal error".to_owned()
            };
            ErrorData::internal_error(message, None)
        })
    }

    /// Ends streams and subscriptions and notifies the subscribers. Calls over HTTP continue.
    ///
    /// Applies to current and future clients of this server and its clones, and cannot be undone.
    /// Over HTTP, call it at the start of a shutdown, so that subscribers learn of its end.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Cancels the running calls: programs are stopped, and clients receive the output up to then.
    ///
    /// Applies to current and future calls of this server and its clones, and cannot be undone.
    /// Call it when the timeout of a shutdown is reached.
    pub fn cancel_calls(&self) {
        self.inner.cancel_calls.cancel();
    }
}
