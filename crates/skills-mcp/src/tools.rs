//! `tools/list`.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations};
use serde_json::Value;
use skills_tools::{Annotations, OverrideError, ToolDefinition};

use crate::Server;
use crate::caller::Lifecycle;
use crate::list_changes::ListKind;

/// Maximum size of the tools on a page, in bytes; some clients accept messages of at most 1 MiB.
const MAX_PAGE_BYTES: usize = 700_000;

/// Lists the tools, on one page unless they are very many.
pub(crate) async fn list(
    server: &Server,
    lifecycle: Lifecycle,
    request: Option<PaginatedRequestParams>,
) -> Result<ListToolsResult, ErrorData> {
    let definitions = server
        .run_blocking(list_and_track)
        .await?
        .map_err(|error| {
            // The cause contains host paths, so only the log has it.
            tracing::error!(%error, "cannot list the tools");
            ErrorData::internal_error(
                "cannot list the tools: cannot read the tool overrides",
                None,
            )
        })?;
    let (definitions, next) = paginate(definitions, request.and_then(|request| request.cursor))?;
    let mut result =
        ListToolsResult::with_all_items(definitions.into_iter().map(to_mcp_tool).collect());
    (result.ttl_ms, result.cache_scope) = lifecycle.cache_hints();
    result.next_cursor = next;
    Ok(result)
}

/// Lists the current tools and records them as served. Performs blocking I/O.
pub(crate) fn list_and_track(server: &Server) -> Result<Vec<ToolDefinition>, OverrideError> {
    let definitions = server.inner.tools.definitions()?;
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
        let last = definitions
            .iter()
            .position(|definition| definition.name == cursor);
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
    definitions.truncate(fitting);
    let next = definitions
        .last()
        .filter(|_| is_more)
        .map(|last| last.name.clone());
    Ok((definitions, next))
}

fn to_mcp_tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition {
        name,
        title,
        description,
        input_schema,
        output_schema,
        annotations,
        ..
    } = definition;
    Tool::new_with_raw(name, Some(description.into()), schema_object(input_schema))
        .with_title(title)
        .with_raw_output_schema(schema_object(output_schema))
        .with_annotations(to_mcp_annotations(annotations))
}

fn to_mcp_annotations(annotations: Annotations) -> ToolAnnotations {
    let Annotations {
        read_only_hint,
        destructive_hint,
        idempotent_hint,
        open_world_hint,
        ..
    } = annotations;
    ToolAnnotations::new()
        .read_only(read_only_hint)
        .destructive(destructive_hint)
        .idempotent(idempotent_hint)
        .open_world(open_world_hint)
}

fn schema_object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}
