//! Fetches a source, finds its skills and stages those that are wanted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};
use skills_manifest::SkillName;
use url::Url;

use crate::capabilities::{Capabilities, ToolWords};
use crate::error::{InstallError, Repr};
use crate::origin::{
    Archive, Directory, McpServer, OciArtifact, Origin, Packages, Repository, Site,
};
use crate::staged_tree::StagedTree;
use crate::web::Client;
use crate::{FetchLimits, GitOptions, Source, SourceSpec, TreePath, WebOptions};

/// How sources are fetched.
#[derive(Debug, Clone)]
pub struct Fetcher {
    git: GitOptions,
    web: WebOptions,
    limits: FetchLimits,
}

/// A skill in a staging directory, completely checked.
#[derive(Debug)]
pub(crate) struct StagedSkill {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) source: SourceSpec,
    pub(crate) revision: Option<String>,
    pub(crate) committed: Option<i64>,
    pub(crate) content: ContentDigest,
    pub(crate) capabilities: Capabilities,
}

/// The wanted skills of a source.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) skills: Vec<StagedSkill>,
    /// Directories without a usable skill, if directories were wanted: one of them does not stop
    /// the others.
    pub(crate) rejected: Vec<(TreePath, InstallError)>,
}

/// Which skills of a source are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Those with these names, below the directory of the source; all if there are none.
    Names(&'a [String]),
    /// Those at these directories of the source.
    Directories(&'a [TreePath]),
}

impl Fetcher {
    /// Creates a fetcher with the default limits.
    #[must_use]
    pub fn new(git: GitOptions) -> Self {
        Self {
            git,
            web: WebOptions::default(),
            limits: FetchLimits::default(),
        }
    }

    /// Replaces how web servers are reached.
    #[must_use]
    pub fn web(mut self, web: WebOptions) -> Self {
        self.web = web;
        self
    }

    /// Replaces the limits.
    #[must_use]
    pub fn limits(mut self, limits: FetchLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Fetches a source and stages the wanted skills in `scratch`, an empty directory.
    pub(crate) fn fetch(
        &self,
        spec: &SourceSpec,
        wanted: Wanted<'_>,
        words: ToolWords<'_>,
        scratch: &Path,
    ) -> Result<Fetched, InstallError> {
        let mut origin = self.open(spec, scratch)?;
        let mut rejected = Vec::new();
        let found = find_wanted(&origin.skill_files(), spec, wanted, &mut rejected)?;
        let directory = scratch.join("tree");
        std::fs::create_dir(&directory)
            .map_err(|error| InstallError::io("create", &directory, error))?;
        let mut tree = StagedTree::new(&directory, &self.limits)?;
        let directories: Vec<TreePath> = found.values().cloned().collect();
        origin.stage(&directories, &mut tree)?;
        tree.link_all(&directories)?;
        let mut skills = Vec::new();
        for (name, path) in found {
            let directory = if path.is_root() {
                tree.path().to_owned()
            } else {
                tree.path().join(path.as_str())
            };
            match (
                check_skill(name, &path, directory, spec, origin.as_ref(), words),
                wanted,
            ) {
                (Ok(skill), _) => skills.push(skill),
                (Err(error), Wanted::Names(_)) => return Err(error),
                (Err(error), Wanted::Directories(_)) => rejected.push((path, error)),
            }
        }
        check_names(&skills)?;
        Ok(Fetched { skills, rejected })
    }

    fn open(&self, spec: &SourceSpec, scratch: &Path) -> Result<Box<dyn Origin>, InstallError> {
        Ok(match spec.source() {
            Source::Directory(path) if path.join("oci-layout").is_file() => Box::new(
                OciArtifact::open_layout(path, spec.reference(), &self.limits)?,
            ),
            Source::McpServer(url) => {
                let (client, url) = self.client(url)?;
                Box::new(McpServer::open(client, &url, &self.limits)?)
            }
            Source::OciLayout(path) => Box::new(OciArtifact::open_layout(
                path,
                spec.reference(),
                &self.limits,
            )?),
            Source::OciRegistry(repository) => self.open_registry(repository, spec, scratch)?,
            Source::Directory(path) => Box::new(Directory::open(path, &self.limits)?),
            Source::Packages(path) => Box::new(Packages::open(path, &self.limits)?),
            Source::ArchiveFile(path) => {
                let archive = Archive::open(open_file(path)?, &self.limits)?;
                Box::new(check_digest(archive, spec)?)
            }
            Source::Git(url) => {
                let directory = scratch.join("git");
                std::fs::create_dir(&directory)
                    .map_err(|error| InstallError::io("create", &directory, error))?;
                let reference = spec.reference();
                Box::new(Repository::fetch(
                    &self.git,
                    url,
                    reference,
                    &directory,
                    &self.limits,
                )?)
            }
            Source::ArchiveUrl(url) => {
                let (client, url) = self.client(url)?;
                let file = client.download(&url, &[], scratch)?;
                let archive = Archive::open(file, &self.limits)?;
                Box::new(check_digest(archive, spec)?)
            }
            Source::Site(url) => {
                let (client, url) = self.client(url)?;
                Box::new(Site::open(client, &url, scratch, &self.limits)?)
            }
        })
    }

    fn open_registry(
        &self,
        repository: &str,
        spec: &SourceSpec,
        scratch: &Path,
    ) -> Result<Box<dyn Origin>, InstallError> {
        let (host, name) = repository.split_once('/').unwrap_or((repository, ""));
        // The registry of Docker has another address than name.
        let host = if host == "docker.io" {
            "registry-1.docker.io"
        } else {
            host
        };
        let scheme = self.web.scheme_for(host);
        let (client, url) = self.client(&format!("{scheme}://{host}/"))?;
        let reference = spec.reference();
        let artifact =
            OciArtifact::open_registry(client, &url, name, reference, scratch, &self.limits)?;
        Ok(Box::new(artifact))
    }

    /// Returns a client for a source, and its parsed URL.
    fn client(&self, url: &str) -> Result<(Client, Url), InstallError> {
        let parsed =
            Url::parse(url).map_err(|error| InstallError::fetch(url, error.to_string()))?;
        Ok((Client::new(&self.web, &self.limits, &parsed)?, parsed))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an archive that the user named is not a file of a skill"
)]
fn open_file(path: &Path) -> Result<std::fs::File, InstallError> {
    std::fs::File::open(path).map_err(|error| InstallError::io("open", path, error))
}

fn check_digest(archive: Archive, spec: &SourceSpec) -> Result<Archive, InstallError> {
    match spec.reference() {
        Some(expected) if expected != archive.digest() => Err(Repr::ArchiveDigest {
            expected: expected.to_owned(),
            actual: archive.digest().to_owned(),
        }
        .into()),
        _ => Ok(archive),
    }
}

/// Returns the directories of the wanted skills by name.
fn find_wanted(
    files: &[TreePath],
    spec: &SourceSpec,
    wanted: Wanted<'_>,
    rejected: &mut Vec<(TreePath, InstallError)>,
) -> Result<BTreeMap<String, TreePath>, InstallError> {
    let directories = match wanted {
        Wanted::Names(names) => return find_skills(files, spec, names),
        Wanted::Directories(directories) => directories,
    };
    let mut found: BTreeMap<String, TreePath> = BTreeMap::new();
    for directory in directories {
        let skills = match find_skills(files, &spec.clone().with_path(directory.clone()), &[]) {
            Ok(skills) => skills,
            Err(error) => {
                rejected.push((directory.clone(), error));
                continue;
            }
        };
        for (name, path) in skills {
            if let Some(other) = found.insert(name.clone(), path.clone())
                && other != path
            {
                let paths = vec![other.to_string(), path.to_string()];
                return Err(Repr::SameName { name, paths }.into());
            }
        }
    }
    Ok(found)
}

/// Returns the directories of the wanted skills by name, where the name is that of the directory;
/// empty for a skill that is the root of its source.
fn find_skills(
    files: &[TreePath],
    spec: &SourceSpec,
    names: &[String],
) -> Result<BTreeMap<String, TreePath>, InstallError> {
    let directories: Vec<TreePath> = files.iter().filter_map(TreePath::parent).collect();
    let start = start_directory(&directories, spec.path());
    let below: Vec<&TreePath> = directories
        .iter()
        .filter(|directory| directory.strip_prefix(&start).is_some())
        .collect();
    // A `SKILL.md` below a skill is mostly an example.
    let tops = below.iter().filter(|directory| {
        !below
            .iter()
            .any(|other| other != *directory && directory.strip_prefix(other).is_some())
    });
    let is_hidden = |directory: &TreePath| directory.names().any(|name| name.starts_with('.'));
    let (hidden, visible): (Vec<&TreePath>, Vec<&TreePath>) =
        tops.copied().partition(|directory| {
            directory
                .strip_prefix(&start)
                .is_some_and(|below| is_hidden(&below))
        });
    // Copies for clients are in hidden directories.
    let tops = if visible.is_empty() { hidden } else { visible };
    let mut found: BTreeMap<String, Vec<TreePath>> = BTreeMap::new();
    for directory in tops {
        let name = directory.file_name().unwrap_or_default().to_owned();
        found.entry(name).or_default().push(directory.clone());
    }
    let is_wanted = |name: &str| {
        names.is_empty() || name.is_empty() || names.iter().any(|wanted| wanted == name)
    };
    for name in names {
        if !found.contains_key(name) && !found.contains_key("") {
            return Err(no_skill(spec, Some(name), found.into_keys()));
        }
    }
    let mut wanted = BTreeMap::new();
    for (name, mut paths) in found {
        if !is_wanted(&name) {
            continue;
        }
        match (paths.pop(), paths.is_empty()) {
            (Some(path), true) => wanted.insert(name, path),
            (path, _) => {
                paths.extend(path);
                let paths = paths.iter().map(ToString::to_string).collect();
                return Err(Repr::SameName { name, paths }.into());
            }
        };
    }
    if wanted.is_empty() {
        return Err(no_skill(spec, None, std::iter::empty()));
    }
    Ok(wanted)
}

/// Returns the directory to search. Archives of repositories have one directory above all others,
/// which other programs do not write.
fn start_directory(directories: &[TreePath], path: &TreePath) -> TreePath {
    let has_skills = |path: &TreePath| {
        directories
            .iter()
            .any(|directory| directory.strip_prefix(path).is_some())
    };
    if has_skills(path) {
        return path.clone();
    }
    let first = directories
        .first()
        .and_then(|directory| directory.names().next());
    let below = first.and_then(|first| TreePath::new(first).ok()?.join(path.as_str()).ok());
    below
        .filter(|below| has_skills(below))
        .unwrap_or_else(|| path.clone())
}

fn no_skill(
    spec: &SourceSpec,
    name: Option<&String>,
    available: impl Iterator<Item = String>,
) -> InstallError {
    const MAX_SHOWN: usize = 20;
    Repr::NoSkill {
        from: spec.to_string(),
        name: name.cloned(),
        available: available.take(MAX_SHOWN).collect(),
    }
    .into()
}

/// Checks a staged skill: it must parse, have a usable name, and a content digest.
fn check_skill(
    directory_name: String,
    path: &TreePath,
    directory: PathBuf,
    spec: &SourceSpec,
    origin: &dyn Origin,
    words: ToolWords<'_>,
) -> Result<StagedSkill, InstallError> {
    let invalid = |source| Repr::Invalid {
        path: path.to_string(),
        source,
    };
    let files = SkillFiles::open_directory(&directory).map_err(invalid)?;
    let document = files.document().map_err(invalid)?;
    let name = document.manifest().name().map(SkillName::as_str);
    let name = name.unwrap_or(&directory_name).to_owned();
    if origin.fixes_names() && name != directory_name {
        let listed = directory_name;
        return Err(Repr::OtherName { listed, name }.into());
    }
    // It becomes the name of a directory.
    match TreePath::new(&name) {
        Ok(valid) if valid.names().count() == 1 && !name.starts_with('.') => {}
        _ => return Err(Repr::Name { name }.into()),
    }
    let content = files.digest(&mut DigestCache::default()).map_err(invalid)?;
    let capabilities = Capabilities::read(&files, words).map_err(invalid)?;
    Ok(StagedSkill {
        name,
        directory,
        source: spec.clone().with_path(path.clone()),
        revision: origin.revision(path),
        committed: origin.committed(),
        content,
        capabilities,
    })
}

/// Rejects skills whose names would be those of one directory.
fn check_names(staged: &[StagedSkill]) -> Result<(), InstallError> {
    let mut paths: BTreeMap<String, &StagedSkill> = BTreeMap::new();
    for skill in staged {
        if let Some(other) = paths.insert(crate::tree_path::fold(&skill.name), skill) {
            let paths = [other, skill].map(|skill| skill.source.path().to_string());
            return Err(Repr::SameName {
                name: skill.name.clone(),
                paths: paths.into(),
            }
            .into());
        }
    }
    Ok(())
}
