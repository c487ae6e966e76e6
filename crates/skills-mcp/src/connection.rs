//! A connection to one client.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use skills_threads::lock;
use skills_tools::ToolSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::caller::{Caller, Lifecycle};
use crate::list_changes::ListKind;
use crate::list_watcher::start_watching;
use crate::roots::ClientRoots;
use crate::skill_index::INDEX_URI;
use crate::tool_call::SessionState;
use crate::{
    Server, completion, prompts, resources, server_info, skills_extension, subscriptions,
    tool_call, tool_list,
};

/// The versions of the protocol. 2025-03-26, which requires that a server reads several messages in an
/// array, is answered with its successor.
const SUPPORTED_VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Handles the requests of one client of a [`Server`].
///
/// A stream has one connection for its lifetime, HTTP has one per session or per stateless request.
/// Dropping it ends the session of the tools: the private directory of scripts and the approvals
/// for the session are removed.
pub struct Connection {
    server: Server,
    /// The session id for tool calls, which is never sent to the client.
    session: OnceLock<String>,
    /// Version of each list when the client read it last.
    seen_versions: Mutex<[Option<u64>; 3]>,
    is_initialized: AtomicBool,
    state: SessionState,
    /// The roots of the client; `None` if it is not asked for them.
    roots: Option<ClientRoots>,
    disconnected: CancellationToken,
    /// Cancels the token when the connection is dropped, however it ends.
    _disconnect_guard: DropGuard,
}

impl Connection {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with_roots(server.clone(), None)
    }

    /// Creates the connection of a client on a stream, which can have its own workspace.
    pub(crate) fn for_stream(server: &Server) -> Self {
        let may_have_roots = server.inner.select_workspace.is_some();
        let roots = may_have_roots.then(ClientRoots::default);
        Self::with_roots(server.for_client(), roots)
    }

    fn with_roots(server: Server, roots: Option<ClientRoots>) -> Self {
        let disconnected = CancellationToken::new();
        Self {
            server,
            roots,
            session: OnceLock::new(),
            seen_versions: Mutex::default(),
            is_initialized: AtomicBool::new(false),
            state: SessionState::default(),
            _disconnect_guard: disconnected.clone().drop_guard(),
            disconnected,
        }
    }

    /// Returns the token that is cancelled when the client disconnects.
    pub(crate) fn disconnected(&self) -> CancellationToken {
        self.disconnected.clone()
    }

    /// Records that the client reads a page of a list, and starts watching the list for changes.
    fn mark_listed(&self, list: ListKind, page: Option<&PaginatedRequestParams>) {
        if page.is_none_or(|page| page.cursor.is_none()) {
            // A client that starts again from the first page sees the current list.
            lock(&self.seen_versions)[list as usize] = None;
        }
        self.mark_read(list);
    }

    /// Records that the client reads an item of a list. Earlier reads may be outdated; only lists
    /// that were read from the first page are compared.
    fn mark_read(&self, list: ListKind) {
        start_watching(&self.server);
        let version = self.server.inner.list_tracker.versions().get(list);
        lock(&self.seen_versions)[list as usize].get_or_insert(version);
    }

    /// Waits until the workspace of the client is known.
    async fn settle_roots(&self) {
        if let Some(roots) = &self.roots {
            roots.settle().await;
        }
    }

    /// Returns the instructions for a client. Their first writer scans the roots.
    async fn instructions(&self, write: fn(&ToolSet) -> String) -> Result<String, ErrorData> {
        let text = self
            .server
            .run_blocking(move |server| write(&server.tools()));
        Ok(server_info::complete_instructions(&text.await?))
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        Caller::from_context(context, || self.session().to_owned())
    }

    /// Returns the session id for tool calls, which cannot be guessed.
    fn session(&self) -> &str {
        self.session.get_or_init(|| {
            let mut bytes = [0_u8; 16];
            // Without randomness, the memory address still distinguishes connections.
            let _ = getrandom::fill(&mut bytes);
            let random = u128::from_be_bytes(bytes);
            // The address differs between all connections that are alive, so two of them never
            // share a session.
            format!("mcp-{random:032x}-{:p}", &raw const self.session)
        })
    }

    /// Notifies the client of the scripts of a skill that its session has loaded.
    async fn notify_of_loaded_scripts(&self, session: Option<String>) {
        if let Some(session) = session {
            self.state
                .tools
                .notify_if_changed(&self.server, session)
                .await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        let tools = self.server.tools();
        // Removing the directory of a session may take long if it has many files.
        skills_threads::detach_blocking(move || tools.end_session(&session));
    }
}

