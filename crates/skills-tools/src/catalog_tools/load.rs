//! `load_skill`: the text of a skill.

use serde::Deserialize;
use serde_json::json;
use skills_runtime::prompt::DEFAULT_MAX_INJECTION_BYTES;
use skills_runtime::{Entry, InjectionFormat, Manifest};

use super::{CatalogTools, any_skill_name_schema};
use crate::path_map::PathMap;
use crate::run::output::run_error;
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{ToolError, ToolErrorCode, ToolOutput};

/// The longest text that is given at once, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The arguments of `load_skill`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadArguments {
    name: String,
    max_bytes: Option<usize>,
}

/// The text of a skill as a model is given it.
pub(crate) struct SkillText {
    pub(crate) text: String,
    /// Whether it is not all of it.
    pub(crate) is_truncated: bool,
    /// What the skill says of itself by now, which may be something else than the catalogue says.
    pub(crate) manifest: Manifest,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "load_skill".to_owned(),
        title: "Load a skill".to_owned(),
        description:
            "Gives the instructions of a skill and the list of its files. Follow them for the task at hand; read the files they name with \
                      read_skill_resource."
                .to_owned(),
        input_schema: schema::input_schema(
            json!({
                "name": any_skill_name_schema(),
                "max_bytes": {"type": "integer", "minimum": 1024, "maximum": MAX_BYTES, "default": DEFAULT_MAX_INJECTION_BYTES,
                              "description": "The most text; a longer one is cut at a line, and says so."},
            }),
            &["name"],
        ),
        output_schema: schema::output_schema(
            json!({
                "name": {"type": "string"},
                "path": {"type": "string"},
                "text": {"type": "string"},
                "truncated": {"type": "boolean"},
            }),
            &["name", "path", "text", "truncated"],
        ),
        annotations: Annotations::READ_ONLY,
    }
}

impl CatalogTools {
    pub(crate) fn load(&self, arguments: &LoadArguments) -> Result<ToolOutput, ToolError> {
        let name = arguments.name.as_str();
        let refused = || {
            ToolError::new(
                ToolErrorCode::PermissionDenied,
                format!("skill '{name}' is not for models to choose"),
            )
        };
        let (entry, is_draft) = self.files.find_skill(name)?;
        if is_draft {
            return Err(refused().with_hint("it is a draft; read it with skills_read"));
        }
        if !self.runtime.is_model_invocable(&entry) {
            return Err(refused().with_hint("the user can name it"));
        }
        let SkillText {
            text,
            is_truncated: is_cut,
            manifest,
        } = self.load_text(&entry, arguments.max_bytes)?;
        if !manifest.model_invocable() {
            return Err(refused().with_hint("the user can name it"));
        }
        let data = json!({"name": name, "path": format!("skills/{name}"), "text": text, "truncated": is_cut});
        Ok(ToolOutput::new(text, data))
    }

    /// Reads the text of a skill, framed, without paths of this machine.
    pub(crate) fn load_text(
        &self,
        entry: &Entry,
        max_bytes: Option<usize>,
    ) -> Result<SkillText, ToolError> {
        let name = entry.name().as_str();
        let shown = PathMap::default().add(entry.directory(), format!("/skills/{name}"));
        let directory = entry.directory().to_string_lossy();
        let injected = self
            .runtime
            .inject_skill(&directory, InjectionFormat::Fenced, max_bytes);
        let injected = injected.map_err(|error| run_error(&error, Some(name), &shown))?;
        // Read after the text: what the skill forbids when its text is read is forbidden here as
        // well.
        let document = entry.open().and_then(|files| files.document());
        let document = document.map_err(|_| {
            ToolError::new(
                ToolErrorCode::SkillNotFound,
                format!("skill '{name}' cannot be read any more"),
            )
        })?;
        Ok(SkillText {
            text: shown.replace_in(&injected.text),
            is_truncated: injected.omitted.is_some(),
            manifest: document.manifest().clone(),
        })
    }
}
