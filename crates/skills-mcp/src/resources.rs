//! `resources/list`, `resources/templates/list` and `resources/read`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use skills_tools::runtime::ledger::{ActivatedBy, Activity};
use skills_tools::{CallContext, PublicationError, PublishedSkill, ToolErrorCode, ToolOutput};

use crate::caller::{Caller, Lifecycle};
use crate::pagination::PAGE_SIZE;
use crate::skills_extension::SKILL_FILE;
use crate::{Server, served_skills, skill_index, uri};

/// Maximum size of a tool file as a resource; larger files are read in parts with the tools.
const MAX_BYTES: u64 = 4 << 20;

/// Lists the index of all skills, and the `SKILL.md` of each, ordered by name. Other files are listed
/// by `skills/get` and as directories.
pub(crate) async fn list(
    server: &Server,
    lifecycle: Lifecycle,
    request: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    let cursor = cursor.filter(|cursor| !cursor.is_empty());
    // The first page has the index.
    let index = cursor.is_none().then(skill_index::resource);
    let limit = PAGE_SIZE - usize::from(index.is_some());
    let page = served_skills::page(server, cursor, limit).await?;
    let skills = page.items.iter().map(|skill| skill_resource(skill));
    let mut result = ListResourcesResult::with_all_items(index.into_iter().chain(skills).collect());
    (result.ttl_ms, result.cache_scope) = lifecycle.cache_hints();
    result.next_cursor = page.next;
    Ok(result)
}

fn skill_resource(skill: &PublishedSkill) -> Resource {
    let mut resource = Resource::new(uri::skill_uri(&skill.name, SKILL_FILE), &skill.name)
        .with_description(skill.visible_description())
        .with_mime_type("text/markdown");
    resource.size = skill.file(SKILL_FILE).map(|file| file.bytes);
    resource
}

/// Returns the URI templates of all other resources.
pub(crate) fn list_templates(lifecycle: Lifecycle) -> ListResourceTemplatesResult {
    let of_skill = ResourceTemplate::new("skill://{name}/{+path}", "skill-file")
        .with_title("File of a skill")
        .with_description("A file of a skill by its path relative to the skill, such as `SKILL.md` or `references/table.md`");
    let of_tools = ResourceTemplate::new("skills-files:///{+path}", "file")
        .with_title("File of the workspace or a mount")
        .with_description("A file by its virtual path, such as `workspace/out.csv`");
    let mut result = ListResourceTemplatesResult::with_all_items(vec![of_skill, of_tools]);
    (result.ttl_ms, result.cache_scope) = lifecycle.cache_hints();
    result
}

/// Reads the index, a published file of a skill, or a file that tools can read.
pub(crate) async fn read(
    server: &Server,
    caller: &Caller,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let skill_file = uri::parse_skill_uri(uri).filter(|(_, path)| !path.is_empty());
    let contents = match (skill_file, uri::parse_file_uri(uri)) {
        _ if uri == skill_index::INDEX_URI => skill_index::read(server).await?,
        (Some((skill, path)), _) => read_skill_file(server, caller, uri, skill, path).await?,
        (None, Some(path)) => read_tool_file(server, caller, uri, path).await?,
        (None, None) => return Err(resource_not_found(uri)),
    };
    let mut result = ReadResourceResult::new(vec![contents]);
    (result.ttl_ms, result.cache_scope) = caller.lifecycle.cache_hints();
    Ok(result)
}

async fn read_skill_file(
    server: &Server,
    caller: &Caller,
    uri: &str,
    skill: String,
    path: String,
) -> Result<ResourceContents, ErrorData> {
    let session = caller.session.clone();
    let read = server
        .run_blocking(move |server| {
            let tools = server.tools();
            let file = tools.published_file(&skill, &path)?;
            // To read its `SKILL.md` is to activate a skill.
            let activity = if path == SKILL_FILE {
                Activity::Activated(ActivatedBy::Implicit)
            } else {
                Activity::ReferenceRead
            };
            tools.record_use([skill.as_str()], activity, session.as_deref());
            Ok::<_, PublicationError>(file)
        })
        .await?;
    // One error for all causes: why a skill is not published is for the operator only.
    let file = read.map_err(|error| {
        tracing::debug!(%error, "cannot serve a file of a skill");
        resource_not_found(uri)
    })?;
    let contents = match file.text() {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(STANDARD.encode(&file.content), uri),
    };
    Ok(contents.with_mime_type(file.file.media_type))
}

/// Reads a file like `skills_read`, with the same restrictions.
async fn read_tool_file(
    server: &Server,
    caller: &Caller,
    uri: &str,
    path: String,
) -> Result<ResourceContents, ErrorData> {
    let context = CallContext::default();
    let context = caller.session.iter().fold(context, CallContext::session);
    let tools = server.tools();
    let read = async |encoding: &str| {
        let arguments = json!({"path": path, "encoding": encoding, "limit": MAX_BYTES});
        let output = tools.call("skills_read", arguments, &context);
        output.await.map_err(|_| resource_not_found(uri))
    };
    // Text if possible, which clients can show without decoding.
    let mut output = read("auto").await?;
    if output.has_code(ToolErrorCode::BinaryFile) {
        output = read("base64").await?;
    }
    if output.is_error {
        return Err(read_error(&output, uri));
    }
    let data = &output.structured;
    if data["truncated"] == true {
        let message =
            format!("the file is larger than {MAX_BYTES} bytes; read it in parts with skills_read");
        return Err(ErrorData::invalid_params(message, uri::error_data(uri)));
    }
    let content = data["content"].as_str().unwrap_or_default();
    let contents = match data["encoding"].as_str() {
        Some("base64") => ResourceContents::blob(content, uri),
        _ => ResourceContents::text(content, uri),
    };
    let mime_type = data["mime_type"].as_str().into_iter();
    Ok(mime_type.fold(contents, ResourceContents::with_mime_type))
}

fn read_error(output: &ToolOutput, uri: &str) -> ErrorData {
    let message = output.structured["error"]["message"].as_str();
    let message = message.unwrap_or("cannot read the file").to_owned();
    if output.has_code(ToolErrorCode::Internal) {
        ErrorData::internal_error(message, uri::error_data(uri))
    } else {
        ErrorData::resource_not_found(message, uri::error_data(uri))
    }
}

/// Returns the error of an unknown URI; its code depends on the protocol version.
fn resource_not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("resource not found", uri::error_data(uri))
}
