//! Fetches a source, finds its skills and stages those that are wanted.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use skills_discovery::{SkillFiles, parallel_map};
use skills_signature::{Content, Signatures, Signer, TrustedSigners};
use url::Url;

use crate::capabilities::ToolWords;
use crate::error::{InstallError, Repr};
use crate::find_skills::{Rejected, Wanted, find_at_places, find_named, no_skill};
use crate::origin::{
    Archive, ClawHubSkill, Directory, McpServer, OciArtifact, Origin, Packages, Repository, Site,
};
use crate::progress::{FetchProgress, Progress};
use crate::signature::{self, SignatureRules};
use crate::staged_skill::{StagedSkill, Unchecked, check_names};
use crate::staged_tree::StagedTree;
use crate::web::Client;
use crate::{FetchLimits, GitOptions, Source, SourceRule, SourceSpec, TreePath, WebOptions};

/// How sources are fetched.
#[derive(Debug, Clone)]
pub struct Fetcher {
    git: GitOptions,
    web: WebOptions,
    has_credentials: bool,
    limits: FetchLimits,
    signatures: SignatureRules,
    progress: Progress,
    /// Lists of rules; a source must be allowed by one rule of each.
    sources: Vec<Vec<SourceRule>>,
}

/// The directory of a staged skill, and the result of its check.
type CheckedPath = (TreePath, Result<StagedSkill, InstallError>);

/// An open source, and how its skills are checked.
struct Opened<'a> {
    origin: &'a mut dyn Origin,
    spec: &'a SourceSpec,
    words: ToolWords<'a>,
}

impl Opened<'_> {
    fn reborrow(&mut self) -> Opened<'_> {
        Opened {
            origin: self.origin,
            spec: self.spec,
            words: self.words,
        }
    }
}

/// The staged signatures beside skill directories.
struct Beside<'a> {
    files: &'a BTreeSet<TreePath>,
    tree: &'a StagedTree,
}

/// The wanted skills of a source.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) skills: Vec<StagedSkill>,
    /// Skills that cannot be used, if each was wanted at or below its directory: one of them does
    /// not stop the others.
    pub(crate) rejected: Rejected,
}

