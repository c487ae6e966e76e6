//! Builds a skill, or checks an artifact against its source.

use std::path::{Path, PathBuf};

use crate::artifact::{Artifact, BuildStatus, LOCK};
use crate::error::{BuildError, Repr};
use crate::execute::execute;
use crate::files::{self, SourceFile};
use crate::hash;
use crate::language::Language;
use crate::lock::ArtifactLock;
use crate::plan::{BuildDirs, Plan};
use crate::request::BuildRequest;
use crate::source::{Source, SourceAccess};

/// When to rebuild an existing artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildMode {
    /// Build if the source has changed since the artifact was built.
    #[default]
    IfStale,
    /// Always build.
    Force,
    /// Change nothing. If builds are reproducible, build in a temporary directory and compare the
    /// bytes; otherwise compare the source with that of the lock file.
    Check,
}

/// Builds or checks a skill. `progress` receives each command line and its output. Building runs
/// the author's code (build scripts, compilers) without a sandbox and with the rights of this
/// process.
///
/// # Errors
/// Fails if there is no source, a tool is missing, a compiler fails, files cannot be written, or a
/// check finds a difference. An existing artifact stays unchanged then.
pub fn build(
    request: &BuildRequest,
    mode: BuildMode,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, BuildError> {
    let source = request.source()?;
    let path = request.artifact();
    let sources = files::read_source(&source.directory)?;
    let hash = hash::hash_source_files(&sources, source.language);
    let existing = ExistingArtifact::read(&source, &path)?;
    match mode {
        BuildMode::IfStale => {
            if let Some(fresh) = existing.fresh(&hash, source.language) {
                return Ok(fresh);
            }
        }
        BuildMode::Force => {}
        BuildMode::Check => return check(request, &source, &sources, &existing, &hash, progress),
    }
    let (built, tools) = compile(request, &source, &sources, mode, progress)?;
    // Cargo creates a missing `Cargo.lock`, which belongs to the source.
    let hash = if sources.iter().any(|(path, _)| path == "Cargo.lock") {
        hash
    } else {
        hash_sources(&source)?
    };
    let lock = ArtifactLock {
        language: source.language,
        sources_sha256: hash,
        artifact_sha256: hash::hash_bytes(&built),
        tools,
    };
    // The artifact before its lock file: interrupted between them, the old lock file does not match
    // the artifact, and the next build repeats the work.
    files::replace(&path, &built)?;
    // An artifact elsewhere is not the one that the lock file of the skill describes.
    if request.owns_lock(&source) {
        files::replace(&source.directory.join(LOCK), lock.to_text().as_bytes())?;
    }
    Ok(artifact(BuildStatus::Built, path, &built, lock))
}

fn hash_sources(source: &Source) -> Result<String, BuildError> {
    Ok(hash::hash_source_files(
        &files::read_source(&source.directory)?,
        source.language,
    ))
}

fn check(
    request: &BuildRequest,
    source: &Source,
    sources: &[SourceFile],
    existing: &ExistingArtifact<'_>,
    hash: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, BuildError> {
    let path = existing.path.to_owned();
    let (Some(lock), Some(bytes)) = (&existing.lock, &existing.bytes) else {
        return Err(Repr::NotBuilt { artifact: path }.into());
    };
    // Compared first, since it needs no tools.
    let Some(fresh) = existing.fresh(hash, source.language) else {
        return Err(Repr::Stale { artifact: path }.into());
    };
    let mut status = BuildStatus::SourceUnchanged;
    if source.language.is_reproducible() {
        let (built, _) = compile(request, source, sources, BuildMode::Check, progress)?;
        if built != *bytes {
            let tools = lock.tools_line();
            return Err(Repr::NotReproduced {
                artifact: path,
                tools,
            }
            .into());
        }
        status = BuildStatus::Reproduced;
    }
    Ok(Artifact { status, ..fresh })
}

type CompileResult = (Vec<u8>, Vec<(String, String)>);

fn compile(
    request: &BuildRequest,
    source: &Source,
    sources: &[SourceFile],
    mode: BuildMode,
    progress: &mut dyn FnMut(&str),
) -> Result<CompileResult, BuildError> {
    let access = match mode {
        BuildMode::Check => SourceAccess::ReadOnly,
        BuildMode::IfStale | BuildMode::Force => SourceAccess::Full,
    };
    let toolchain = request.tools().find(source, access, progress)?;
    // New for each build, and removed after a failure, too.
    let stage = files::create_stage(&request.work_dir)?;
    let dirs = BuildDirs {
        stage_dir: stage.path().to_owned(),
        work_dir: request.work_dir.clone(),
        cargo_target: request.cargo_target.clone(),
        source: access,
        cargo_home: request.cargo_home.clone(),
    };
    let plan = Plan::new(source, sources, &toolchain, &dirs);
    Ok((execute(&plan, &dirs, progress)?, toolchain.versions()))
}

fn artifact(status: BuildStatus, path: PathBuf, bytes: &[u8], lock: ArtifactLock) -> Artifact {
    Artifact {
        status,
        language: lock.language,
        path,
        bytes: bytes.len(),
        sha256: lock.artifact_sha256,
        tools: lock.tools,
    }
}

/// The existing artifact and its lock file.
struct ExistingArtifact<'a> {
    path: &'a Path,
    bytes: Option<Vec<u8>>,
    lock: Option<ArtifactLock>,
}

impl<'a> ExistingArtifact<'a> {
    fn read(source: &Source, path: &'a Path) -> Result<Self, BuildError> {
        Ok(Self {
            path,
            bytes: files::read_if_exists(path)?,
            lock: ArtifactLock::read(&source.directory.join(LOCK))?,
        })
    }

    /// Returns the artifact if it matches the lock file, and the lock file matches the source.
    fn fresh(&self, sources: &str, language: Language) -> Option<Artifact> {
        let (bytes, lock) = (self.bytes.as_ref()?, self.lock.as_ref()?);
        // The artifact is hashed, too: it may have been replaced without its source.
        let is_fresh = lock.sources_sha256 == sources
            && lock.language == language
            && lock.artifact_sha256 == hash::hash_bytes(bytes);
        is_fresh.then(|| {
            artifact(
                BuildStatus::Fresh,
                self.path.to_owned(),
                bytes,
                lock.clone(),
            )
        })
    }
}
