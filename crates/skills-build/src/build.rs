//! Builds a skill, or holds what is there against its source.

use std::path::{Path, PathBuf};

use crate::artifact::{Artifact, Verdict};
use crate::error::{BuildError, Problem};
use crate::files::{self, SourceFile};
use crate::hash;
use crate::language::Language;
use crate::lock::Lock;
use crate::perform::perform;
use crate::plan::{Places, Plan};
use crate::source::{GUEST, Source};
use crate::tools::Tools;

/// Where the artifact of a skill lies, below its directory.
const ARTIFACT: &str = "wasm/skill.wasm";

/// What to do when there is an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Build when the source is not the one that the artifact was built from.
    #[default]
    Stale,
    /// Build in any case.
    Always,
    /// Change nothing. Where builds are reproducible, build elsewhere and compare the bytes; else compare the source with that of the lock.
    Check,
}

/// What is to be built, and with what.
#[derive(Debug, Clone)]
#[must_use]
pub struct Request {
    skill: PathBuf,
    tools: Tools,
    work: PathBuf,
    language: Option<Language>,
    output: Option<PathBuf>,
    cargo_home: PathBuf,
    cargo_target: Option<PathBuf>,
}

impl Request {
    /// Asks for the skill in a directory, whose source lies in its `guest`; a directory without one is a source itself. What compilers
    /// keep goes below `work`. By default the language is told by the files, the artifact is `wasm/skill.wasm` of the skill, and cargo
    /// builds in `work`.
    pub fn new(skill: impl Into<PathBuf>, tools: Tools, work: impl Into<PathBuf>) -> Self {
        Self {
            skill: skill.into(),
            tools,
            work: work.into(),
            language: None,
            output: None,
            cargo_home: PathBuf::from("/cargo"),
            cargo_target: None,
        }
    }

    /// Chooses the language.
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Chooses where the artifact goes.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Names cargo's home, whose path is kept out of artifacts.
    pub fn cargo_home(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cargo_home = directory.into();
        self
    }

    /// Lets cargo build in a directory that others use too.
    pub fn cargo_target(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cargo_target = Some(directory.into());
        self
    }

    /// Finds the source.
    ///
    /// # Errors
    /// As [`Source::find`]; and when no output is chosen and the source, or the directory of the artifact, is a link that leads out of the
    /// skill.
    pub fn source(&self) -> Result<Source, BuildError> {
        let source = Source::find(&self.skill, self.language)?;
        if self.output.is_none() {
            self.lies_within(&self.skill.join(GUEST), &source.directory)?;
            let artifact = self.artifact();
            let parent = artifact.parent().unwrap_or(&artifact);
            if let Some(to) = files::resolved(parent)? {
                self.lies_within(parent, &to)?;
            }
        }
        Ok(source)
    }

    fn lies_within(&self, path: &Path, to: &Path) -> Result<(), BuildError> {
        let skill = files::resolved(&self.skill)?;
        if skill.is_some_and(|skill| to.starts_with(skill)) {
            return Ok(());
        }
        Err(Problem::Elsewhere { path: path.to_owned(), to: to.to_owned() }.into())
    }

    /// Returns the tools.
    #[must_use]
    pub const fn tools(&self) -> &Tools {
        &self.tools
    }

    fn artifact(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.skill.join(ARTIFACT))
    }
}

/// Builds a skill, or checks it. `progress` gets a line for each program that is started, and what these say.
///
/// # Errors
/// When there is no source, a tool is missing, a compiler fails, files cannot be written, or a check finds something else than the source
/// builds to. An artifact that was there stays as it was.
pub fn build(request: &Request, mode: Mode, progress: &mut dyn FnMut(&str)) -> Result<Artifact, BuildError> {
    let source = request.source()?;
    let path = request.artifact();
    let sources = files::source(&source.directory)?;
    let hash = hash::of_sources(&sources, source.language);
    let there = There::read(&source, &path)?;
    match mode {
        Mode::Stale => {
            if let Some(fresh) = there.fresh(&hash, source.language) {
                return Ok(fresh);
            }
        }
        Mode::Always => {}
        Mode::Check => return check(request, &source, &sources, &there, &hash, progress),
    }
    let (built, tools) = compile(request, &source, &sources, progress)?;
    // Cargo makes the lock file of packages when there is none, and it belongs to the source.
    let hash = if sources.iter().any(|(path, _)| path == "Cargo.lock") { hash } else { rehash(&source)? };
    let lock = Lock { language: source.language, sources: hash, artifact: hash::of(&built), tools };
    files::replace(&path, &built)?;
    files::replace(&source.directory.join(crate::LOCK), lock.to_text().as_bytes())?;
    Ok(artifact(Verdict::Built, path, &built, lock))
}

fn rehash(source: &Source) -> Result<String, BuildError> {
    Ok(hash::of_sources(&files::source(&source.directory)?, source.language))
}

fn check(
    request: &Request,
    source: &Source,
    sources: &[SourceFile],
    there: &There<'_>,
    hash: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, BuildError> {
    let (Some(lock), Some(bytes)) = (&there.lock, &there.bytes) else {
        return Err(Problem::NotBuilt { artifact: there.path.to_owned() }.into());
    };
    if there.fresh(hash, source.language).is_none() {
        return Err(Problem::Stale { artifact: there.path.to_owned() }.into());
    }
    let mut verdict = Verdict::SameSource;
    if source.language.is_reproducible() {
        let (built, _) = compile(request, source, sources, progress)?;
        if built != *bytes {
            return Err(Problem::Differs { artifact: there.path.to_owned(), tools: lock.tools_line() }.into());
        }
        verdict = Verdict::SameBytes;
    }
    Ok(artifact(verdict, there.path.to_owned(), bytes, lock.clone()))
}

type Compiled = (Vec<u8>, Vec<(String, String)>);

fn compile(request: &Request, source: &Source, sources: &[SourceFile], progress: &mut dyn FnMut(&str)) -> Result<Compiled, BuildError> {
    let found = request.tools.find(source)?;
    let stage = files::stage(&request.work)?;
    let places = Places {
        stage: stage.path().to_owned(),
        work: request.work.clone(),
        cargo_target: request.cargo_target.clone(),
        cargo_home: request.cargo_home.clone(),
    };
    let plan = Plan::new(source, sources, &found, &places);
    Ok((perform(&plan, &places, progress)?, found.versions()))
}

fn artifact(verdict: Verdict, path: PathBuf, bytes: &[u8], lock: Lock) -> Artifact {
    Artifact { verdict, language: lock.language, path, bytes: bytes.len(), sha256: lock.artifact, tools: lock.tools }
}

/// What an earlier build left.
struct There<'a> {
    path: &'a Path,
    bytes: Option<Vec<u8>>,
    lock: Option<Lock>,
}

impl<'a> There<'a> {
    fn read(source: &Source, path: &'a Path) -> Result<Self, BuildError> {
        Ok(Self { path, bytes: files::read_if_any(path)?, lock: Lock::read(&source.directory.join(crate::LOCK))? })
    }

    /// Returns the artifact when it is the one of the lock, and the lock that of the source.
    fn fresh(&self, sources: &str, language: Language) -> Option<Artifact> {
        let (bytes, lock) = (self.bytes.as_ref()?, self.lock.as_ref()?);
        let is_fresh = lock.sources == sources && lock.language == language && lock.artifact == hash::of(bytes);
        is_fresh.then(|| artifact(Verdict::Fresh, self.path.to_owned(), bytes, lock.clone()))
    }
}
