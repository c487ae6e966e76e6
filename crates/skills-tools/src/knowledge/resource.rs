//! `read_skill_resource`: a file of a skill.

use serde::Deserialize;
use serde_json::json;

use super::name_of_any_skill;
use crate::definition::{Annotations, Definition};
use crate::file_tools::FileTools;
use crate::file_tools::read::{self, ReadArguments};
use crate::path::{VirtualPath, shown};
use crate::schema;
use crate::{Code, Outcome, ToolError};

/// What a call without a limit reads, as `skills_read` has it.
const DEFAULT_BYTES: u64 = 256 << 10;

/// The arguments of `read_skill_resource`.
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

pub(crate) fn definition() -> Definition {
    let of_read = read::definition();
    let mut properties = json!({
        "name": name_of_any_skill(),
        "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file in the skill, such as `references/table.md`."},
    });
    for name in ["offset", "limit", "encoding"] {
        properties[name] = of_read.input_schema["properties"][name].clone();
    }
    // There is no choice of lines here.
    properties["offset"]["description"] = json!("Where to begin, in bytes.");
    properties["limit"]["description"] = json!(format!(
        "How many bytes; {DEFAULT_BYTES} when nothing is said."
    ));
    Definition {
        name: "read_skill_resource".to_owned(),
        title: "Read a file of a skill".to_owned(),
        description: "Reads a file of a skill that its instructions name. Long files come in parts: pass the `next_offset` of one as the `offset` of the next."
            .to_owned(),
        input_schema: schema::input(properties, &["name", "path"]),
        output_schema: of_read.output_schema,
        annotations: Annotations::LOOKS,
    }
}

impl FileTools {
    /// Reads a file of a skill.
    pub(crate) fn resource(&self, arguments: &ResourceArguments) -> Result<Outcome, ToolError> {
        let ResourceArguments {
            name,
            path,
            offset,
            limit,
            encoding,
        } = arguments;
        let whole = VirtualPath::in_skill(name, path)?.to_string();
        if self
            .skill(name)
            .is_ok_and(|(entry, is_draft)| !is_draft && !self.runtime.is_offered(&entry))
        {
            let error = ToolError::new(
                Code::PermissionDenied,
                format!("skill '{name}' is not for models to choose"),
            );
            return Err(error.hint("the user can name it"));
        }
        let mut document = json!({"path": whole, "offset": offset});
        if let Some(limit) = limit {
            document["limit"] = json!(limit);
        }
        if let Some(encoding) = encoding {
            document["encoding"] = json!(encoding);
        }
        let wrong =
            |error: serde_json::Error| ToolError::new(Code::InvalidArguments, error.to_string());
        let read = self.read(&serde_json::from_value::<ReadArguments>(document).map_err(wrong)?);
        read.map_err(|error| ToolError {
            message: error
                .message
                .replace(&format!("'{whole}'"), &format!("'{}'", shown(path))),
            ..error
        })
    }
}
