//! A skill of a ClawHub registry.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use url::Url;

use super::archive::Archive;
use super::tree::Origin;
use crate::error::InstallError;
use crate::fetch_options::FetchOptions;
use crate::file_digest::FileDigest;
use crate::source::problem::Problem;
use crate::source::text::{parse_web_url, url_identity};
use crate::source::{FixedVersions, Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::StagedTree;
use crate::web::{Client, check_status, failed};
use crate::{FetchLimits, TreePath};

/// The registry of a source that names none.
const PUBLIC_REGISTRY: &str = "https://clawhub.ai/";
/// Maximum length of a slug and of a version, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Maximum size of a document of the registry, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 8 << 20;
/// The file that the registry adds to an archive, with the version. It is in no list of files.
const META_FILE: &str = "_meta.json";
/// The verdict of the registry's scan for a version that it withholds.
const MALICIOUS: &str = "malicious";

/// A skill of a ClawHub registry: `clawhub:SLUG@VERSION` and `clawhub+https://HOST/SLUG@VERSION`.
///
/// Its address is the URL of the registry with the slug as the last name.
#[derive(Debug)]
pub(super) struct ClawHubKind;

impl SourceKind for ClawHubKind {
    fn name(&self) -> &'static str {
        "skill of a registry"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        match source.text.strip_prefix("clawhub:") {
            Some(skill) => Some(parse_skill(PUBLIC_REGISTRY, skill, source)),
            None => Some(parse_url(source.text.strip_prefix("clawhub+")?, source)),
        }
    }

    fn check_reference(&self, reference: &str) -> Result<(), Problem> {
        if is_name(reference) {
            Ok(())
        } else {
            Err(not_a_reference(reference))
        }
    }

    fn text(&self, location: &Location) -> String {
        let address = location.address();
        match address.strip_prefix(PUBLIC_REGISTRY) {
            Some(slug) if is_name(slug) => format!("clawhub:{slug}"),
            _ => format!("clawhub+{address}"),
        }
    }

    fn separator(&self, _reference: &str) -> char {
        '@'
    }

    fn identity(&self, location: &Location) -> String {
        url_identity(&location.address(), "clawhub")
    }

    fn revision_prefix(&self) -> Option<&'static str> {
        Some("clawhub:")
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::Revisions
    }

    fn with_registry(&self, source: SourceSpec, url: &str) -> Result<SourceSpec, Problem> {
        let registry = parse_registry(url)?;
        let address = source.location().address();
        let address = format!("{registry}{}", split_address(&address).1);
        Ok(source.with_location(Location::Address(address)))
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, scratch: &Path) -> Opened {
        let address = source.location().address();
        let (registry, slug) = split_address(&address);
        let (client, url) = options.client(registry)?;
        let (version, limits) = (source.reference(), &options.limits);
        let skill = ClawHubSkill::open(&client, &url, slug, version, scratch, limits)?;
        Ok(Box::new(skill))
    }

    fn parse_documents(&self, bytes: &[u8]) {
        // Either result is one that a registry may cause.
        let _ = serde_json::from_slice::<SkillDocument>(bytes);
        let _ = serde_json::from_slice::<VersionDocument>(bytes);
    }
}

/// Parses the text after `clawhub+`: the URL of a registry, and the slug as the last name of it.
fn parse_url(text: &str, source: &SourceText<'_>) -> Result<SourceSpec, Problem> {
    let invalid = || not_a_reference(text);
    let (registry, skill) = text.rsplit_once('/').ok_or_else(invalid)?;
    parse_skill(&parse_registry(registry)?, skill, source)
}

fn parse_skill(
    registry: &str,
    skill: &str,
    source: &SourceText<'_>,
) -> Result<SourceSpec, Problem> {
    let (slug, written) = match skill.split_once('@') {
        Some((slug, version)) => (slug, Some(version)),
        None => (skill, None),
    };
    if !is_name(slug) {
        return Err(not_a_reference(skill));
    }
    let spec = source.spec(&ClawHubKind, Location::Address(format!("{registry}{slug}")));
    Ok(match written {
        Some(version) => spec.with_reference(version),
        None => spec,
    })
}

fn not_a_reference(text: &str) -> Problem {
    Problem::form(
        text,
        "not a skill or version of ClawHub",
        "write it like `clawhub:pdf@1.2.0` or `clawhub+https://HOST/pdf@1.2.0`",
    )
}

/// Splits an address into the URL of the registry, with `/` at its end, and the slug.
fn split_address(address: &str) -> (&str, &str) {
    address.split_at(address.rfind('/').map_or(0, |slash| slash + 1))
}

/// Returns the URL of a registry with a `/` at its end, so that one registry has one text.
fn parse_registry(text: &str) -> Result<String, Problem> {
    let registry = parse_web_url(text)?;
    let url = Url::parse(&registry).map_err(Problem::Url)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(not_a_reference(text));
    }
    Ok(format!("{}/", registry.trim_end_matches('/')))
}

/// Returns true for a slug or a version.
fn is_name(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+');
    text.len() <= MAX_NAME_BYTES
        && text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().all(is_plain)
        && !text.contains("..")
}

