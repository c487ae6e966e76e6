//! An MCP server with the Skills extension (SEP-2640), over HTTP.
//!
//! Servers that are started as programs are not sources: this crate starts nothing that it was not
//! given. The digests of a listing and the files come from the same server, so they show only that
//! both belong together.

mod entry;
mod json_rpc;
pub(crate) mod live;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use skills_discovery::SKILL_FILE;
use skills_manifest::FrontmatterScan;
use url::Url;

use self::entry::{Entry, EntryProblem, Resource};
use self::json_rpc::JsonRpc;
use super::tree::Origin;
use crate::error::InstallError;
use crate::fetch_options::FetchOptions;
use crate::file_digest::FileDigest;
use crate::source::problem::Problem;
use crate::source::text::{parse_web_url, url_identity};
use crate::source::{Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::{StagedTree, check_entries};
use crate::web::{Client, failed};
use crate::{FetchLimits, TreePath};

/// The name of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Maximum size of a listing, which is kept in memory, in bytes.
const MAX_LIST_BYTES: u64 = 32 << 20;
/// Maximum size of one file, in bytes: twice what the extension allows for a whole skill.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum number of pages of a listing.
const MAX_PAGES: usize = 1_000;

/// An MCP server, by the URL of its endpoint.
#[derive(Debug)]
pub(super) struct McpKind;

impl SourceKind for McpKind {
    fn name(&self) -> &'static str {
        "server"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let url = parse_web_url(source.text.strip_prefix("mcp+")?);
        Some(url.map(|url| source.spec(&Self, Location::Address(url))))
    }

    fn text(&self, location: &Location) -> String {
        format!("mcp+{}", location.address())
    }

    fn identity(&self, location: &Location) -> String {
        url_identity(&location.address(), "mcp")
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, _scratch: &Path) -> Opened {
        let (client, url) = options.client(&source.location().address())?;
        Ok(Box::new(McpServer::open(client, &url, &options.limits)?))
    }

    /// As an entry of a listing, and as a stream of events.
    fn parse_documents(&self, bytes: &[u8]) {
        if let Ok(value) = serde_json::from_slice(bytes) {
            // A listing names its directory if it is valid.
            if let Ok(entry) = entry::parse(&value) {
                debug_assert_eq!(entry::directory(&value), Some(entry.directory));
            }
        }
        json_rpc::parse_events(bytes);
    }
}

pub(crate) struct McpServer {
    server: JsonRpc,
    entries: Arc<Entries>,
}

/// The entries of a listing, by the path of the skill at the server.
type Entries = BTreeMap<TreePath, Result<Entry, EntryProblem>>;

impl McpServer {
    /// Lists the skills of a server.
    pub(crate) fn open(
        client: Client,
        url: &Url,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let server = JsonRpc::new(client, url.clone());
        let discovered = server.call("server/discover", json!({}), None, MAX_LIST_BYTES)?;
        let extensions = discovered.pointer("/capabilities/extensions");
        if extensions.and_then(|found| found.get(EXTENSION)).is_none() {
            return Err(failed(url, "the server does not publish skills"));
        }
        let entries = Arc::new(list(&server, limits)?);
        Ok(Self { server, entries })
    }

    /// Returns a server that was listed before.
    fn with_entries(client: Client, url: &Url, entries: Arc<Entries>) -> Self {
        let server = JsonRpc::new(client, url.clone());
        Self { server, entries }
    }

    /// Reads a file of an entry. The frontmatter of a `SKILL.md` must be that of the entry.
    fn read_file(&self, entry: &Entry, path: &TreePath) -> Result<Vec<u8>, InstallError> {
        let resource = entry.files.get(path);
        let resource = resource.ok_or_else(|| {
            failed(
                self.server.url(),
                format!("it does not list `{path}` any more"),
            )
        })?;
        let content = self.read(resource)?;
        if path.as_str() == SKILL_FILE {
            check_frontmatter(entry, &content)
                .map_err(|problem| failed(self.server.url(), problem))?;
        }
        Ok(content)
    }

