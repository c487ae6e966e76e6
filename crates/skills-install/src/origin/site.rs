//! A web site with an index of its skills.

pub(crate) mod index;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use skills_discovery::SKILL_FILE;
use skills_signature::{Signatures, Signer};
use url::Url;

use self::index::{EntryContent, IndexEntry, IndexProblem};
use super::archive::{self, Archive};
use super::git;
use super::tree::{Origin, VerifyFile};
use crate::error::InstallError;
use crate::fetch_options::FetchOptions;
use crate::signature::SignatureRules;
use crate::source::problem::Problem;
use crate::source::text::{parse_web_url, url_identity};
use crate::source::{Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::StagedTree;
use crate::web::{Client, check_status, failed};
use crate::{FetchLimits, TreePath};

/// Where an index is, the newest version first.
const INDEX_PATHS: [&str; 2] = [
    ".well-known/agent-skills/index.json",
    ".well-known/skills/index.json",
];
/// Maximum size of an index, in bytes.
const MAX_INDEX_BYTES: u64 = 8 << 20;

/// A web site with an index of skills, by the URL of the site or of the index.
#[derive(Debug)]
pub(super) struct SiteKind;

impl SourceKind for SiteKind {
    fn name(&self) -> &'static str {
        "web site"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let url = match source.text.strip_prefix("site+") {
            Some(url) => url,
            None => match source.text.split_once("://") {
                Some(("https" | "http", _)) => source.text,
                _ => return None,
            },
        };
        Some(parse_web_url(url).map(|url| source.spec(&Self, Location::Address(url))))
    }

    fn text(&self, location: &Location) -> String {
        let url = location.address();
        if archive::is_by_itself(&url) || git::is_by_itself(&url) {
            format!("site+{url}")
        } else {
            url.into_owned()
        }
    }

    fn identity(&self, location: &Location) -> String {
        url_identity(&location.address(), "https")
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, scratch: &Path) -> Opened {
        let (client, url) = options.client(&source.location().address())?;
        let site = Site::open(client, &url, scratch, &options.limits)?;
        Ok(Box::new(site.with_signatures(options.signatures.clone())))
    }

    fn parse_documents(&self, bytes: &[u8]) {
        // Either result is one that a source may cause.
        let _ = index::parse(bytes);
    }
}

/// The index of a site. A skill is downloaded when it is wanted.
pub(crate) struct Site {
    client: Client,
    /// After redirects: what relative URLs are relative to.
    index_url: Url,
    entries: Vec<IndexEntry>,
    scratch: PathBuf,
    limits: FetchLimits,
    signatures: SignatureRules,
    /// The signatures and bytes of staged artifacts, by the name of the skill.
    signed: HashMap<String, (Signatures, File)>,
}

impl Site {
    /// Downloads the index. `url` is that of the site, of a directory of it, or of the index.
    pub(crate) fn open(
        client: Client,
        url: &Url,
        scratch: &Path,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let (index_url, bytes) = download_index(&client, url)?;
        let entries = index::parse(&bytes).map_err(|problem| failed(&index_url, problem))?;
        Ok(Self {
            client,
            index_url,
            entries,
            scratch: scratch.to_owned(),
            limits: limits.clone(),
            signatures: SignatureRules::default(),
            signed: HashMap::new(),
        })
    }

    /// Sets whether signatures of artifacts are downloaded, and which of them are required.
    pub(crate) fn with_signatures(mut self, signatures: SignatureRules) -> Self {
        self.signatures = signatures;
        self
    }

