//! Tools with which a model without file access finds and reads skills.

pub(crate) mod load;
pub(crate) mod references;
pub(crate) mod resource;
pub(crate) mod search;

use std::sync::Arc;

use serde_json::{Value, json};
use skills_runtime::{Catalog, SkillRuntime};

use crate::ToolGroup;
use crate::file_tools::FileTools;

/// Maximum number of names that a schema lists.
const MAX_ENUM_NAMES: usize = 100;
/// Maximum number of bytes of all names in a schema together.
const MAX_ENUM_BYTES: usize = 4 * 1024;

/// Implements the tools with which a model without file access finds and reads skills.
pub(crate) struct CatalogTools {
    pub(crate) runtime: SkillRuntime,
    pub(crate) files: Arc<FileTools>,
    /// The groups of tools that a model can call.
    pub(crate) groups: Vec<ToolGroup>,
}

/// Returns the schema of a skill name, without listing names.
fn any_skill_name_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill; find it with search_skills."})
}

/// Returns the schema of a skill name as an `enum` of the available skills, unless there are too
/// many to list.
pub(crate) fn skill_name_schema(runtime: &SkillRuntime, catalog: &Catalog) -> Value {
    let mut names: Vec<&str> = catalog
        .entries()
        .iter()
        .filter(|entry| runtime.library().is_model_invocable(entry))
        .map(|entry| entry.name().as_str())
        .collect();
    // Ambiguous names occur several times, next to each other, and the values of an `enum` should
    // be unique.
    names.dedup();
    let bytes: usize = names.iter().map(|name| name.len()).sum();
    if names.is_empty() || names.len() > MAX_ENUM_NAMES || bytes > MAX_ENUM_BYTES {
        return any_skill_name_schema();
    }
    json!({"type": "string", "enum": names, "description": "Name of the skill."})
}
