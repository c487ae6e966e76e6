//! Entries of `skills/list`.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value};
use skills_discovery::SKILL_FILE;

use crate::file_digest::FileDigest;
use crate::{PathProblem, TreePath};

/// Maximum number of files of one skill: that of content digests. The extension guarantees 512.
const MAX_FILES: usize = 10_000;
/// Maximum length of a URI, in bytes.
const MAX_URI_BYTES: usize = 4_096;

/// One skill of a server.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path of the skill at the server, whose last name is that of the skill.
    pub(super) directory: TreePath,
    pub(super) frontmatter: Map<String, Value>,
    /// By path below the skill.
    pub(super) files: BTreeMap<TreePath, Resource>,
}

/// One file of a skill.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) digest: FileDigest,
    pub(super) size: u64,
}

/// Why an entry cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum EntryProblem {
    #[error("the entry is not of the expected form: {0}")]
    Json(String),
    #[error("`{0}` is not the URI of a `SKILL.md`")]
    Uri(String),
    #[error("the URI `{uri}` is not that of a skill with the name `{name}`")]
    Name { uri: String, name: String },
    #[error("its content is generated and has no digests")]
    Dynamic,
    #[error("it lists `{uri}`: {problem}")]
    Path { uri: String, problem: PathProblem },
    #[error("it lists `{0}`, which is not in its directory")]
    Outside(String),
    #[error("it lists `{0}` twice")]
    Twice(String),
    #[error("it lists the digest {0}")]
    Digest(String),
    #[error("it does not list its `SKILL.md`")]
    NoSkillFile,
    #[error("it lists more than {MAX_FILES} files")]
    TooMany,
}

#[derive(Deserialize)]
struct RawEntry {
    uri: String,
    frontmatter: Map<String, Value>,
    /// A list, or the word `dynamic`.
    resources: Value,
}

#[derive(Deserialize)]
struct RawResource {
    uri: String,
    digest: String,
    size: u64,
}

/// Returns the directory of a skill, if its URI is valid: so that a bad entry can be reported when
/// it is wanted.
pub(super) fn directory(entry: &Value) -> Option<TreePath> {
    let uri = entry.get("uri")?.as_str()?;
    parse_uri(uri).ok()?.parent().filter(|path| !path.is_root())
}

pub(super) fn parse(entry: &Value) -> Result<Entry, EntryProblem> {
    let raw: RawEntry = Deserialize::deserialize(entry)
        .map_err(|error: serde_json::Error| EntryProblem::Json(error.to_string()))?;
    let path = parse_uri(&raw.uri).map_err(|_| EntryProblem::Uri(raw.uri.clone()))?;
    let directory = match (path.file_name(), path.parent()) {
        (Some(SKILL_FILE), Some(parent)) if !parent.is_root() => parent,
        _ => return Err(EntryProblem::Uri(raw.uri)),
    };
    let name = raw.frontmatter.get("name").and_then(Value::as_str);
    if directory.file_name() != name {
        return Err(EntryProblem::Name {
            uri: raw.uri,
            name: name.unwrap_or_default().to_owned(),
        });
    }
    if raw.resources == "dynamic" {
        return Err(EntryProblem::Dynamic);
    }
    let resources: Vec<RawResource> = serde_json::from_value(raw.resources)
        .map_err(|error| EntryProblem::Json(error.to_string()))?;
    if resources.len() > MAX_FILES {
        return Err(EntryProblem::TooMany);
    }
    let scheme = raw.uri.split_once("://").map(|(scheme, _)| scheme);
    let mut files = BTreeMap::new();
    for resource in resources {
        let (path, resource) = parse_resource(resource, scheme, &directory)?;
        let uri = resource.uri.clone();
        if files.insert(path, resource).is_some() {
            return Err(EntryProblem::Twice(uri));
        }
    }
    if !files.keys().any(|path| path.as_str() == SKILL_FILE) {
        return Err(EntryProblem::NoSkillFile);
    }
    Ok(Entry {
        directory,
        frontmatter: raw.frontmatter,
        files,
    })
}

fn parse_resource(
    raw: RawResource,
    scheme: Option<&str>,
    directory: &TreePath,
) -> Result<(TreePath, Resource), EntryProblem> {
    let path = parse_uri(&raw.uri).map_err(|problem| EntryProblem::Path {
        uri: raw.uri.clone(),
        problem,
    })?;
    let has_scheme = raw.uri.split_once("://").map(|(scheme, _)| scheme) == scheme;
    let below = path
        .strip_prefix(directory)
        .filter(|below| has_scheme && !below.is_root());
    let Some(below) = below else {
        return Err(EntryProblem::Outside(raw.uri));
    };
    let digest = raw.digest.parse();
    let digest = digest.map_err(|error: crate::file_digest::DigestError| {
        EntryProblem::Digest(error.to_string())
    })?;
    let resource = Resource {
        uri: raw.uri,
        digest,
        size: raw.size,
    };
    Ok((below, resource))
}