impl Fetcher {
    /// Creates a fetcher with the default limits.
    #[must_use]
    pub fn new(git: GitOptions) -> Self {
        Self {
            git,
            web: WebOptions::default(),
            has_credentials: false,
            limits: FetchLimits::default(),
            signatures: SignatureRules::default(),
            progress: Progress::default(),
            sources: Vec::new(),
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

    /// Sends the credentials that the user's git has for the server of a source (`git credential`),
    /// if the server answers 401 or 403 without them. No person is asked. They are sent to the origin
    /// of the source only, by HTTPS or to this machine, before any redirect to another origin; of a
    /// registry also to the HTTPS server that it names for tokens. By default none are sent.
    #[must_use]
    pub fn use_git_credentials(mut self) -> Self {
        self.has_credentials = true;
        self
    }

    /// Calls a function several times for each download, and at the end of each fetch. It should
    /// return at once.
    #[must_use]
    pub fn on_progress(
        mut self,
        report: impl Fn(FetchProgress<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.progress = Progress::new(report);
        self
    }

    /// Allows only sources that one of the rules allows; without any rule, none. Called several
    /// times, each list must allow the source. By default every source is allowed.
    ///
    /// Rules are about the source that the user names, before anything is fetched. The servers of an
    /// allowed source may redirect or refer to others.
    #[must_use]
    pub fn allowed_sources(mut self, rules: impl IntoIterator<Item = SourceRule>) -> Self {
        self.sources.push(rules.into_iter().collect());
        self
    }

    /// Refuses skills without a signature of a trusted key or identity.
    #[must_use]
    pub fn require_signature(mut self) -> Self {
        self.signatures.is_required = true;
        self
    }

    /// Replaces the signers that are trusted, by default none. Signatures of others are noted in the
    /// lock file as unverified.
    #[must_use]
    pub fn trust(mut self, signers: TrustedSigners) -> Self {
        self.signatures.trusted = signers;
        self
    }

    /// Expects a signature of a source that had one before.
    pub(crate) fn expect_signature(&self) -> Self {
        let mut fetcher = self.clone();
        fetcher.signatures.is_remembered = true;
        fetcher
    }

    /// Fetches a source and stages the wanted skills in `scratch`, an empty directory.
    pub(crate) fn fetch(
        &self,
        spec: &SourceSpec,
        wanted: Wanted<'_>,
        words: ToolWords<'_>,
        scratch: &Path,
    ) -> Result<Fetched, InstallError> {
        let _end = self.progress.end_on_drop();
        self.check_source(spec)?;
        let mut origin = self.open(spec, scratch)?;
        let files = origin.skill_files();
        let from = Opened {
            origin: origin.as_mut(),
            spec,
            words,
        };
        let skills = match wanted {
            Wanted::Names(names) => {
                let skills = self.fetch_named(from, &files, names, scratch)?;
                check_names(&skills)?;
                return Ok(Fetched {
                    skills,
                    rejected: Vec::new(),
                });
            }
            Wanted::At(skills) | Wanted::Below(skills) => skills,
        };
        let is_exact = matches!(wanted, Wanted::At(_));
        let mut rejected = Vec::new();
        let found = find_at_places(&files, spec, skills, is_exact, &mut rejected);
        let directories = found.keys().cloned().collect();
        let staged = self.stage(from, directories, &scratch.join("tree"))?;
        let mut skills = Vec::new();
        for (required, (_, checked)) in found.into_values().zip(staged) {
            match checked {
                Ok(skill) => {
                    let (own, others): (Vec<String>, Vec<String>) =
                        required.into_iter().partition(|name| *name == skill.name);
                    rejected.extend(others.into_iter().map(|name| renamed(name, &skill)));
                    if !own.is_empty() {
                        skills.push(skill);
                    }
                }
                Err(error) => rejected.push((required, error)),
            }
        }
        check_names(&skills)?;
        Ok(Fetched { skills, rejected })
    }

    /// Returns the skills with the given names; all if there are none. The directory of a skill mostly
    /// has its name, so the names of the others are only read if one is missing.
    fn fetch_named(
        &self,
        mut from: Opened<'_>,
        files: &[TreePath],
        names: &[String],
        scratch: &Path,
    ) -> Result<Vec<StagedSkill>, InstallError> {
        let spec = from.spec;
        let (likely, others) = find_named(files, spec, names)?;
        let staged = self.stage(from.reborrow(), likely, &scratch.join("tree"))?;
        if names.is_empty() {
            return staged.into_iter().map(|(_, checked)| checked).collect();
        }
        let mut skills = Vec::new();
        let mut available = BTreeSet::new();
        for (_, checked) in staged {
            let skill = checked?;
            available.insert(skill.name.clone());
            skills.push(skill);
        }
        let missing = |skills: &[StagedSkill]| {
            let mut names = names.iter();
            names.find(|name| skills.iter().all(|skill| skill.name != **name))
        };
        if missing(&skills).is_some() {
            let mut others = self.with_names(from.reborrow(), files, others, scratch)?;
            available.extend(others.iter().map(|(_, name)| name.clone()));
            let is_found = |name: &String| skills.iter().any(|skill| skill.name == *name);
            others.retain(|(_, name)| names.contains(name) && !is_found(name));
            let paths = others.into_iter().map(|(path, _)| path).collect();
            for (_, checked) in self.stage(from, paths, &scratch.join("others"))? {
                skills.push(checked?);
            }
        }
        skills.retain(|skill| names.contains(&skill.name));
        match missing(&skills) {
            Some(name) => Err(no_skill(spec, Some(name), available.into_iter())),
            None => Ok(skills),
        }
    }

    /// Returns directories of skills with the names of the skills, for which only their `SKILL.md` is
    /// fetched. An invalid one has the name of its directory.
    fn with_names(
        &self,
        from: Opened<'_>,
        files: &[TreePath],
        directories: Vec<TreePath>,
        scratch: &Path,
    ) -> Result<Vec<(TreePath, String)>, InstallError> {
        let add_own_name = |path: TreePath| {
            let name = path.file_name().unwrap_or_default().to_owned();
            (path, name)
        };
        if from.origin.fixes_names() {
            return Ok(directories.into_iter().map(add_own_name).collect());
        }
        let directory = scratch.join("names");
        std::fs::create_dir(&directory)
            .map_err(|error| InstallError::io("create", &directory, error))?;
        let mut tree = StagedTree::new(&directory, &directories, &self.limits)?;
        let known: BTreeSet<&str> = directories.iter().map(TreePath::as_str).collect();
        let is_wanted = |file: &&TreePath| {
            let parent = file.parent();
            parent.is_some_and(|parent| known.contains(parent.as_str()))
        };
        let files: Vec<TreePath> = files.iter().filter(is_wanted).cloned().collect();
        from.origin.stage(&files, &mut tree)?;
        tree.link_all()?;
        let name = |path: &TreePath| {
            let files = SkillFiles::open_directory(&tree.path().join(path.as_str())).ok()?;
            let document = files.document().ok()?;
            document
                .manifest()
                .name()
                .map(|name| name.as_str().to_owned())
        };
        let with_name = |path: TreePath| match name(&path) {
            Some(name) => (path, name),
            None => add_own_name(path),
        };
        Ok(directories.into_iter().map(with_name).collect())
    }

    /// Unpacks the skills in these directories of a source below `directory`, and checks them.
    fn stage(
        &self,
        from: Opened<'_>,
        directories: Vec<TreePath>,
        directory: &Path,
    ) -> Result<Vec<CheckedPath>, InstallError> {
        let Opened {
            origin,
            spec,
            words,
        } = from;
        std::fs::create_dir(directory)
            .map_err(|error| InstallError::io("create", directory, error))?;
        let mut tree = StagedTree::new(directory, &directories, &self.limits)?;
        let signatures = signature_files(&directories, origin);
        let mut staged = directories.clone();
        staged.extend(signatures.iter().cloned());
        origin.stage(&staged, &mut tree)?;
        tree.link_all()?;
        let unchecked: Vec<Unchecked> = directories
            .iter()
            .map(|path| Unchecked::new(path.clone(), origin, &tree))
            .collect();
        let checked = parallel_map(&unchecked, |skill| skill.check(spec, words));
        let beside = Beside {
            files: &signatures,
            tree: &tree,
        };
        let mut skills = Vec::new();
        for (path, checked) in directories.into_iter().zip(checked) {
            let checked = checked.and_then(|mut skill| {
                skill.signer = self.signer(&skill, &path, &beside, origin)?;
                Ok(skill)
            });
            skills.push((path, checked));
        }
        Ok(skills)
    }

    fn check_source(&self, spec: &SourceSpec) -> Result<(), InstallError> {
        let is_allowed = |rules: &Vec<SourceRule>| rules.iter().any(|rule| rule.allows(spec));
        if self.sources.iter().all(is_allowed) {
            Ok(())
        } else {
            Err(Repr::NotAllowed(spec.identity()).into())
        }
    }

    fn signer(
        &self,
        skill: &StagedSkill,
        path: &TreePath,
        beside: &Beside<'_>,
        origin: &mut dyn Origin,
    ) -> Result<String, InstallError> {
        let executables = skill.capabilities.executables();
        let statement = signature::render_statement(&skill.name, skill.content, &executables);
        let signatures =
            Signatures::read(|extension, max_bytes| beside.read(path, extension, max_bytes))?;
        let verify_file = |signatures: &Signatures, file: &mut std::fs::File| {
            let content = Content::File(file);
            self.signatures.verify(&skill.name, signatures, content)
        };
        let mut signer = origin.artifact_signer(path, &verify_file)?;
        if !signer.as_ref().is_some_and(Signer::is_verified) {
            let content = Content::Bytes(statement.as_bytes());
            let other = self.signatures.verify(&skill.name, &signatures, content)?;
            signer = Signer::stronger(other, signer);
        }
        self.signatures.check_signer(&skill.name, signer)
    }

    fn open(&self, spec: &SourceSpec, scratch: &Path) -> Result<Box<dyn Origin>, InstallError> {
        Ok(match spec.source() {
            Source::Unusable { error, .. } => return Err(error.clone().into()),
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
            Source::ClawHub { registry, slug } => {
                let (client, url) = self.client(registry)?;
                let version = spec.reference();
                let skill =
                    ClawHubSkill::open(&client, &url, slug, version, scratch, &self.limits)?;
                Box::new(skill)
            }
            Source::Directory(path) => Box::new(Directory::open(path, &self.limits)?),
            Source::Packages(path) => Box::new(Packages::open(path, &self.limits)?),
            Source::ArchiveFile(path) => {
                let archive = Archive::open(open_file(path)?, &self.limits)?;
                let signatures = Signatures::read(|extension, max_bytes| {
                    read_signature(path, extension, max_bytes)
                })?;
                let archive = archive.with_signatures(signatures);
                Box::new(check_digest(archive, spec)?)
            }
            Source::Git(url) => {
                let git = self.git.clone().progress(self.progress.clone());
                Box::new(Repository::fetch(
                    &git,
                    url,
                    spec.reference(),
                    &self.limits,
                )?)
            }
            Source::ArchiveUrl(url) => {
                let (client, url) = self.client(url)?;
                let file = client.download(&url, &[], scratch)?;
                let archive = Archive::open(file, &self.limits)?;
                let signatures = self.signatures.download(&client, &url)?;
                let archive = archive.with_signatures(signatures);
                Box::new(check_digest(archive, spec)?)
            }
            Source::Site(url) => {
                let (client, url) = self.client(url)?;
                let site = Site::open(client, &url, scratch, &self.limits)?;
                Box::new(site.with_signatures(self.signatures.clone()))
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
        let web = self.web.clone().progress(self.progress.clone());
        let git = self.has_credentials.then(|| self.git.clone());
        Ok((Client::new(&web, &self.limits, &parsed, git)?, parsed))
    }
}

impl Beside<'_> {
    /// Reads the signature of a skill directory, if there is one with this extension.
    fn read(
        &self,
        directory: &TreePath,
        extension: &str,
        max_bytes: u64,
    ) -> Result<Option<String>, InstallError> {
        let path = signature_path(directory, extension);
        match path.filter(|path| self.files.contains(path)) {
            Some(path) => self.tree.read_text(&path, max_bytes).map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the paths of the signatures beside skill directories.
fn signature_files(directories: &[TreePath], origin: &dyn Origin) -> BTreeSet<TreePath> {
    // A skill that is its whole source has nothing beside it.
    let named = directories.iter().filter(|directory| !directory.is_root());
    let paths = named.flat_map(|directory| {
        Signatures::extensions().filter_map(move |extension| signature_path(directory, extension))
    });
    paths.filter(|path| origin.has_file(path)).collect()
}

/// Returns the path beside a skill directory with its name and an extension.
fn signature_path(directory: &TreePath, extension: &str) -> Option<TreePath> {
    TreePath::new(&format!("{directory}{extension}")).ok()
}

/// Reads the signature beside an archive on disk, if there is one.
fn read_signature(
    archive: &Path,
    extension: &str,
    max_bytes: u64,
) -> Result<Option<String>, InstallError> {
    let mut path = archive.as_os_str().to_owned();
    path.push(extension);
    let path = PathBuf::from(path);
    let failed = |error| InstallError::io("read", &path, error);
    let file = match open_without_waiting(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Opens a file beside an archive. Another user may have put a FIFO there, which would never end.
#[expect(
    clippy::disallowed_methods,
    reason = "a file beside an archive that the user named is not a file of a skill"
)]
fn open_without_waiting(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
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

/// Rejects a skill that is not the wanted one: under its own name it is a new one, which takes
/// consent of its own.
fn renamed(name: String, skill: &StagedSkill) -> (Vec<String>, InstallError) {
    let error = Repr::Renamed {
        name: name.clone(),
        other: skill.name.clone(),
    };
    (vec![name], error.into())
}
