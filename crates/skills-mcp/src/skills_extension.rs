//! The Skills extension (SEP-2640): `skills/list`, `skills/get` and `resources/directory/read`.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, DIRECTORY_MIME_TYPE, GetSkillResult, ListSkillsResult, PaginatedRequestParams,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, Resource, Skill,
    SkillFrontmatter, SkillResource, SkillResources,
};
use skills_tools::PublishedSkill;
use skills_tools::runtime::ledger::Activity;

use crate::caller::CACHE_TTL_MS;
use crate::pagination::{PAGE_SIZE, Page};
use crate::{Server, served_skills, uri};

/// Name of the file that makes a directory a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// Lists the skills with the digests of all their files.
pub(crate) async fn list(
    server: &Server,
    session: Option<String>,
    request: Option<PaginatedRequestParams>,
) -> Result<ListSkillsResult, ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    let page = served_skills::page(server, cursor, PAGE_SIZE).await?;
    let names = page.items.iter().map(|skill| skill.name.as_str());
    let tools = server.tools();
    tools.record_use(names, Activity::Offered, session.as_deref());
    let skills = page.items.iter().map(|skill| skill_entry(skill)).collect();
    let mut result = ListSkillsResult::with_all_items(skills)
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = page.next;
    Ok(result)
}

/// Describes one skill.
pub(crate) async fn get(server: &Server, uri: String) -> Result<GetSkillResult, ErrorData> {
    let not_found = || resource_not_found("skill not found", &uri);
    let (name, _) = parse_canonical_uri(&uri)
        .filter(|(_, path)| path == SKILL_FILE)
        .ok_or_else(not_found)?;
    let read = move |server: &Server| {
        let skill = server.tools().published_skill(&name)?;
        served_skills::record(server, &skill);
        Some(skill)
    };
    let skill = server.run_blocking(read).await?.ok_or_else(not_found)?;
    let entry = skill_entry(&skill);
    Ok(GetSkillResult::new(entry)
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Private))
}

pub(crate) async fn list_directory(
    server: &Server,
    request: ReadResourceDirectoryRequestParams,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let not_found = || resource_not_found("directory not found", &request.uri);
    let (name, path) = parse_canonical_uri(&request.uri).ok_or_else(not_found)?;
    let skill = server
        .run_blocking(move |server| server.tools().published_skill(&name))
        .await?
        .ok_or_else(not_found)?;
    let children = list_children(&skill, &path);
    // Directories exist through their files, so an empty one cannot be told from a missing one.
    if children.is_empty() {
        return Err(not_found());
    }
    let page = Page::after_cursor(children, |child| &child.name, request.cursor)?;
    let mut result = ReadResourceDirectoryResult::with_all_items(page.items)
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = page.next;
    Ok(result)
}

/// Parses a URI in its canonical spelling only, so that one file or directory has one URI.
fn parse_canonical_uri(uri: &str) -> Option<(String, String)> {
    uri::parse_skill_uri(uri).filter(|(name, path)| uri::skill_uri(name, path) == uri)
}

/// Returns the error of an unknown URI, whose code the extension requires in all protocol versions.
fn resource_not_found(message: &'static str, uri: &str) -> ErrorData {
    ErrorData::invalid_params(message, uri::error_data(uri))
}

fn skill_entry(skill: &PublishedSkill) -> Skill {
    let mut frontmatter = SkillFrontmatter::new(&skill.name, &skill.description);
    frontmatter.extra = skill.frontmatter.clone();
    frontmatter
        .extra
        // Both have fields of their own.
        .retain(|key, _| key != "name" && key != "description");
    let file = |file: &skills_tools::PublishedFile| {
        SkillResource::new(
            uri::skill_uri(&skill.name, &file.path),
            format!("sha256:{}", file.sha256),
            file.bytes,
        )
    };
    let files = skill.files.iter().map(file).collect();
    Skill::new(
        uri::skill_uri(&skill.name, SKILL_FILE),
        frontmatter,
        SkillResources::Files(files),
    )
}

/// Returns the entries of a directory by name; empty if there is no such directory.
fn list_children(skill: &PublishedSkill, directory: &str) -> Vec<Resource> {
    let prefix = if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    };
    let mut children = BTreeMap::new();
    for file in &skill.files {
        let Some(rest) = file.path.strip_prefix(&prefix) else {
            continue;
        };
        let (name, is_file) = match rest.split_once('/') {
            Some((name, _)) => (name, false),
            None => (rest, true),
        };
        let uri = uri::skill_uri(skill.name.as_str(), &format!("{prefix}{name}"));
        let child = Resource::new(uri, name);
        let child = if is_file {
            child.with_mime_type(&file.media_type).with_size(file.bytes)
        } else {
            child.with_mime_type(DIRECTORY_MIME_TYPE)
        };
        children.insert(name.to_owned(), child);
    }
    children.into_values().collect()
}
