//! `tools/list`.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, Tool, ToolAnnotations};
use serde_json::Value;
use skills_tools::{Annotations, Definition, OverrideError};

use crate::Server;
use crate::caller::Era;
use crate::changes::List;

/// Lists all tools, on one page.
pub(crate) async fn list(server: &Server, era: Era) -> Result<ListToolsResult, ErrorData> {
    let definitions = server.blocking(all).await?.map_err(|error| {
        tracing::error!(%error, "the tools cannot be listed");
        ErrorData::internal_error("the tools cannot be listed: what administrators changed about them cannot be read", None)
    })?;
    let mut result = ListToolsResult::with_all_items(definitions.into_iter().map(tool).collect());
    (result.ttl_ms, result.cache_scope) = era.hints();
    Ok(result)
}

/// Lists them as they are now, and notes that clients are told so. Blocks on the disk.
pub(crate) fn all(server: &Server) -> Result<Vec<Definition>, OverrideError> {
    let definitions = server.shared.tools.definitions()?;
    server.shared.changes.note(List::Tools, &definitions);
    Ok(definitions)
}

fn tool(definition: Definition) -> Tool {
    let Definition { name, title, description, input_schema, output_schema, annotations, .. } = definition;
    Tool::new_with_raw(name, Some(description.into()), object(input_schema))
        .with_title(title)
        .with_raw_output_schema(object(output_schema))
        .with_annotations(hints(annotations))
}

fn hints(annotations: Annotations) -> ToolAnnotations {
    let Annotations { read_only_hint, destructive_hint, idempotent_hint, open_world_hint, .. } = annotations;
    ToolAnnotations::new().read_only(read_only_hint).destructive(destructive_hint).idempotent(idempotent_hint).open_world(open_world_hint)
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}
