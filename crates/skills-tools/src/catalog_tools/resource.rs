//! `read_skill_resource`: returns a file of a skill.

use serde::Deserialize;
use serde_json::json;

use super::any_skill_name_schema;
use crate::file_tools::FileTools;
use crate::file_tools::read::{self, DEFAULT_BYTES, ReadArguments};
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::virtual_path::{VirtualPath, escape_for_display};
use crate::{ToolError, ToolErrorCode, ToolOutput};

/// Arguments of `read_skill_resource`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceArguments {
    name: String,
    path: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    encoding: Option<String>,
}

pub(crate) fn definition() -> ToolDefinition {
    let read_definition = read::definition();
    let mut properties = json!({
        "name": any_skill_name_schema(),
        "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Path of the file in the skill, such as `references/table.md`."},
    });
    for name in ["offset", "limit", "encoding"] {
        properties[name] = read_definition.input_schema["properties"][name].clone();
    }
    // This tool reads bytes only, so `unit` does not apply.
    properties["offset"]["description"] =
        json!("Where to start, in bytes; named at the end of each part.");
    properties["limit"]["description"] = json!(format!(
        "Size of the part, in bytes; default {DEFAULT_BYTES}."
    ));
    ToolDefinition {
        name: "read_skill_resource".to_owned(),
        title: "Read a file of a skill".to_owned(),
        description:
            "Read a file of a skill that its instructions name. A long file is read in parts."
                .to_owned(),
        input_schema: schema::input_schema(properties, &["name", "path"]),
        output_schema: read_definition.output_schema,
        annotations: Annotations::READ_ONLY,
    }
}

impl FileTools {
    /// Reads a file of a skill.
    pub(crate) fn read_skill_resource(
        &self,
        arguments: &ResourceArguments,
        session: Option<&str>,
    ) -> Result<ToolOutput, ToolError> {
        let ResourceArguments {
            name,
            path,
            offset,
            limit,
            encoding,
        } = arguments;
        let virtual_path = VirtualPath::in_skill(name, path)?.to_string();
        if self
            .find_skill(name)
            // Unknown names fall through to the read below, which has the suggestions. Drafts are
            // readable, since the model wrote them.
            .is_ok_and(|(entry, is_draft)| {
                !is_draft && !self.runtime.library().is_model_invocable(&entry)
            })
        {
            return Err(ToolErrorCode::PermissionDenied
                .error(format!("skill `{name}` is not available to models"))
                .with_hint("ask the user to invoke it by name"));
        }
        // Goes through the arguments of `skills_read`, so that both tools have the same defaults
        // and limits.
        let mut document = json!({"path": virtual_path, "offset": offset});
        if let Some(limit) = limit {
            document["limit"] = json!(limit);
        }
        if let Some(encoding) = encoding {
            document["encoding"] = json!(encoding);
        }
        let invalid =
            |error: serde_json::Error| ToolErrorCode::InvalidArguments.error(error.to_string());
        let document: ReadArguments = serde_json::from_value(document).map_err(invalid)?;
        let output = self.read(&document, session);
        // The model passed a path relative to the skill, so the error shows it in the same form.
        output.map_err(|error| ToolError {
            message: error.message.replace(
                &format!("'{virtual_path}'"),
                &format!("'{}'", escape_for_display(path)),
            ),
            ..error
        })
    }
}
