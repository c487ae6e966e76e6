//! What a host sees of a skill.

use std::path::PathBuf;

use serde::Serialize;
use skills_discovery::{Entry, ResourceListing, Scope};
use skills_manifest::{Document, Manifest};

/// The metadata of a skill: enough to choose by, about a hundred tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillDescriptor {
    /// What the skill is called in [`get_skill`](crate::SkillRuntime::get_skill) and
    /// [`execute_skill`](crate::SkillRuntime::execute_skill).
    pub id: String,
    /// What it is for, as its author wrote it.
    pub description: String,
    /// Whose root it lies in: `custom`, `repo`, `user`, `system` or `admin`.
    pub location: &'static str,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// Whether a user may call it by name.
    pub user_invocable: bool,
    /// Whether the model may choose it by itself.
    pub model_invocable: bool,
}

impl SkillDescriptor {
    pub(crate) fn new(entry: &Entry) -> Self {
        Self {
            id: entry.name().to_string(),
            description: entry.manifest().description().to_owned(),
            location: entry.scope().as_str(),
            path: entry.location(),
            user_invocable: entry.manifest().user_invocable(),
            model_invocable: entry.manifest().model_invocable(),
        }
    }
}

/// A skill with its instructions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedSkill {
    /// Its name.
    pub id: String,
    /// Its frontmatter.
    pub manifest: Manifest,
    /// The body of its `SKILL.md`, as written.
    pub instructions: String,
    /// Whose root it lies in.
    pub location: Scope,
    /// Its directory, against which relative paths in the instructions resolve.
    pub directory: PathBuf,
    /// Its other files: named, not read.
    pub resources: ResourceListing,
    /// The headings and relative links of its instructions.
    pub outline: skills_manifest::Outline,
}

impl LoadedSkill {
    pub(crate) fn new(entry: &Entry, document: &Document, resources: ResourceListing) -> Self {
        Self {
            id: entry.name().to_string(),
            manifest: document.manifest().clone(),
            instructions: document.body().to_owned(),
            location: entry.scope(),
            directory: entry.directory().to_owned(),
            resources,
            outline: document.outline(),
        }
    }
}