    fn stage_entry(&self, entry: &Entry, tree: &mut StagedTree) -> Result<(), InstallError> {
        for (path, resource) in &entry.files {
            let content = self.read_file(entry, path)?;
            let path = entry
                .directory
                .join(path.as_str())
                .map_err(|problem| InstallError::refused(&resource.uri, problem))?;
            tree.add_file(&path, false, &mut content.as_slice())?;
        }
        Ok(())
    }

    /// Reads a file and checks its size and digest.
    fn read(&self, resource: &Resource) -> Result<Vec<u8>, InstallError> {
        let uri = &resource.uri;
        if resource.size > MAX_FILE_BYTES {
            return Err(InstallError::limit("bytes in a file", MAX_FILE_BYTES));
        }
        // JSON writes some characters as six.
        let max_bytes = resource.size.saturating_mul(6) + (64 << 10);
        let params = json!({"uri": uri});
        let result = self
            .server
            .call("resources/read", params, Some(uri), max_bytes)?;
        let content = content(&result, uri).ok_or_else(|| {
            failed(
                self.server.url(),
                format!("it returns no content of `{uri}`"),
            )
        })?;
        if content.len() as u64 != resource.size {
            let cause = format!("`{uri}` has {} bytes, not {}", content.len(), resource.size);
            return Err(failed(self.server.url(), cause));
        }
        FileDigest::of(&content).check(resource.digest, uri)?;
        Ok(content)
    }
}

/// Reads all pages of `skills/list`.
fn list(server: &JsonRpc, limits: &FetchLimits) -> Result<Entries, InstallError> {
    let mut entries = BTreeMap::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let page = server.call("skills/list", params, None, MAX_LIST_BYTES)?;
        if server.received() > MAX_LIST_BYTES {
            return Err(InstallError::limit("bytes in its listing", MAX_LIST_BYTES));
        }
        let skills = page.get("skills").and_then(Value::as_array);
        let skills = skills.ok_or_else(|| failed(server.url(), "it lists no skills"))?;
        for skill in skills {
            // What has no directory cannot be wanted either.
            let Some(directory) = entry::directory(skill) else {
                continue;
            };
            if entries.contains_key(&directory) {
                let cause = format!("it lists `{directory}` twice");
                return Err(failed(server.url(), cause));
            }
            entries.insert(directory, entry::parse(skill));
        }
        check_entries(entries.len() as u64, limits)?;
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(entries),
        }
    }
    Err(failed(
        server.url(),
        format!("it lists more than {MAX_PAGES} pages"),
    ))
}

/// Returns the only content of a result of `resources/read`.
fn content(result: &Value, uri: &str) -> Option<Vec<u8>> {
    let [content] = result.get("contents")?.as_array()?.as_slice() else {
        return None;
    };
    if content.get("uri")?.as_str()? != uri {
        return None;
    }
    match (content.get("text"), content.get("blob")) {
        (Some(text), None) => Some(text.as_str()?.as_bytes().to_vec()),
        (None, Some(blob)) => STANDARD.decode(blob.as_str()?).ok(),
        _ => None,
    }
}

/// Compares the frontmatter of a `SKILL.md` with that of its entry, which a person may have read.
fn check_frontmatter(entry: &Entry, content: &[u8]) -> Result<(), String> {
    let directory = &entry.directory;
    let fields = FrontmatterScan::parse_file(content)
        .map_err(|error| error.to_string())
        .and_then(|scan| scan.portable_fields().map_err(|error| error.to_string()))
        .map_err(|error| format!("the frontmatter of `{directory}` cannot be compared: {error}"))?;
    if fields == entry.frontmatter {
        Ok(())
    } else {
        Err(format!(
            "the frontmatter of `{directory}` is not that of the listing"
        ))
    }
}

impl Origin for McpServer {
    fn skill_files(&self) -> Vec<TreePath> {
        let directories = self.entries.keys();
        directories
            .filter_map(|directory| directory.join(SKILL_FILE).ok())
            .collect()
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        for directory in directories {
            match self.entries.get(directory) {
                Some(Ok(entry)) => self.stage_entry(entry, tree)?,
                Some(Err(problem)) => {
                    let cause = format!("`{directory}`: {problem}");
                    return Err(failed(self.server.url(), cause));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        // Servers have no version of a skill; its content digest is in the lock file.
        None
    }

    fn fixes_names(&self) -> bool {
        true
    }
}
