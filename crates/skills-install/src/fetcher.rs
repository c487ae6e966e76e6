//! Fetches a source, finds its skills and stages those that are wanted.

use std::collections::BTreeSet;
use std::path::Path;

use skills_discovery::{MemorySkill, SkillFiles, parallel_map};
use skills_signature::{Content, Signatures, Signer, TrustedSigners};

use crate::capabilities::ToolWords;
use crate::error::{InstallError, InstallErrorKind, Repr};
use crate::fetch_options::FetchOptions;
use crate::find_skills::{Rejected, Wanted, find_at_places, find_named, no_skill};
use crate::memory_skills;
use crate::origin::tree::Origin;
use crate::progress::{FetchProgress, Progress};
use crate::signature;
use crate::staged_skill::{StagedSkill, Unchecked, check_names};
use crate::staged_tree::StagedTree;
use crate::temporary_dir::temporary_dir;
use crate::{FetchLimits, GitOptions, SourceRule, SourceSpec, TreePath, WebOptions};

/// How sources are fetched.
#[derive(Debug, Clone)]
pub struct Fetcher {
    options: FetchOptions,
    /// Lists of rules; a source must be allowed by one rule of each.
    sources: Vec<Vec<SourceRule>>,
}

/// Maximum number of skills that cannot be unpacked without the failure of all: each is found by one
/// more attempt.
const MAX_REFUSED: usize = 16;

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
    /// Skills that cannot be used, unless they were wanted by name: one of them does not stop the
    /// others.
    pub(crate) rejected: Rejected,
}

impl Fetcher {
    /// Creates a fetcher with the default limits.
    #[must_use]
    pub fn new(git: GitOptions) -> Self {
        Self {
            options: FetchOptions::new(git),
            sources: Vec::new(),
        }
    }

    /// Replaces how web servers are reached.
    #[must_use]
    pub fn web(mut self, web: WebOptions) -> Self {
        self.options.web = web;
        self
    }

