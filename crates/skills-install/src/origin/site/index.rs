//! The index of a web site: `index.json` of versions 0.1.0 and 0.2.0.

use serde::Deserialize;

use crate::TreePath;
use crate::file_digest::FileDigest;

/// The schema of version 0.2.0.
pub(crate) const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// Versions that an older index names itself.
const VERSIONS: [&str; 2] = ["0.1.0", "0.2.0"];
/// Maximum length of the name of a skill, in characters.
const MAX_NAME_CHARS: usize = 64;
/// Maximum number of files of one skill: those of content digests.
const MAX_FILES: usize = 10_000;

/// One skill of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) name: String,
    pub(super) content: Result<EntryContent, IndexProblem>,
}

/// Where the files of a skill are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EntryContent {
    /// One `SKILL.md`, by its URL, which may be relative to that of the index.
    SkillFile { url: String, digest: FileDigest },
    /// An archive, by its URL.
    Archive { url: String, digest: FileDigest },
    /// Files below the directory of the skill beside the index. Version 0.1.0 has no digests.
    Files(Vec<(TreePath, Option<FileDigest>)>),
}

/// Why an index or an entry cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum IndexProblem {
    #[error("the index is not valid JSON of the expected form: {0}")]
    Json(String),
    #[error("the index has the unknown version `{0}`")]
    Version(String),
    #[error("the index lists the name `{0}`, which is not that of a skill")]
    Name(String),
    #[error("the index lists `{0}` twice")]
    Twice(String),
    #[error("the entry has no digest")]
    NoDigest,
    #[error("the entry has the digest {0}")]
    Digest(String),
    #[error("the entry has no URL")]
    NoUrl,
    #[error("the entry lists the file `{path}`: {problem}")]
    Path { path: String, problem: String },
    #[error("the entry lists no `SKILL.md`")]
    NoSkillFile,
    #[error("the entry lists more than {MAX_FILES} files")]
    TooMany,
}

#[derive(Deserialize)]
struct RawIndex {
    #[serde(rename = "$schema")]
    schema: Option<String>,
    version: Option<String>,
    skills: Vec<RawEntry>,
}

#[derive(Deserialize)]
struct RawEntry {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    url: Option<String>,
    digest: Option<String>,
    files: Option<Vec<RawFile>>,
}

/// A path, or an object of the drafts of version 0.2.0.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawFile {
    Path(String),
    Entry { path: String, digest: String },
}

/// Parses an index. Entries of an unknown type are omitted, as the specification demands. An entry
/// that is not valid is returned with its problem, so that it does not hide the others.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<IndexEntry>, IndexProblem> {
    let raw: RawIndex =
        serde_json::from_slice(bytes).map_err(|error| IndexProblem::Json(error.to_string()))?;
    if let Some(schema) = raw.schema.filter(|schema| schema != SCHEMA) {
        return Err(IndexProblem::Version(schema));
    }
    if let Some(version) = raw.version
        && !VERSIONS.contains(&version.as_str())
    {
        return Err(IndexProblem::Version(version));
    }
    let mut entries: Vec<IndexEntry> = Vec::new();
    let mut names = std::collections::HashSet::new();
    for entry in raw.skills {
        if !is_name(&entry.name) {
            return Err(IndexProblem::Name(entry.name));
        }
        if !names.insert(entry.name.clone()) {
            return Err(IndexProblem::Twice(entry.name));
        }
        let name = entry.name.clone();
        if let Some(content) = parse_entry(entry) {
            entries.push(IndexEntry { name, content });
        }
    }
    Ok(entries)
}

/// Returns `None` for an entry of an unknown type.
fn parse_entry(entry: RawEntry) -> Option<Result<EntryContent, IndexProblem>> {
    let is_archive = match (entry.kind.as_deref(), entry.files) {
        (Some("skill-md"), _) => false,
        (Some("archive"), _) => true,
        (None, Some(files)) => return Some(parse_files(files).map(EntryContent::Files)),
        (Some(_), _) => return None,
        (None, None) => return Some(Err(IndexProblem::NoUrl)),
    };
    Some(
        parse_artifact(entry.url, entry.digest).map(|(url, digest)| {
            if is_archive {
                EntryContent::Archive { url, digest }
            } else {
                EntryContent::SkillFile { url, digest }
            }
        }),
    )
}

fn parse_artifact(
    url: Option<String>,
    digest: Option<String>,
) -> Result<(String, FileDigest), IndexProblem> {
    let url = url.ok_or(IndexProblem::NoUrl)?;
    let digest = parse_digest(&digest.ok_or(IndexProblem::NoDigest)?)?;
    Ok((url, digest))
}

