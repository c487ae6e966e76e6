//! Lock files of other installers, which name the sources of skills.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{InstallError, Repr};
use crate::{SourceError, SourceSpec};

/// Where another installer got a skill.
///
/// Only the sources of a foreign lock file are used. Its hashes are not: they do not identify
/// content (that of `skills-lock.json` is the same for different trees of files), so the content
/// digest is computed from the files that the source has now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignSkill {
    /// The name of the skill.
    pub name: String,
    /// The source with version and directory; relative paths refer to the directory of the lock
    /// file, or for ClawHub to its parent.
    pub source: Result<SourceSpec, SourceError>,
}

/// The lock file of `npx skills`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NpxEntry {
    source: String,
    source_url: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    source_type: String,
    skill_path: Option<String>,
}

/// An entry of the lock file of ClawHub: it has no other fields, and no source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClawHubEntry {
    version: Option<String>,
    #[serde(rename = "installedAt")]
    _installed_at: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Npx(NpxEntry),
    ClawHub(ClawHubEntry),
    Unknown(IgnoredAny),
}

#[derive(Deserialize)]
struct ForeignLock {
    skills: BTreeMap<String, Entry>,
}

/// Parses a `skills-lock.json` of `npx skills`, or a `.clawhub/lock.json`, and returns its skills by
/// name. `origin` is the path of the file, for errors.
///
/// ```
/// let text = r#"{"version": 1, "skills": {"pdf": {"source": "acme/skills", "sourceType": "github",
///     "ref": "v1", "skillPath": "skills/pdf/SKILL.md", "computedHash": "00"}}}"#;
/// let skills = skills_install::parse_foreign_lock(text, "skills-lock.json")?;
/// let source = skills[0].source.as_ref().unwrap().to_string();
/// assert_eq!(source, "https://github.com/acme/skills.git#v1//skills/pdf");
/// # Ok::<(), skills_install::InstallError>(())
/// ```
///
/// # Errors
/// Fails if the text is not JSON with `skills`. An entry of another form, or with a source that this
/// crate cannot read, is an error of that skill only.
pub fn parse_foreign_lock(text: &str, origin: &str) -> Result<Vec<ForeignSkill>, InstallError> {
    let lock: ForeignLock = serde_json::from_str(text).map_err(|error| Repr::ForeignLock {
        path: origin.to_owned(),
        problem: error.to_string(),
    })?;
    let skills = lock.skills.into_iter().map(|(name, entry)| {
        let source = match entry {
            Entry::Npx(entry) => npx_source(&entry),
            Entry::ClawHub(entry) => clawhub_source(&name, &entry),
            Entry::Unknown(_) => Err(SourceError::foreign_entry(&name)),
        };
        ForeignSkill { name, source }
    });
    Ok(skills.collect())
}

fn npx_source(entry: &NpxEntry) -> Result<SourceSpec, SourceError> {
    let address = entry.source_url.as_deref().unwrap_or(&entry.source);
    let text = match entry.source_type.as_str() {
        "node_modules" => format!("npm:./node_modules/{}", entry.source),
        "local" if !address.starts_with(['.', '/']) => format!("./{address}"),
        "git" | "gitlab" if address.contains("://") => format!("git+{address}"),
        "well-known" => format!("site+{address}"),
        _ => address.to_owned(),
    };
    let reference = entry.reference.as_deref().map(|text| format!("#{text}"));
    let directory = match (&entry.skill_path, entry.source_type.as_str()) {
        // An index names skills, not directories.
        (None, _) | (_, "well-known") => String::new(),
        (Some(path), _) => {
            let directory = path.strip_suffix("SKILL.md").unwrap_or(path);
            format!("//{}", directory.trim_matches('/'))
        }
    };
    format!("{text}{}{directory}", reference.unwrap_or_default()).parse()
}

fn clawhub_source(slug: &str, entry: &ClawHubEntry) -> Result<SourceSpec, SourceError> {
    let version = entry.version.as_deref().map(|text| format!("@{text}"));
    format!("clawhub:{slug}{}", version.unwrap_or_default()).parse()
}
