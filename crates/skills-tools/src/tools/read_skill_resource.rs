//! `read_skill_resource`: returns a file of a skill.

use serde_json::{Value, json};

use super::skills_read;
use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, Tool, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_path::{VirtualPath, escape_for_display};
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

pub(crate) const TOOL: Tool = Tool {
    name: "read_skill_resource",
    groups: &[ToolGroup::Catalog],
    title: "Read a file of a skill",
    description: "Read a file of a skill that its instructions name. A long file is read in parts.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        let mut properties = json!({
            "name": schema::any_skill_name_schema(),
            "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Path of the file in the skill, such as `references/table.md`."},
        });
        let of_read = (skills_read::TOOL.input_schema)();
        for name in ["offset", "limit", "encoding"] {
            properties[name] = of_read["properties"][name].clone();
        }
        // This tool reads bytes only, so `unit` does not apply.
        properties["offset"]["description"] =
            json!("Where to start, in bytes; named at the end of each part.");
        properties["limit"]["description"] = json!(format!(
            "Size of the part, in bytes; default {}.",
            skills_read::DEFAULT_BYTES
        ));
        schema::input_schema(properties, &["name", "path"])
    },
    output_schema: skills_read::TOOL.output_schema,
    lists_skills: true,
    guide: &[(GuideStep::ReadFiles, "`read_skill_resource`")],
    hooks: None,
    call: Call::Files(call),
};

fn call(context: FileCall<'_>, mut arguments: Value) -> Result<ToolOutput, ToolError> {
    let [name, path] = ["name", "path"].map(|key| text_argument(&arguments, key).to_owned());
    let virtual_path = VirtualPath::in_skill(&name, &path)?.to_string();
    let files = context.files;
    if files
        .find_skill(&name)
        // Unknown names fall through to the read below, which has the suggestions. Drafts are
        // readable, since the model wrote them.
        .is_ok_and(|(entry, is_draft)| {
            !is_draft && !files.runtime.library().is_model_invocable(&entry)
        })
    {
        return Err(ToolErrorCode::PermissionDenied
            .error(format!("skill `{name}` is not available to models"))
            .with_hint("ask your user to invoke it by name"));
    }
    // The other arguments are those of `skills_read`, so that both tools have the same defaults and
    // limits.
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.remove("name");
        arguments.insert("path".to_owned(), json!(virtual_path));
    }
    // The model passed a path relative to the skill, so the error shows it in the same form.
    skills_read::call(context, arguments).map_err(|error| ToolError {
        message: error.message.replace(
            &format!("'{virtual_path}'"),
            &format!("'{}'", escape_for_display(&path)),
        ),
        ..error
    })
}
