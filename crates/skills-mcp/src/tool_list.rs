//! `tools/list`.

use std::sync::{Arc, Mutex};

use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations};
use serde_json::Value;
use skills_threads::lock;
use skills_tools::{OverrideError, ToolDefinition};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::list_changes::ListKind;
use crate::{ResultData, Server};

/// Maximum size of the tools on a page, in bytes; some clients accept messages of at most 1 MiB.
const MAX_PAGE_BYTES: usize = 700_000;

/// The tools of loaded skills that one client has listed. They differ between sessions, so their
/// changes are not changes of the server's list.
#[derive(Default)]
pub(crate) struct SessionTools {
    /// The definitions as JSON, sorted.
    listed: Mutex<Option<Vec<String>>>,
    changes: watch::Sender<u64>,
}

impl SessionTools {
    /// Subscribes to changes that a call of the session causes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn record(&self, definitions: &[ToolDefinition]) {
        *lock(&self.listed) = Some(sorted_json(definitions));
    }

    /// Notifies the client if it has listed the tools, and a list would have other tools now.
    pub(crate) async fn notify_if_changed(&self, server: &Server, session: String) {
        if lock(&self.listed).is_none() {
            return;
        }
        let list = move |server: &Server| server.tools().session_definitions(&session);
        // An error is reported by the next list.
        let Ok(Ok(definitions)) = server.run_blocking(list).await else {
            return;
        };
        let now = Some(sorted_json(&definitions));
        if *lock(&self.listed) != now {
            *lock(&self.listed) = now;
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// Returns definitions in a form that is equal for equal sets: a skill that is loaded again moves to
/// the end of the list, which is not a change.
fn sorted_json(definitions: &[ToolDefinition]) -> Vec<String> {
    let mut all: Vec<String> = definitions
        .iter()
        .filter_map(|definition| serde_json::to_string(definition).ok())
        .collect();
    all.sort_unstable();
    all
}

/// Lists the tools, on one page unless they are very many.
pub(crate) async fn list(
    server: &Server,
    caller: &Caller,
    session_tools: &SessionTools,
    request: Option<PaginatedRequestParams>,
) -> Result<ListToolsResult, ErrorData> {
    let session = caller.session.clone();
    let list = move |server: &Server| {
        let shared = list_and_track(server)?;
        let tools = server.tools();
        let own = session.map_or(Ok(Vec::new()), |session| {
            tools.session_definitions(&session)
        })?;
        Ok((shared, own))
    };
    let definitions = server.run_blocking(list).await?;
    let (mut definitions, own) = definitions.map_err(|error: OverrideError| {
        // The cause contains host paths, so only the log has it.
        tracing::error!(%error, "cannot list the tools");
        let message = "cannot list the tools: cannot read the tool overrides";
        ErrorData::internal_error(message, None)
    })?;
    session_tools.record(&own);
    definitions.extend(own);
    let to_tool = |definition| to_mcp_tool(definition, server.inner.result_data);
    let (definitions, next) = paginate(definitions, request.and_then(|request| request.cursor))?;
    let mut result =
        ListToolsResult::with_all_items(definitions.into_iter().map(to_tool).collect());
    (result.ttl_ms, result.cache_scope) = caller.lifecycle.cache_hints();
    result.next_cursor = next;
    Ok(result)
}

/// Lists the current tools and records them as served. Performs blocking I/O.
pub(crate) fn list_and_track(server: &Server) -> Result<Vec<ToolDefinition>, OverrideError> {
    let definitions = server.tools().definitions()?;
    server
        .inner
        .list_tracker
        .update(ListKind::Tools, &definitions);
    Ok(definitions)
}

/// Returns the page after the tool that the cursor names, with the cursor of the next page. If that
/// tool was removed, the cursor is invalid, and the client starts again.
fn paginate(
    mut definitions: Vec<ToolDefinition>,
    cursor: Option<String>,
) -> Result<(Vec<ToolDefinition>, Option<String>), ErrorData> {
    if let Some(cursor) = cursor {
        let last = definitions.iter().position(|tool| tool.name == cursor);
        let last = last.ok_or_else(|| ErrorData::invalid_params("invalid cursor", None))?;
        definitions.drain(..=last);
    }
    let mut bytes = 0;
    let fits = definitions.iter().take_while(|definition| {
        bytes += serde_json::to_vec(definition).map_or(0, |bytes| bytes.len());
        bytes <= MAX_PAGE_BYTES
    });
    // At least one, so that a huge definition does not end the list.
    let fitting = fits.count().max(1);
    let is_more = fitting < definitions.len();
    let next = is_more.then(|| definitions[fitting - 1].name.clone());
    definitions.truncate(fitting);
    Ok((definitions, next))
}

fn to_mcp_tool(tool: ToolDefinition, data: ResultData) -> Tool {
    let input_schema = schema_object(tool.input_schema);
    let annotations = ToolAnnotations::new()
        .read_only(tool.annotations.read_only_hint)
        .destructive(tool.annotations.destructive_hint)
        .idempotent(tool.annotations.idempotent_hint)
        .open_world(tool.annotations.open_world_hint);
    let definition = Tool::new_with_raw(tool.name, Some(tool.description.into()), input_schema)
        .with_title(tool.title)
        .with_annotations(annotations);
    match data {
        ResultData::Meta => definition,
        ResultData::Structured => {
            definition.with_raw_output_schema(schema_object(tool.output_schema))
        }
    }
}

fn schema_object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}
