//! The tools by which a model without file access finds and reads skills.

pub(crate) mod load;
pub(crate) mod resource;
pub(crate) mod search;

use std::sync::Arc;

use serde_json::{Value, json};
use skills_runtime::{Catalog, SkillRuntime};

use crate::file_tools::FileTools;

/// The most names that a schema lists.
const MAX_ENUM_NAMES: usize = 100;
/// The most bytes of all names in a schema together.
const MAX_ENUM_BYTES: usize = 4 * 1024;

/// The tools by which a model without file access finds and reads skills.
pub(crate) struct CatalogTools {
    pub(crate) runtime: SkillRuntime,
    pub(crate) files: Arc<FileTools>,
}

/// The name of a skill as a schema says it, whichever skills there are.
fn any_skill_name_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "The skill; find it with search_skills."})
}

/// The name of a skill as a schema says it: one of those that there are, as long as these are few
/// enough to be listed.
pub(crate) fn skill_name_schema(runtime: &SkillRuntime, catalog: &Catalog) -> Value {
    let mut names: Vec<&str> = catalog
        .entries()
        .iter()
        .filter(|entry| runtime.is_model_invocable(entry))
        .map(|entry| entry.name().as_str())
        .collect();
    names.dedup();
    let bytes: usize = names.iter().map(|name| name.len()).sum();
    if names.is_empty() || names.len() > MAX_ENUM_NAMES || bytes > MAX_ENUM_BYTES {
        return any_skill_name_schema();
    }
    json!({"type": "string", "enum": names, "description": "The skill."})
}