fn parse_files(files: Vec<RawFile>) -> Result<Vec<(TreePath, Option<FileDigest>)>, IndexProblem> {
    if files.len() > MAX_FILES {
        return Err(IndexProblem::TooMany);
    }
    let files = files.into_iter().map(|file| {
        let (path, digest) = match file {
            RawFile::Path(path) => (path, None),
            RawFile::Entry { path, digest } => (path, Some(parse_digest(&digest)?)),
        };
        match TreePath::new(&path) {
            // `a/` is the path of a directory.
            Ok(valid) if !path.ends_with('/') => Ok((valid, digest)),
            Ok(_) => Err(IndexProblem::Path {
                path,
                problem: "it is a directory".to_owned(),
            }),
            Err(problem) => Err(IndexProblem::Path {
                path,
                problem: problem.to_string(),
            }),
        }
    });
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    let is_skill_file = |path: &TreePath| path.as_str() == skills_discovery::SKILL_FILE;
    if !files.iter().any(|(path, _)| is_skill_file(path)) {
        return Err(IndexProblem::NoSkillFile);
    }
    Ok(files)
}

fn parse_digest(text: &str) -> Result<FileDigest, IndexProblem> {
    text.parse()
        .map_err(|error: crate::file_digest::DigestError| IndexProblem::Digest(error.to_string()))
}

/// Returns true for a name by the rules of the specification of skills.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_CHARS
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(problem) => problem.to_string(),
            Ok(entries) => match entries.into_iter().next() {
                Some(IndexEntry {
                    content: Err(problem),
                    ..
                }) => problem.to_string(),
                _ => String::new(),
            },
        }
    }

    #[test]
    fn entries_of_all_versions_are_read() {
        let digest = FileDigest::of(b"");
        let text = format!(
            r#"{{"$schema": "{SCHEMA}", "skills": [
                {{"name": "a", "type": "skill-md", "description": "d", "url": "a.md", "digest": "{digest}"}},
                {{"name": "b", "type": "archive", "url": "/b.zip", "digest": "{digest}"}},
                {{"name": "c", "type": "hologram", "url": "c", "digest": "?"}},
                {{"name": "d", "files": ["SKILL.md", {{"path": "x/y.md", "digest": "{digest}"}}]}}]}}"#
        );
        let entries = parse(text.as_bytes()).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d"]);
        let url = "/b.zip".to_owned();
        assert_eq!(
            entries[1].content,
            Ok(EntryContent::Archive { url, digest })
        );
        let files = vec![
            (TreePath::new("SKILL.md").unwrap(), None),
            (TreePath::new("x/y.md").unwrap(), Some(digest)),
        ];
        assert_eq!(entries[2].content, Ok(EntryContent::Files(files)));
        assert_eq!(parse(br#"{"version": "0.1.0", "skills": []}"#), Ok(vec![]));
    }

    #[test]
    fn an_index_that_is_not_understood_is_an_error() {
        let entry = |fields: &str| format!(r#"{{"skills": [{{"name": "a", {fields}}}]}}"#);
        for (text, expected) in [
            ("[]".to_owned(), "not valid JSON"),
            ("{}".to_owned(), "not valid JSON"),
            (r#"{"skills": [{}]}"#.to_owned(), "not valid JSON"),
            (
                r#"{"$schema": "x", "skills": []}"#.to_owned(),
                "version `x`",
            ),
            (
                r#"{"version": "1.0.0", "skills": []}"#.to_owned(),
                "version",
            ),
            (
                r#"{"skills": [{"name": "../a"}]}"#.to_owned(),
                "not that of a skill",
            ),
            (
                r#"{"skills": [{"name": "A"}]}"#.to_owned(),
                "not that of a skill",
            ),
            (
                r#"{"skills": [{"name": "a--b"}]}"#.to_owned(),
                "not that of a skill",
            ),
            (
                r#"{"skills": [{"name": "a", "type": "x"}, {"name": "a"}]}"#.to_owned(),
                "twice",
            ),
            (entry(r#""type": "archive", "url": "x""#), "no digest"),
            (
                entry(r#""type": "archive", "url": "x", "digest": "md5:0""#),
                "digest",
            ),
            (entry(r#""type": "skill-md""#), "no URL"),
            (entry(r#""description": "d""#), "no URL"),
            (entry(r#""files": ["README.md"]"#), "no `SKILL.md`"),
            (entry(r#""files": ["SKILL.md", "../x"]"#), "`../x`"),
            (entry(r#""files": ["SKILL.md", "/x"]"#), "`/x`"),
            (entry(r#""files": ["SKILL.md", "x\\y"]"#), "contains"),
            (entry(r#""files": ["SKILL.md", "x/"]"#), "directory"),
        ] {
            let problem = problem(&text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