    fn entry(&self, directory: &TreePath) -> Option<&IndexEntry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.name == directory.as_str())
    }

    /// Writes the files of a skill to the tree. Returns the file that they came from, with its URL,
    /// if there is one.
    fn stage_entry(
        &self,
        name: &str,
        content: &EntryContent,
        tree: &mut StagedTree,
    ) -> Result<Option<(Url, File)>, InstallError> {
        let directory = TreePath::new(name).map_err(|problem| failed(&self.index_url, problem))?;
        match content {
            EntryContent::SkillFile { url, digest } => {
                let url = self.join(url)?;
                let mut file = self
                    .client
                    .download_checked(&url, &[], &self.scratch, *digest)?;
                let path = self.below(&directory, SKILL_FILE)?;
                tree.add_file(&path, false, &mut file)?;
                Ok(Some((url, file)))
            }
            EntryContent::Archive { url, digest } => {
                let url = self.join(url)?;
                let file = self
                    .client
                    .download_checked(&url, &[], &self.scratch, *digest)?;
                let mut archive = Archive::open(file, &self.limits)?;
                let root = archive.skill_root(name).ok_or_else(|| {
                    failed(
                        &url,
                        format!("the archive has no `{SKILL_FILE}` at its root"),
                    )
                })?;
                archive.stage_at(&root, &directory, tree)?;
                Ok(Some((url, archive.into_file())))
            }
            EntryContent::Files(files) => {
                for (path, digest) in files {
                    let url = self.file_url(name, path)?;
                    let mut file = match digest {
                        Some(digest) => {
                            self.client
                                .download_checked(&url, &[], &self.scratch, *digest)?
                        }
                        None => self.client.download(&url, &[], &self.scratch)?,
                    };
                    let path = self.below(&directory, path.as_str())?;
                    tree.add_file(&path, false, &mut file)?;
                }
                Ok(None)
            }
        }
    }

    fn below(&self, directory: &TreePath, path: &str) -> Result<TreePath, InstallError> {
        let joined = directory.join(path);
        joined.map_err(|problem| failed(&self.index_url, problem))
    }

    fn join(&self, url: &str) -> Result<Url, InstallError> {
        let joined = self.index_url.join(url);
        joined.map_err(|error| failed(&self.index_url, format!("`{url}`: {error}")))
    }

    /// Returns the URL of a file beside the index.
    fn file_url(&self, name: &str, path: &TreePath) -> Result<Url, InstallError> {
        let mut url = self.join(".")?;
        // Encodes what would end a path or be another name.
        url.path_segments_mut()
            .map_err(|()| failed(&self.index_url, "it has no path"))?
            .pop_if_empty()
            .push(name)
            .extend(path.names());
        Ok(url)
    }
}

impl Origin for Site {
    fn skill_files(&self) -> Vec<TreePath> {
        let paths = self.entries.iter();
        let mut paths: Vec<TreePath> = paths
            .filter_map(|entry| TreePath::new(&format!("{}/{SKILL_FILE}", entry.name)).ok())
            .collect();
        paths.sort();
        paths
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        for directory in directories {
            let Some(entry) = self.entry(directory) else {
                continue;
            };
            match &entry.content {
                Ok(content) => {
                    let name = entry.name.clone();
                    let artifact = self.stage_entry(&name, content, tree)?;
                    if let Some((url, file)) = artifact {
                        let signatures = self.signatures.download(&self.client, &url)?;
                        if !signatures.is_empty() {
                            self.signed.insert(name, (signatures, file));
                        }
                    }
                }
                Err(problem) => return Err(self.entry_problem(&entry.name, problem)),
            }
        }
        Ok(())
    }

    fn revision(&self, directory: &TreePath) -> Option<String> {
        match self.entry(directory)?.content.as_ref().ok()? {
            EntryContent::SkillFile { digest, .. } | EntryContent::Archive { digest, .. } => {
                Some(digest.to_string())
            }
            EntryContent::Files(_) => None,
        }
    }

    fn artifact_signer(
        &mut self,
        directory: &TreePath,
        verify: VerifyFile<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        match self.signed.get_mut(directory.as_str()) {
            Some((signatures, file)) => verify(signatures, file),
            None => Ok(None),
        }
    }

    fn fixes_names(&self) -> bool {
        true
    }
}

impl Site {
    fn entry_problem(&self, name: &str, problem: &IndexProblem) -> InstallError {
        failed(&self.index_url, format!("`{name}`: {problem}"))
    }
}

/// Downloads the index, and returns its URL after redirects.
fn download_index(client: &Client, url: &Url) -> Result<(Url, Vec<u8>), InstallError> {
    let mut directory = url.clone();
    directory.set_query(None);
    directory.set_fragment(None);
    if directory.path().ends_with(".json") {
        return read_index(client, url);
    }
    if !directory.path().ends_with('/') {
        directory.set_path(&format!("{}/", directory.path()));
    }
    for path in INDEX_PATHS {
        let candidate = directory.join(path).map_err(|error| failed(url, error))?;
        let response = client.get(&candidate, &[])?;
        if !matches!(response.status, 404 | 410) {
            let response = check_status(response)?;
            let url = response.url.clone();
            return Ok((url, client.read(response, MAX_INDEX_BYTES)?));
        }
    }
    Err(InstallError::fetch_with_help(
        url.as_str(),
        "the site has no index of skills",
        "the index of a site is `/.well-known/agent-skills/index.json`; write `git+URL` for a repository and `archive+URL` for an archive",
    ))
}

fn read_index(client: &Client, url: &Url) -> Result<(Url, Vec<u8>), InstallError> {
    let response = check_status(client.get(url, &[])?)?;
    let url = response.url.clone();
    Ok((url, client.read(response, MAX_INDEX_BYTES)?))
}