impl ServerHandler for Connection {
    /// Without instructions, which depend on the skills: this is called on the threads of the executor.
    fn get_info(&self) -> ServerConfig {
        server_info::server_config(&self.server.inner.version)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&SUPPORTED_VERSIONS)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if request.protocol_version == ProtocolVersion::V_2025_03_26 {
            request.protocol_version = ProtocolVersion::V_2025_06_18;
        }
        let mut result = self.negotiate_initialize(&request)?;
        let roots = self.roots.as_ref();
        let roots = roots.filter(|_| request.capabilities.roots.is_some());
        result.instructions = Some(match roots {
            Some(roots) => {
                roots.declare();
                // The roots are known later, and instructions are sent only once.
                let write = ToolSet::instructions_for_later_workspace;
                self.instructions(write).await?
            }
            None => self.instructions(ToolSet::instructions).await?,
        });
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = Some(self.instructions(ToolSet::instructions).await?);
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.mark_listed(ListKind::Tools, request.as_ref());
        tool_list::list(
            &self.server,
            &self.caller(&context),
            &self.state.tools,
            request,
        )
        .await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Tool calls scan for skills, too, until a watcher is active.
        start_watching(&self.server);
        self.settle_roots().await;
        let caller = self.caller(&context);
        tool_call::call(&self.server, &caller, &self.state, request, &context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.mark_listed(ListKind::Prompts, None);
        prompts::list(&self.server, Lifecycle::from_context(&context)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let session = self.caller(&context).session;
        let result = prompts::get(&self.server, session.clone(), request).await;
        self.notify_of_loaded_scripts(session).await;
        result.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        completion::complete(&self.server, request).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.mark_listed(ListKind::Resources, request.as_ref());
        resources::list(&self.server, Lifecycle::from_context(&context), request).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let lifecycle = Lifecycle::from_context(&context);
        Ok(resources::list_templates(lifecycle))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.settle_roots().await;
        if request.uri == INDEX_URI {
            self.mark_listed(ListKind::Resources, None);
        }
        resources::read(&self.server, &self.caller(&context), &request.uri)
            .await
            .map(Into::into)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.mark_listed(ListKind::Resources, request.as_ref());
        let session = self.caller(&context).session;
        skills_extension::list(&self.server, session, request).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.mark_read(ListKind::Resources);
        skills_extension::get(&self.server, request.uri).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        skills_extension::list_directory(&self.server, request).await
    }

    /// Also receives requests with a known method and invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(server_info::invalid_request_error(&request.method))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(subscriptions::supported_filter(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        start_watching(&self.server);
        let seen = *lock(&self.seen_versions);
        let changes = self.state.tools.subscribe();
        subscriptions::serve_subscription(
            &self.server,
            &context,
            changes,
            &self.disconnected,
            seen,
        )
        .await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A repeated notification must not start a second notifier.
        if !self.is_initialized.swap(true, Ordering::Relaxed) {
            start_watching(&self.server);
            let changes = self.state.tools.subscribe();
            subscriptions::notify_legacy(
                &self.server,
                context.peer.clone(),
                changes,
                self.disconnected.clone(),
                *lock(&self.seen_versions),
            );
            if let Some(roots) = &self.roots {
                roots.follow(&self.server, context.peer, self.disconnected.clone());
            }
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        if let Some(roots) = &self.roots {
            roots.record_change();
        }
    }
}
