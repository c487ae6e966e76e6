//! Skills as returned to host applications.

use std::path::PathBuf;

use serde::Serialize;
use skills_discovery::{Entry, ResourceListing, Scope};
use skills_manifest::Manifest;

use crate::error::LibraryError;
use crate::opened_skill::{OpenedSkill, read_error};

/// The metadata of a skill, from which a model or user selects one; about 100 tokens.
///
/// [`Library::discover_skills`](crate::Library::discover_skills) returns one for each active skill.
/// The instructions are not read; [`Library::get_skill`](crate::Library::get_skill) returns them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillDescriptor {
    /// Name of the skill, by which it is loaded and run.
    pub id: String,
    /// Description from the frontmatter.
    pub description: String,
    /// Scope of its root: `custom`, `repo`, `user`, `system` or `admin`.
    pub location: &'static str,
    /// Path of its `SKILL.md`.
    pub path: PathBuf,
    /// Whether a user can invoke it by name.
    pub user_invocable: bool,
    /// Whether the model can activate it by itself.
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

/// A skill with its manifest and instructions, as
/// [`Library::get_skill`](crate::Library::get_skill) reads it.
///
/// The bundled resources are listed, but not read. Relative paths in the instructions refer to the
/// skill directory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedSkill {
    /// Name of the skill.
    pub id: String,
    /// Parsed frontmatter.
    pub manifest: Manifest,
    /// Body of its `SKILL.md`, unmodified.
    pub instructions: String,
    /// Scope of its root.
    pub location: Scope,
    /// Skill directory.
    pub directory: PathBuf,
    /// Bundled resources: paths and sizes.
    pub resources: ResourceListing,
    /// Headings and relative links of the instructions.
    pub outline: skills_manifest::Outline,
}

impl LoadedSkill {
    /// Reads the instructions and lists the files of an opened skill.
    pub(crate) fn read(skill: OpenedSkill<'_>) -> Result<Self, LibraryError> {
        let OpenedSkill {
            entry,
            files,
            document,
        } = skill;
        let resources = files.list("").map_err(|source| read_error(entry, source))?;
        Ok(Self {
            id: entry.name().to_string(),
            manifest: document.manifest().clone(),
            instructions: document.body().to_owned(),
            location: entry.scope(),
            directory: entry.directory().to_owned(),
            resources,
            outline: document.outline(),
        })
    }
}
