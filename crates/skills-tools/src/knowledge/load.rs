//! `load_skill`: the text of a skill.

use serde::Deserialize;
use serde_json::json;
use skills_runtime::prompt::DEFAULT_MAX_BYTES;
use skills_runtime::{Entry, Manifest, SkillForm};

use super::{Knowledge, name_of_any_skill};
use crate::definition::{Annotations, Definition};
use crate::run::result::not_run;
use crate::schema;
use crate::shown::Shown;
use crate::{Code, Outcome, ToolError};

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
    pub(crate) is_cut: bool,
    /// What the skill says of itself by now, which may be something else than the catalogue says.
    pub(crate) manifest: Manifest,
}

pub(crate) fn definition() -> Definition {
    Definition {
        name: "load_skill".to_owned(),
        title: "Load a skill".to_owned(),
        description:
            "Gives the instructions of a skill and the list of its files. Follow them for the task at hand; read the files they name with \
                      read_skill_resource."
                .to_owned(),
        input_schema: schema::input(
            json!({
                "name": name_of_any_skill(),
                "max_bytes": {"type": "integer", "minimum": 1024, "maximum": MAX_BYTES, "default": DEFAULT_MAX_BYTES,
                              "description": "The most text; a longer one is cut at a line, and says so."},
            }),
            &["name"],
        ),
        output_schema: schema::output(
            json!({
                "name": {"type": "string"},
                "path": {"type": "string"},
                "text": {"type": "string"},
                "truncated": {"type": "boolean"},
            }),
            &["name", "path", "text", "truncated"],
        ),
        annotations: Annotations::LOOKS,
    }
}

impl Knowledge {
    pub(crate) fn load(&self, arguments: &LoadArguments) -> Result<Outcome, ToolError> {
        let name = arguments.name.as_str();
        let refused = || {
            ToolError::new(
                Code::PermissionDenied,
                format!("skill '{name}' is not for models to choose"),
            )
        };
        let (entry, is_draft) = self.files.skill(name)?;
        if is_draft {
            return Err(refused().hint("it is a draft; read it with skills_read"));
        }
        if !self.runtime.is_offered(&entry) {
            return Err(refused().hint("the user can name it"));
        }
        let SkillText {
            text,
            is_cut,
            manifest,
        } = self.text_of(&entry, arguments.max_bytes)?;
        if !manifest.model_invocable() {
            return Err(refused().hint("the user can name it"));
        }
        let data = json!({"name": name, "path": format!("skills/{name}"), "text": text, "truncated": is_cut});
        Ok(Outcome::new(text, data))
    }

    /// Reads the text of a skill, framed, without paths of this machine.
    pub(crate) fn text_of(
        &self,
        entry: &Entry,
        max_bytes: Option<usize>,
    ) -> Result<SkillText, ToolError> {
        let name = entry.name().as_str();
        let shown = Shown::default().with(entry.directory(), format!("/skills/{name}"));
        let directory = entry.directory().to_string_lossy();
        let injected = self
            .runtime
            .inject_skill(&directory, SkillForm::Fenced, max_bytes);
        let injected = injected.map_err(|error| not_run(&error, Some(name), &shown))?;
        // Read after the text: what the skill forbids when its text is read is forbidden here as
        // well.
        let document = entry.open().and_then(|files| files.document());
        let document = document.map_err(|_| {
            ToolError::new(
                Code::SkillNotFound,
                format!("skill '{name}' cannot be read any more"),
            )
        })?;
        Ok(SkillText {
            text: shown.text(&injected.text),
            is_cut: injected.left_out.is_some(),
            manifest: document.manifest().clone(),
        })
    }
}