/// One version of a skill, whose files have the digests that the registry lists.
pub(crate) struct ClawHubSkill {
    archive: Archive,
    version: String,
    /// When the version was published, in seconds since 1970.
    published: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SkillDocument {
    skill: Option<SkillEntry>,
    latest_version: Option<LatestVersion>,
}

#[derive(Deserialize)]
struct SkillEntry {
    slug: String,
}

#[derive(Deserialize)]
struct LatestVersion {
    version: String,
}

#[derive(Deserialize)]
struct VersionDocument {
    skill: Option<SkillEntry>,
    version: Option<VersionEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionEntry {
    version: String,
    created_at: Option<f64>,
    #[serde(default)]
    files: Vec<FileEntry>,
    security: Option<Security>,
}

#[derive(Deserialize)]
struct FileEntry {
    path: String,
    sha256: String,
}

#[derive(Deserialize)]
struct Security {
    status: Option<String>,
}

impl ClawHubSkill {
    /// Resolves the version, the latest one if it is `None`, downloads its archive and checks every
    /// file against the list of the registry, whose URL ends with `/`.
    pub(crate) fn open(
        client: &Client,
        registry: &Url,
        slug: &str,
        version: Option<&str>,
        scratch: &Path,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let skill_url = join(registry, &format!("api/v1/skills/{slug}"))?;
        let version = match version {
            Some(version) => version.to_owned(),
            None => latest_version(client, &skill_url, slug)?,
        };
        let url = join(&skill_url, &format!("{slug}/versions/{version}"))?;
        let entry = read_version(client, &url, slug, &version)?;
        let mut download = join(registry, "api/v1/download")?;
        download
            .query_pairs_mut()
            .append_pair("slug", slug)
            .append_pair("version", &version);
        let mut archive = Archive::open(client.download(&download, &[], scratch)?, limits)?;
        check_files(&mut archive, &entry.files, &download)?;
        Ok(Self {
            archive,
            version,
            published: entry.created_at.map(to_seconds),
        })
    }
}

impl Origin for ClawHubSkill {
    fn skill_files(&self) -> Vec<TreePath> {
        self.archive.skill_files()
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        self.archive.stage(directories, tree)
    }

    fn has_file(&self, path: &TreePath) -> bool {
        self.archive.has_file(path)
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        Some(format!("clawhub:{}", self.version))
    }

    fn committed(&self) -> Option<i64> {
        self.published
    }
}

fn latest_version(client: &Client, url: &Url, slug: &str) -> Result<String, InstallError> {
    let document: SkillDocument = read_document(client, url)?;
    check_slug(document.skill, slug, url)?;
    let latest = document.latest_version.map(|latest| latest.version);
    let latest = latest.ok_or_else(|| failed(url, "the skill has no version"))?;
    // It becomes a part of URLs.
    if is_name(&latest) {
        Ok(latest)
    } else {
        Err(failed(url, format!("`{latest}` is not a version")))
    }
}

fn read_version(
    client: &Client,
    url: &Url,
    slug: &str,
    version: &str,
) -> Result<VersionEntry, InstallError> {
    let document: VersionDocument = read_document(client, url)?;
    check_slug(document.skill, slug, url)?;
    let entry = document.version.filter(|entry| entry.version == version);
    let entry = entry.ok_or_else(|| failed(url, format!("the skill has no version {version}")))?;
    let status = entry
        .security
        .as_ref()
        .and_then(|found| found.status.as_deref());
    if status == Some(MALICIOUS) {
        return Err(InstallError::fetch_with_help(
            url.as_str(),
            "the scan of the registry found this version malicious",
            "do not use the skill",
        ));
    }
    Ok(entry)
}

/// Fails if the registry answers for another skill, as it does after one was renamed.
fn check_slug(skill: Option<SkillEntry>, slug: &str, url: &Url) -> Result<(), InstallError> {
    match skill {
        None => Err(failed(url, "the registry has no such skill")),
        Some(skill) if skill.slug != slug => Err(InstallError::fetch_with_help(
            url.as_str(),
            format!("the registry has the skill `{}` in its place", skill.slug),
            "to install that one, add it by its own slug",
        )),
        Some(_) => Ok(()),
    }
}

fn read_document<T: serde::de::DeserializeOwned>(
    client: &Client,
    url: &Url,
) -> Result<T, InstallError> {
    let response = check_status(client.get(url, &[("accept", "application/json")])?)?;
    let bytes = client.read(response, MAX_DOCUMENT_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(url, error))
}

/// Fails unless the archive has exactly the listed files with the listed digests.
fn check_files(archive: &mut Archive, files: &[FileEntry], url: &Url) -> Result<(), InstallError> {
    let mut listed = BTreeMap::new();
    for file in files {
        let path = TreePath::new(&file.path).map_err(|problem| failed(url, problem))?;
        let digest = format!("sha256:{}", file.sha256).parse::<FileDigest>();
        listed.insert(path, digest.map_err(|problem| failed(url, problem))?);
    }
    for (path, digest) in archive.file_digests()? {
        match (listed.remove(&path), digest) {
            (Some(expected), Some(actual)) => actual.check(expected, path.as_str())?,
            (None, Some(_)) if path.as_str() == META_FILE => {}
            _ => {
                let problem = format!("the registry does not list `{path}` of its archive");
                return Err(failed(url, problem));
            }
        }
    }
    match listed.into_keys().next() {
        Some(path) => Err(failed(url, format!("the archive lacks `{path}`"))),
        None => Ok(()),
    }
}

fn join(base: &Url, path: &str) -> Result<Url, InstallError> {
    base.join(path).map_err(|error| failed(base, error))
}

/// Converts the milliseconds of the registry.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a conversion from floating point saturates"
)]
fn to_seconds(milliseconds: f64) -> i64 {
    (milliseconds / 1_000.0) as i64
}
