//! Name, capabilities and instructions of the server.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, Implementation, ServerCapabilities, ServerConfig};

/// What the instructions say to clients with the Skills extension.
const EXTENSION_NOTE: &str =
    "Clients with the Skills extension use skills/list and skills/get instead of the first steps.";

/// Returns the instructions of the tools with those for clients.
pub(crate) fn complete_instructions(instructions: &str) -> String {
    format!("{instructions}{EXTENSION_NOTE}")
}

/// Returns what the server reports of itself, without instructions.
pub(crate) fn server_config(version: &str) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_completions()
        .enable_skills_with_directory_read()
        .build();
    let implementation = Implementation::new("skills", version)
        .with_title("Skills")
        .with_description("Finds, reads and safely runs agent skills");
    ServerConfig::new(capabilities).with_server_info(implementation)
}

/// The methods with parameters.
const METHODS_WITH_PARAMS: [&str; 13] = [
    "initialize",
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// Returns the error of a request with invalid parameters or an unknown method.
pub(crate) fn invalid_request_error(method: &str) -> ErrorData {
    // rmcp passes known methods with invalid parameters on as custom requests.
    if METHODS_WITH_PARAMS.contains(&method) {
        return ErrorData::invalid_params(format!("invalid params of {method}"), None);
    }
    method_not_found(method)
}

/// Returns the error of a request whose method does not exist in its protocol version.
pub(crate) fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("method not found: {}", quote_for_error(method)),
        None,
    )
}

/// Quotes client input in an error message, truncated.
pub(crate) fn quote_for_error(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    // Client input in logs and terminals: escaped, and not longer than needed to recognize it.
    match text.char_indices().nth(MAX_CHARS) {
        None => format!("`{}`", text.escape_debug()),
        Some((end, _)) => format!("`{}…`", text[..end].escape_debug()),
    }
}