    /// Replaces the limits.
    #[must_use]
    pub fn limits(mut self, limits: FetchLimits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Sends the credentials that the user's git has for the server of a source (`git credential`),
    /// if the server answers 401 or 403 without them. No person is asked. They are sent to the origin
    /// of the source only, by HTTPS or to this machine, before any redirect to another origin; of a
    /// registry also to the HTTPS server that it names for tokens. By default none are sent.
    #[must_use]
    pub fn use_git_credentials(mut self) -> Self {
        self.options.has_credentials = true;
        self
    }

    /// Calls a function several times for each download, and at the end of each fetch. It should
    /// return at once.
    #[must_use]
    pub fn on_progress(
        mut self,
        report: impl Fn(FetchProgress<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.options.progress = Progress::new(report);
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
        self.options.signatures.is_required = true;
        self
    }

    /// Replaces the signers that are trusted, by default none. Signatures of others are noted in the
    /// lock file as unverified.
    #[must_use]
    pub fn trust(mut self, signers: TrustedSigners) -> Self {
        self.options.signatures.trusted = signers;
        self
    }

    /// Returns the skills of an MCP server as a source of scans, with the web options, limits and
    /// allowed sources of this fetcher.
    ///
    /// # Errors
    /// Fails if the source is not an MCP server or not allowed, or if signatures are required, which
    /// a live server does not have.
    #[cfg(feature = "mcp")]
    pub fn live_source(&self, spec: &SourceSpec) -> Result<crate::LiveSource, InstallError> {
        self.check_source(spec)?;
        crate::LiveSource::new(spec.clone(), self.options.clone())
    }

    /// Fetches all skills of a source, such as an archive, into memory, at most 256 MiB, for a
    /// [`MemorySource`](skills_discovery::MemorySource). They pass the checks of an installation;
    /// in addition a skill must not have symlinks. `scratch` is an existing directory for temporary
    /// files.
    ///
    /// No approver is asked: the current content of the server gets the trust of the memory source,
    /// which is [`Trusted`](skills_discovery::Trust::Trusted) by default. Unless the application
    /// itself decides what the source contains, as for an archive that it ships, use
    /// `SourceRoot::new(..).trust(Trust::Untrusted).lock_directory(..)`: then a skill is active only
    /// while its digest is the one that the user has agreed to.
    ///
    /// # Errors
    /// Fails if the source cannot be fetched, or if one of its skills cannot be used.
    pub fn fetch_into_memory(
        &self,
        spec: &SourceSpec,
        scratch: &Path,
    ) -> Result<Vec<MemorySkill>, InstallError> {
        let scratch = temporary_dir(scratch)?;
        let words = |_: &str, _: Option<&str>| None;
        let fetched = self.fetch(spec, Wanted::Names(&[]), &words, scratch.path())?;
        if let Some((_, error)) = fetched.rejected.into_iter().next() {
            return Err(error);
        }
        memory_skills::read(&fetched.skills)
    }

    /// Expects a signature of a source that had one before.
    pub(crate) fn expect_signature(&self) -> Self {
        let mut fetcher = self.clone();
        fetcher.options.signatures.is_remembered = true;
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
        let _end = self.options.progress.end_on_drop();
        self.check_source(spec)?;
        let divided = spec.divided(&self.options)?;
        let spec = divided.as_ref();
        let mut origin = spec.open(&self.options, scratch)?;
        let files = origin.skill_files();
        let from = Opened {
            origin: origin.as_mut(),
            spec,
            words,
        };
        let skills = match wanted {
            Wanted::Names(names) => {
                let fetched = match names {
                    [] => self.fetch_all(from, &files, scratch),
                    names => self.fetch_named(from, &files, names, scratch),
                };
                let fetched =
                    fetched.map_err(|error| error.with_submodules(|| origin.submodules()))?;
                check_names(&fetched.skills)?;
                return Ok(fetched);
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
        let explain = |(names, error): (_, InstallError)| {
            (names, error.with_submodules(|| origin.submodules()))
        };
        let rejected = rejected.into_iter().map(explain).collect();
        Ok(Fetched { skills, rejected })
    }

    /// Returns all skills of a source, and those that cannot be used. A source of one skill fails with
    /// its error.
    fn fetch_all(
        &self,
        mut from: Opened<'_>,
        files: &[TreePath],
        scratch: &Path,
    ) -> Result<Fetched, InstallError> {
        let (directories, _) = find_named(files, from.spec, &[])?;
        let is_single = directories.len() == 1;
        let (staged, mut rejected) = self.stage_valid(&mut from, directories, scratch)?;
        let mut skills = Vec::new();
        for (path, checked) in staged {
            match checked {
                Ok(skill) => skills.push(skill),
                Err(error) if is_single || !is_fault_of_one(&error) => return Err(error),
                Err(error) => rejected.push((vec![path.to_string()], error)),
            }
        }
        Ok(Fetched { skills, rejected })
    }

    /// Unpacks the skills in these directories, except those with an entry that is never installed,
    /// which are returned by their directories.
    fn stage_valid(
        &self,
        from: &mut Opened<'_>,
        mut directories: Vec<TreePath>,
        scratch: &Path,
    ) -> Result<(Vec<CheckedPath>, Rejected), InstallError> {
        let mut rejected = Rejected::new();
        loop {
            let tree = scratch.join(format!("tree{}", rejected.len()));
            let error = match self.stage(from.reborrow(), directories.clone(), &tree) {
                Ok(staged) => return Ok((staged, rejected)),
                Err(error) => error,
            };
            let refused = error.refused_path();
            let index = refused.and_then(|path| directory_of(&directories, path));
            let is_last = rejected.len() == MAX_REFUSED;
            match index.filter(|_| !is_last && directories.len() + rejected.len() > 1) {
                Some(index) => {
                    let directory = directories.remove(index);
                    rejected.push((vec![directory.to_string()], error));
                }
                None => return Err(error),
            }
            std::fs::remove_dir_all(&tree)
                .map_err(|error| InstallError::io("remove", &tree, error))?;
        }
    }

    /// Returns the skills with the given names. The directory of a skill mostly has its name, so the
    /// names of the others are only read if one is missing.
    fn fetch_named(
        &self,
        mut from: Opened<'_>,
        files: &[TreePath],
        names: &[String],
        scratch: &Path,
    ) -> Result<Fetched, InstallError> {
        let spec = from.spec;
        let (likely, others) = find_named(files, spec, names)?;
        let staged = self.stage(from.reborrow(), likely, &scratch.join("tree"))?;
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
            None => Ok(Fetched {
                skills,
                rejected: Rejected::new(),
            }),
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
        let mut tree = StagedTree::new(&directory, &directories, &self.options.limits)?;
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
        let mut tree = StagedTree::new(directory, &directories, &self.options.limits)?;
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
            self.options
                .signatures
                .verify(&skill.name, signatures, content)
        };
        let mut signer = origin.artifact_signer(path, &verify_file)?;
        if !signer.as_ref().is_some_and(Signer::is_verified) {
            let content = Content::Bytes(statement.as_bytes());
            let other = self
                .options
                .signatures
                .verify(&skill.name, &signatures, content)?;
            signer = Signer::stronger(other, signer);
        }
        self.options.signatures.check_signer(&skill.name, signer)
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

/// Returns true if an error is about the content of one skill. A signature that is missing or wrong,
/// a limit and a failed download are those of the source.
fn is_fault_of_one(error: &InstallError) -> bool {
    matches!(
        error.kind(),
        InstallErrorKind::Skill | InstallErrorKind::Unsafe
    )
}

/// Returns the index of the directory that contains a path.
fn directory_of(directories: &[TreePath], path: &str) -> Option<usize> {
    directories.iter().position(|directory| {
        let below = path.strip_prefix(directory.as_str());
        below.is_some_and(|below| directory.is_root() || below.starts_with('/'))
    })
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

/// Rejects a skill that is not the wanted one: under its own name it is a new one, which takes
/// consent of its own.
fn renamed(name: String, skill: &StagedSkill) -> (Vec<String>, InstallError) {
    let error = Repr::Renamed {
        name: name.clone(),
        other: skill.name.clone(),
    };
    (vec![name], error.into())
}
