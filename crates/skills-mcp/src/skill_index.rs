//! `skill://index.json`: the published skills, in the form of earlier drafts of the Skills
//! extension.
//!
//! Clients that were written for these drafts read this one resource and call neither `skills/list`
//! nor `resources/list`. The form is that of the Agent Skills discovery index, version 0.2.0.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents};
use serde::Serialize;
use skills_tools::PublishedSkill;

use crate::skills_extension::SKILL_FILE;
use crate::{Server, served_skills, uri};

/// The URI of the index. No skill can have it, since names of published skills have no dot.
pub(crate) const INDEX_URI: &str = "skill://index.json";

const MIME_TYPE: &str = "application/json";
/// Clients compare it with exactly this value.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// The type of a skill whose `url` is its `SKILL.md`.
const SKILL_TYPE: &str = "skill-md";

#[derive(Serialize)]
struct Index {
    #[serde(rename = "$schema")]
    schema: &'static str,
    skills: Vec<IndexEntry>,
}

#[derive(Serialize)]
struct IndexEntry {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    description: String,
    url: String,
}

/// Describes the index for `resources/list`. Its size is not known without reading all skills.
pub(crate) fn resource() -> Resource {
    Resource::new(INDEX_URI, "index.json")
        .with_title("Index of the skills")
        .with_description("All skills with name, description and URI")
        .with_mime_type(MIME_TYPE)
}

/// Reads the index. A client that has read it is notified of changes like one that has listed the
/// resources.
///
/// # Errors
/// Fails if the index cannot be serialized.
pub(crate) async fn read(server: &Server) -> Result<ResourceContents, ErrorData> {
    let skills = server.run_blocking(served_skills::all).await?;
    Ok(ResourceContents::text(render(&skills)?, INDEX_URI).with_mime_type(MIME_TYPE))
}

fn render(skills: &[Arc<PublishedSkill>]) -> Result<String, ErrorData> {
    let entry = |skill: &Arc<PublishedSkill>| IndexEntry {
        name: skill.name.clone(),
        kind: SKILL_TYPE,
        description: skill.visible_description(),
        url: uri::skill_uri(&skill.name, SKILL_FILE),
    };
    let index = Index {
        schema: SCHEMA,
        skills: skills.iter().map(entry).collect(),
    };
    serde_json::to_string(&index).map_err(|error| {
        ErrorData::internal_error(format!("cannot serialize the index: {error}"), None)
    })
}
