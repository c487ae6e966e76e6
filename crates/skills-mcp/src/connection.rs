//! One client, as the protocol sees it.

use std::future::{Future, ready};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::caller::{Caller, Era, Kind};
use crate::changes::List;
use crate::watch::watch;
use crate::{Server, about, call, completion, listen, prompts, resources, skills, tools};

/// One client of a [`Server`]: what the protocol's library calls.
pub struct Connection {
    server: Server,
    kind: Kind,
    /// What tools know this client by. Clients never learn it.
    session: OnceLock<String>,
    /// How often each list had changed when the client read it last.
    seen: Mutex<[Option<u64>; 3]>,
    is_told: AtomicBool,
    gone: CancellationToken,
    _gone: DropGuard,
}

impl Connection {
    pub(crate) fn of_stream(server: &Server) -> Self {
        Self::new(server, Kind::Stream)
    }

    pub(crate) fn of_requests(server: &Server) -> Self {
        Self::new(server, Kind::Requests)
    }

    fn new(server: &Server, kind: Kind) -> Self {
        let gone = CancellationToken::new();
        let _gone = gone.clone().drop_guard();
        Self {
            server: server.clone(),
            kind,
            session: OnceLock::new(),
            seen: Mutex::default(),
            is_told: AtomicBool::new(false),
            gone,
            _gone,
        }
    }

    /// Returns what is cancelled when the client has gone.
    pub(crate) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Notes that the client reads a list, or a page of it, and begins to look out for changes of
    /// it.
    fn reads(&self, list: List, page: Option<&PaginatedRequestParams>) {
        if page.is_none_or(|page| page.cursor.is_none()) {
            self.seen()[list as usize] = None;
        }
        self.reads_of(list);
    }

    /// Notes that the client reads something of a list. What it has read of it before may be older;
    /// what nobody read from the beginning is compared with nothing.
    fn reads_of(&self, list: List) {
        watch(&self.server);
        let version = self.server.shared.changes.versions().of(list);
        self.seen()[list as usize].get_or_insert(version);
    }

    fn seen(&self) -> MutexGuard<'_, [Option<u64>; 3]> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        Caller::of(context, self.kind, || self.session().to_owned())
    }

    /// Returns what tools know this client by, which nobody can guess.
    fn session(&self) -> &str {
        self.session.get_or_init(|| {
            let mut bytes = [0_u8; 16];
            // Without random numbers the place in memory still tells connections apart.
            let _ = getrandom::fill(&mut bytes);
            let random: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("mcp-{random}-{:p}", &raw const self.session)
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        let tools = self.server.shared.tools.clone();
        // What is left of a conversation may be many files.
        match tokio::runtime::Handle::try_current() {
            Ok(executor) => drop(executor.spawn_blocking(move || tools.end_session(&session))),
            Err(_) => tools.end_session(&session),
        }
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        about::config(&self.server.shared.version)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.reads(List::Tools, request.as_ref());
        tools::list(&self.server, Era::of(&context), request).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Calls look for skills as well, each by itself until somebody watches.
        watch(&self.server);
        call::call(&self.server, &self.caller(&context), request, &context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.reads(List::Prompts, None);
        prompts::list(&self.server, Era::of(&context)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.server, request).await.map(Into::into)
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
        self.reads(List::Resources, request.as_ref());
        resources::list(&self.server, Era::of(&context), request).await
    }

    fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorData>> + Send + '_ {
        ready(Ok(resources::templates(Era::of(&context))))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.server, &self.caller(&context), &request.uri)
            .await
            .map(Into::into)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.reads(List::Resources, request.as_ref());
        skills::list(&self.server, request).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.reads_of(List::Resources);
        skills::get(&self.server, request.uri).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        skills::directory(&self.server, request).await
    }

    /// What has the name of a request and not its parts comes here as well.
    fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        ready(Err(about::unreadable(&request.method)))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(listen::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        watch(&self.server);
        let seen = *self.seen();
        listen::listen(&self.server, &context, &self.gone, seen).await;
        Ok(())
    }

    fn on_initialized(
        &self,
        context: NotificationContext<RoleServer>,
    ) -> impl Future<Output = ()> + Send + '_ {
        // A client that says so again is told nothing twice.
        if !self.is_told.swap(true, Ordering::Relaxed) {
            watch(&self.server);
            listen::tell(&self.server, context.peer, self.gone.clone());
        }
        ready(())
    }
}
