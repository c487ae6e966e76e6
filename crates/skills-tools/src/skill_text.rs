//! The text of a skill for a model.

use skills_runtime::{Entry, InjectionFormat, Manifest, SkillRuntime, TextPart};

use crate::path_map::PathMap;
use crate::run::output::run_error;
use crate::{ToolError, ToolErrorCode};

/// The text of a skill as it is injected into the context of a model.
pub(crate) struct SkillText {
    pub(crate) text: String,
    /// The offset of the next part, if the text is truncated.
    pub(crate) next_offset: Option<usize>,
    /// The manifest at the time of reading, which may differ from the manifest in the catalog.
    pub(crate) manifest: Manifest,
}

impl SkillText {
    /// Reads the text of a skill with its delimiters. Host paths in it are replaced by virtual
    /// paths.
    pub(crate) fn load(
        runtime: &SkillRuntime,
        entry: &Entry,
        part: TextPart,
    ) -> Result<Self, ToolError> {
        let name = entry.name().as_str();
        let path_map = PathMap::default().add(entry.directory(), format!("/skills/{name}"));
        let directory = entry.directory().to_string_lossy();
        let injection = runtime
            .prompt()
            .inject_part(&directory, InjectionFormat::Fenced, part);
        let injection =
            injection.map_err(|error| run_error(&error.into(), Some(name), &path_map))?;
        // Read after the text, so that a restriction that is in the file when the text is read
        // applies here, too.
        let document = entry.open().and_then(|files| files.document());
        let document = document.map_err(|_| {
            ToolErrorCode::SkillNotFound.error(format!(
                "cannot read skill `{name}`: it changed or was removed"
            ))
        })?;
        Ok(Self {
            text: path_map.replace_in(&injection.text),
            next_offset: injection.omitted.map(|omitted| omitted.offset),
            manifest: document.manifest().clone(),
        })
    }
}