/// Returns the path of a URI: everything after `SCHEME://`, with each name decoded once.
fn parse_uri(uri: &str) -> Result<TreePath, PathProblem> {
    if uri.len() > MAX_URI_BYTES {
        return Err(PathProblem::TooLong);
    }
    // It is the value of a header, too.
    if let Some(c) = uri.chars().find(|c| !c.is_ascii_graphic()) {
        return Err(PathProblem::Character(c));
    }
    let (_, path) = uri.split_once("://").ok_or(PathProblem::Empty)?;
    // They would give a file several URIs.
    if let Some(c) = path.chars().find(|c| matches!(c, '?' | '#')) {
        return Err(PathProblem::Character(c));
    }
    if path.ends_with('/') {
        return Err(PathProblem::Traversal);
    }
    let mut parsed = TreePath::root();
    for name in path.split('/') {
        let name = percent_decode_str(name)
            .decode_utf8()
            .map_err(|_| PathProblem::Encoding)?;
        // A decoded separator would be part of a name at the server only.
        if name.contains('/') {
            return Err(PathProblem::Character('/'));
        }
        parsed = parsed.join(&name)?;
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(uri: &str, resources: Value) -> Value {
        json!({"uri": uri, "frontmatter": {"name": "pdf", "description": "d"}, "resources": resources})
    }

    fn resource(uri: &str) -> Value {
        json!({"uri": uri, "digest": FileDigest::of(b"").to_string(), "size": 0})
    }

    #[test]
    fn an_entry_has_its_files_by_their_decoded_paths() {
        let text = entry(
            "skill://acme/office/pdf/SKILL.md",
            json!([
                resource("skill://acme/office/pdf/SKILL.md"),
                resource("skill://acme/office/pdf/a%20b/%C3%A9.md"),
            ]),
        );
        let entry = parse(&text).unwrap();
        assert_eq!(entry.directory.as_str(), "acme/office/pdf");
        let paths: Vec<_> = entry.files.keys().map(TreePath::as_str).collect();
        assert_eq!(paths, ["SKILL.md", "a b/\u{e9}.md"]);
        assert_eq!(directory(&text).unwrap().as_str(), "acme/office/pdf");
    }

    #[test]
    fn an_entry_that_breaks_a_rule_is_an_error() {
        let good = "skill://pdf/SKILL.md";
        let with = |uri: &str| entry(good, json!([resource(good), resource(uri)]));
        let digest = json!([{"uri": good, "digest": "md5:0", "size": 0}]);
        for (entry, expected) in [
            (json!({}), "not of the expected form"),
            (
                json!({"uri": good, "frontmatter": {}, "resources": []}),
                "with the name ``",
            ),
            (
                entry("skill://other/SKILL.md", json!([])),
                "with the name `pdf`",
            ),
            (
                entry("skill://SKILL.md", json!([])),
                "not the URI of a `SKILL.md`",
            ),
            (
                entry("skill://pdf/other.md", json!([])),
                "not the URI of a `SKILL.md`",
            ),
            (
                entry("pdf/SKILL.md", json!([])),
                "not the URI of a `SKILL.md`",
            ),
            (entry(good, json!("dynamic")), "generated"),
            (entry(good, json!("other")), "not of the expected form"),
            (
                entry(good, json!([{"uri": good, "size": 0}])),
                "not of the expected form",
            ),
            (entry(good, json!([])), "does not list its `SKILL.md`"),
            (entry(good, digest), "digest"),
            (with(good), "twice"),
            (with("skill://pdf/%53KILL.md"), "twice"),
            (with("skill://other/x"), "not in its directory"),
            (with("skill://pdf"), "not in its directory"),
            (with("other://pdf/x"), "not in its directory"),
            (with("skill://pdf/../x"), "`..`"),
            (with("skill://pdf/%2e%2e/x"), "`..`"),
            (with("skill://pdf/a%2fb"), "contains"),
            (with("skill://pdf/a%5cb"), "contains"),
            (with("skill://pdf/a%00"), "contains"),
            (with("skill://pdf/a?b"), "contains"),
            (with("skill://pdf/a b"), "contains"),
            (with("skill://pdf/a\r\nx"), "contains"),
            (with("skill://pdf/%ff"), "UTF-8"),
            (with("skill://pdf/a/"), "`..`"),
            (with("skill://pdf/.git/config"), "version control"),
        ] {
            let problem = parse(&entry).unwrap_err().to_string();
            assert!(problem.contains(expected), "{entry}: {problem}");
        }
    }
}
