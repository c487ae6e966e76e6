//! Builder for servers.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_tools::runtime::policy::Question;
use skills_tools::{ToolSet, WaitingSkills};
use tokio_util::sync::CancellationToken;

use super::{Inner, SelectWorkspace, Server, Tenancy};
use crate::call_limiter::CallLimiter;
use crate::elicitation::{TrustCommand, default_trust_command};
use crate::error::Repr;
use crate::list_changes::{ListTracker, ListWatcher, LogOnce};
use crate::project_question::Project;
use crate::request_state::{RequestStateSigner, STATE_TTL};
use crate::served_skills::ServedSkills;
use crate::{MemoryReplayCache, ReplayCache, ResultData, ServerBuildError};

/// Configures and builds a [`Server`].
///
/// By default, request state is signed with a new random key and its use recorded in memory, which
/// is right for a single process; callers own the approval store; and each principal can have 64
/// concurrent calls.
#[must_use]
pub struct ServerBuilder {
    tools: ToolSet,
    select_workspace: Option<Box<SelectWorkspace>>,
    request_state_key: Option<Vec<u8>>,
    replay_cache: Box<dyn ReplayCache>,
    tenancy: Tenancy,
    result_data: ResultData,
    max_concurrent_calls: usize,
    trust_command: Arc<TrustCommand>,
    project: Option<Project>,
    version: String,
}

impl ServerBuilder {
    pub(super) fn new(tools: ToolSet) -> Self {
        Self {
            tools,
            select_workspace: None,
            request_state_key: None,
            replay_cache: Box::<MemoryReplayCache>::default(),
            tenancy: Tenancy::SingleUser,
            result_data: ResultData::default(),
            max_concurrent_calls: 64,
            trust_command: Arc::new(default_trust_command),
            project: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Sets the key that signs request state, at least 32 random bytes. Servers that answer for
    /// each other must share it. By default, a random key is generated, so that request state is
    /// invalid after a restart and clients are prompted again.
    pub fn request_state_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.request_state_key = Some(key.into());
        self
    }

    /// Sets the replay cache for request state. Servers that answer for each other must share it,
    /// otherwise a response could be used once with each of them.
    pub fn replay_cache(mut self, replay_cache: impl ReplayCache + 'static) -> Self {
        self.replay_cache = Box::new(replay_cache);
        self
    }

    /// Declares that the server has several users, none of whom decides for the others: approvals
    /// are never stored permanently. By default, the only user owns the approval store.
    pub fn multi_user(mut self) -> Self {
        self.tenancy = Tenancy::MultiUser;
        self
    }

    /// Sets where the structured data of results goes. Default: [`ResultData::Meta`].
    pub fn result_data(mut self, data: ResultData) -> Self {
        self.result_data = data;
        self
    }

    /// Makes a root of each client its workspace, if it is connected by a stream, uses the legacy
    /// lifecycle and declares the `roots` capability. By default, no client is asked for its roots.
    ///
    /// `select` gets the tools of the server and the directory of a root, which may not exist, and
    /// returns the tools of the client, usually by [`ToolSet::with_workspace`]. It is called on a
    /// blocking thread, for one root after the other, until it succeeds; if it never does, the
    /// client has the tools of the server. A client is asked when it is initialized and when it
    /// reports a change. Calls wait up to five seconds for the first answer.
    ///
    /// Only for servers whose clients run on the same machine, since the paths are theirs. Clients
    /// over HTTP are never asked: those of a loopback address can be forwarded from another machine.
    ///
    /// ```
    /// use skills_mcp::Server;
    /// use skills_tools::runtime::{Policy, SkillRuntime};
    /// use skills_tools::{Mount, ToolSet};
    ///
    /// let tools = ToolSet::builder(SkillRuntime::builder().build()).build()?;
    /// let server = Server::builder(tools)
    ///     .client_workspaces(|tools, directory| {
    ///         let workspace = Mount::read_only("workspace", directory);
    ///         Ok(tools.with_workspace(workspace, Policy::default(), |_| None)?)
    ///     })
    ///     .build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_workspaces(
        mut self,
        select: impl Fn(&ToolSet, &Path) -> Result<ToolSet, Box<dyn Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.select_workspace = Some(Box::new(select));
        self
    }

    /// Sets the maximum number of concurrent calls per principal, at least one and 64 by default;
    /// further calls are rejected with a result that the model can retry.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls.max(1);
        self
    }

    /// Sets which command approves the skill of a request in advance, for clients that cannot prompt
    /// for it. Models read it, and users copy it into a shell. Default: `skills trust NAME`, which
    /// finds skills in the default roots.
    pub fn trust_command(
        mut self,
        command: impl Fn(&Question) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.trust_command = Arc::new(command);
        self
    }

    /// Asks the user of a client once per session whether skills of this project may be used, when a
    /// model searches, lists or loads skills and some wait for the trust of the project. `directory` is its
    /// canonical path. A positive answer holds for exactly these skills with their present content;
    /// `record` stores it, on a blocking thread, and its error is logged. Clients without elicitation or
    /// without a session, and those of a [server with several users](Self::multi_user), are not asked.
    /// Default: no question.
    pub fn project(
        mut self,
        directory: impl Into<PathBuf>,
        record: impl Fn(&WaitingSkills) -> Result<(), Box<dyn Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.project = Some(Project {
            directory: directory.into(),
            record: Box::new(record),
        });
        self
    }

    /// Sets the version that the server reports. Default: the version of this crate.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Builds the server. Does not access any skill.
    ///
    /// # Errors
    /// Fails if the key is too short, or none was set and the system has no source of randomness.
    pub fn build(self) -> Result<Server, ServerBuildError> {
        let key = match self.request_state_key {
            Some(key) => key,
            None => {
                let mut key = vec![0; 32];
                // A fixed key would let clients forge answers. A random one is valid until the
                // process ends.
                getrandom::fill(&mut key).map_err(Repr::NoRandomness)?;
                key
            }
        };
        let inner = Inner {
            state_signer: RequestStateSigner::new(&key, self.replay_cache, STATE_TTL)?,
            call_limiter: CallLimiter::new(self.max_concurrent_calls),
            list_tracker: ListTracker::default(),
            served_skills: ServedSkills::default(),
            log_once: LogOnce::default(),
            list_watcher: ListWatcher::default(),
            tenancy: self.tenancy,
            result_data: self.result_data,
            shared_tools: self.tools,
            select_workspace: self.select_workspace,
            trust_command: self.trust_command,
            project: self.project,
            version: self.version,
            stop: CancellationToken::new(),
            cancel_calls: CancellationToken::new(),
        };
        Ok(Server::from_inner(Arc::new(inner)))
    }
}
