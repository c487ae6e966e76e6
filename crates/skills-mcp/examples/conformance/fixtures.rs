//! The real server with the additional fixtures of the suite.

use std::borrow::Cow;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    LoggingLevel, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
    ReadResourceResponse, RequestStateCodec, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use skills_mcp::Connection;

use crate::list_changes::SkillGenerator;
use crate::{
    client_requests, content, input_required, list_changes, notifications, prompts, resources,
};

/// State that all connections share.
pub(crate) struct Fixtures {
    pub(crate) seal: RequestStateCodec,
    pub(crate) skills: SkillGenerator,
}

impl Fixtures {
    /// Creates the fixtures; skills that are created during the suite go to the directory.
    pub(crate) fn new(skills: PathBuf) -> Result<Self, Box<dyn Error>> {
        let mut key = vec![0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self {
            seal: RequestStateCodec::try_new(key)?,
            skills: SkillGenerator::new(skills),
        })
    }
}

/// A connection of the real server, which handles everything that is not a fixture.
pub(crate) struct WithFixtures {
    ours: Connection,
    fixtures: Arc<Fixtures>,
    level: Mutex<LoggingLevel>,
}

impl WithFixtures {
    pub(crate) fn new(ours: Connection, fixtures: Arc<Fixtures>) -> Self {
        Self {
            ours,
            fixtures,
            level: Mutex::new(LoggingLevel::Error),
        }
    }

    fn level(&self) -> LoggingLevel {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tools() -> impl Iterator<Item = Tool> {
    [
        content::tools(),
        notifications::tools(),
        client_requests::tools(),
        input_required::tools(),
        list_changes::tools(),
    ]
    .into_iter()
    .flatten()
}

impl ServerHandler for WithFixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.ours.get_info();
        info.capabilities.logging = Some(JsonObject::new());
        if let Some(resources) = &mut info.capabilities.resources {
            resources.subscribe = Some(true);
        }
        info
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut discovered = self.ours.discover(context).await?;
        discovered.capabilities = self.get_info().capabilities;
        Ok(discovered)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.ours.list_tools(request, context).await?;
        if list.next_cursor.is_none() {
            list.tools.extend(tools());
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools()
            .find(|tool| tool.name == name)
            .or_else(|| self.ours.get_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(result) = content::call(&request.name) {
            return Ok(result.into());
        }
        if let Some(result) = notifications::call(&request.name, self.level(), &context).await {
            return Ok(result.into());
        }
        if let Some(result) = client_requests::call(&request, &context).await {
            return Ok(result.into());
        }
        if let Some(result) = list_changes::call(&request.name, &self.fixtures.skills) {
            return Ok(result.into());
        }
        match input_required::exchange(&request.name) {
            Some(exchange) => exchange.call(&self.fixtures.seal, request, &context),
            None => self.ours.call_tool(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.ours.list_prompts(request, context).await?;
        if list.next_cursor.is_none() {
            list.prompts.extend(prompts::all());
        }
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match prompts::get(&request, &self.fixtures.seal, &context) {
            Some(response) => response,
            None => self.ours.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.ours.complete(request, context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if notifications::is_stateless(&context) {
            return self.ours.set_level(request, context).await;
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.ours.list_resources(request, context).await?;
        if list.next_cursor.is_none() {
            list.resources.extend(resources::all());
        }
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.ours.list_resource_templates(request, context).await?;
        list.resource_templates.push(resources::template());
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resources::read(&request.uri) {
            Some(result) => Ok(result.into()),
            None => self.ours.read_resource(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if resources::is_watched(&request.uri) {
            return Ok(());
        }
        self.ours.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if resources::is_watched(&request.uri) {
            return Ok(());
        }
        self.ours.unsubscribe(request, context).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.ours.list_skills(request, context).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.ours.get_skill(request, context).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        self.ours.read_resource_directory(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.ours.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.ours.listen(context).await
    }

    // What follows is only forwarded, whether the real server implements it today or not.

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.ours.supported_protocol_versions()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let capabilities = self.get_info().capabilities;
        let mut result = self.ours.initialize(request, context).await?;
        result.capabilities = capabilities;
        Ok(result)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.ours.on_custom_request(request, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.ours.on_initialized(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.ours.on_roots_list_changed(context).await;
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.ours.on_cancelled(notification, context).await;
    }

    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.ours.on_progress(notification, context).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleServer>,
    ) {
        self.ours
            .on_custom_notification(notification, context)
            .await;
    }
}
