//! Builds a skill, or holds what is there against its source.

use std::path::{Path, PathBuf};

use crate::artifact::{Artifact, Verdict};
use crate::error::{BuildError, Problem};
use crate::files::{self, SourceFile};
use crate::hash;
use crate::language::Language;
use crate::lock::Lock;
use crate::perform::perform;
use crate::plan::{Places, Plan, SourceWrites};
use crate::request::Request;
use crate::source::Source;
use crate::tools::Beside;

/// What to do when there is an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Build when the source is not the one that the artifact was built from.
    #[default]
    Stale,
    /// Build in any case.
    Always,
    /// Change nothing. Where builds are reproducible, build elsewhere and compare the bytes; else
    /// compare the source with that of the lock.
    Check,
}

/// Builds a skill, or checks it. `progress` gets a line for each program that is started, and what
/// these say.
///
/// # Errors
/// When there is no source, a tool is missing, a compiler fails, files cannot be written, or a
/// check finds something else than the source builds to. An artifact that was there stays as it
/// was.
pub fn build(
    request: &Request,
    mode: Mode,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, BuildError> {
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
    let (built, tools) = compile(request, &source, &sources, mode, progress)?;
    // Cargo makes the lock file of packages when there is none, and it belongs to the source.
    let hash = if sources.iter().any(|(path, _)| path == "Cargo.lock") {
        hash
    } else {
        rehash(&source)?
    };
    let lock = Lock {
        language: source.language,
        sources: hash,
        artifact: hash::of(&built),
        tools,
    };
    files::replace(&path, &built)?;
    if request.keeps_lock(&source) {
        files::replace(
            &source.directory.join(crate::LOCK),
            lock.to_text().as_bytes(),
        )?;
    }
    Ok(artifact(Verdict::Built, path, &built, lock))
}

fn rehash(source: &Source) -> Result<String, BuildError> {
    Ok(hash::of_sources(
        &files::source(&source.directory)?,
        source.language,
    ))
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
        return Err(Problem::NotBuilt {
            artifact: there.path.to_owned(),
        }
        .into());
    };
    if there.fresh(hash, source.language).is_none() {
        return Err(Problem::Stale {
            artifact: there.path.to_owned(),
        }
        .into());
    }
    let mut verdict = Verdict::SameSource;
    if source.language.is_reproducible() {
        let (built, _) = compile(request, source, sources, Mode::Check, progress)?;
        if built != *bytes {
            return Err(Problem::Differs {
                artifact: there.path.to_owned(),
                tools: lock.tools_line(),
            }
            .into());
        }
        verdict = Verdict::SameBytes;
    }
    Ok(artifact(
        verdict,
        there.path.to_owned(),
        bytes,
        lock.clone(),
    ))
}

type Compiled = (Vec<u8>, Vec<(String, String)>);

fn compile(
    request: &Request,
    source: &Source,
    sources: &[SourceFile],
    mode: Mode,
    progress: &mut dyn FnMut(&str),
) -> Result<Compiled, BuildError> {
    let (beside, writes) = match mode {
        Mode::Check => (Beside::Ignored, SourceWrites::Nothing),
        Mode::Stale | Mode::Always => (Beside::Taken, SourceWrites::LockFile),
    };
    let found = request.tools().find(source, beside, progress)?;
    let stage = files::stage(&request.work)?;
    let places = Places {
        stage: stage.path().to_owned(),
        work: request.work.clone(),
        cargo_target: request.cargo_target.clone(),
        source: writes,
        cargo_home: request.cargo_home.clone(),
    };
    let plan = Plan::new(source, sources, &found, &places);
    Ok((perform(&plan, &places, progress)?, found.versions()))
}

fn artifact(verdict: Verdict, path: PathBuf, bytes: &[u8], lock: Lock) -> Artifact {
    Artifact {
        verdict,
        language: lock.language,
        path,
        bytes: bytes.len(),
        sha256: lock.artifact,
        tools: lock.tools,
    }
}

/// What an earlier build left.
struct There<'a> {
    path: &'a Path,
    bytes: Option<Vec<u8>>,
    lock: Option<Lock>,
}

impl<'a> There<'a> {
    fn read(source: &Source, path: &'a Path) -> Result<Self, BuildError> {
        Ok(Self {
            path,
            bytes: files::read_if_any(path)?,
            lock: Lock::read(&source.directory.join(crate::LOCK))?,
        })
    }

    /// Returns the artifact when it is the one of the lock, and the lock that of the source.
    fn fresh(&self, sources: &str, language: Language) -> Option<Artifact> {
        let (bytes, lock) = (self.bytes.as_ref()?, self.lock.as_ref()?);
        let is_fresh = lock.sources == sources
            && lock.language == language
            && lock.artifact == hash::of(bytes);
        is_fresh.then(|| artifact(Verdict::Fresh, self.path.to_owned(), bytes, lock.clone()))
    }
}
