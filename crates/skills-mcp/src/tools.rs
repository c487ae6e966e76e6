//! `tools/list`.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations};
use serde_json::Value;
use skills_tools::{Annotations, Definition, OverrideError};

use crate::Server;
use crate::caller::Era;
use crate::changes::List;

/// The most bytes that the tools of a page have; some clients take no longer message than 1 MiB.
const MAX_PAGE: usize = 700_000;

/// Lists the tools, on one page unless they are very many.
pub(crate) async fn list(
    server: &Server,
    era: Era,
    request: Option<PaginatedRequestParams>,
) -> Result<ListToolsResult, ErrorData> {
    let definitions = server.blocking(all).await?.map_err(|error| {
        tracing::error!(%error, "the tools cannot be listed");
        ErrorData::internal_error(
            "the tools cannot be listed: what administrators changed about them cannot be read",
            None,
        )
    })?;
    let (definitions, next) = page(definitions, request.and_then(|request| request.cursor))?;
    let mut result = ListToolsResult::with_all_items(definitions.into_iter().map(tool).collect());
    (result.ttl_ms, result.cache_scope) = era.hints();
    result.next_cursor = next;
    Ok(result)
}

/// Lists them as they are now, and notes that clients are told so. Blocks on the disk.
pub(crate) fn all(server: &Server) -> Result<Vec<Definition>, OverrideError> {
    let definitions = server.shared.tools.definitions()?;
    server.shared.changes.note(List::Tools, &definitions);
    Ok(definitions)
}

/// Takes the page that begins behind the tool which the cursor names, and says where the next one
/// begins. A cursor whose tool is gone is none any more: then a client begins again.
fn page(
    mut definitions: Vec<Definition>,
    cursor: Option<String>,
) -> Result<(Vec<Definition>, Option<String>), ErrorData> {
    if let Some(cursor) = cursor {
        let last = definitions
            .iter()
            .position(|definition| definition.name == cursor);
        let last = last
            .ok_or_else(|| ErrorData::invalid_params("the cursor is none of this server", None))?;
        definitions.drain(..=last);
    }
    let mut bytes = 0;
    let fits = definitions.iter().take_while(|definition| {
        bytes += serde_json::to_vec(definition).map_or(0, |bytes| bytes.len());
        bytes <= MAX_PAGE
    });
    let fitting = fits.count().max(1);
    let is_more = fitting < definitions.len();
    definitions.truncate(fitting);
    let next = definitions
        .last()
        .filter(|_| is_more)
        .map(|last| last.name.clone());
    Ok((definitions, next))
}

fn tool(definition: Definition) -> Tool {
    let Definition {
        name,
        title,
        description,
        input_schema,
        output_schema,
        annotations,
        ..
    } = definition;
    Tool::new_with_raw(name, Some(description.into()), object(input_schema))
        .with_title(title)
        .with_raw_output_schema(object(output_schema))
        .with_annotations(hints(annotations))
}

fn hints(annotations: Annotations) -> ToolAnnotations {
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

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}
