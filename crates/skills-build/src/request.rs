//! The input of a build.

use std::path::{Path, PathBuf};

use crate::error::{BuildError, Repr};
use crate::files;
use crate::language::Language;
use crate::source::{SOURCE_DIRECTORY, Source};
use crate::tool_finder::ToolFinder;

/// The path of the artifact in the skill directory.
const ARTIFACT_PATH: &str = "wasm/skill.wasm";

/// The skill to build, and the tools to build it with.
#[derive(Debug, Clone)]
#[must_use]
pub struct BuildRequest {
    skill: PathBuf,
    tools: ToolFinder,
    pub(crate) work_dir: PathBuf,
    language: Option<Language>,
    output: Option<PathBuf>,
    pub(crate) cargo_home: PathBuf,
    pub(crate) cargo_target: Option<PathBuf>,
}

impl BuildRequest {
    /// Creates a request for a skill directory with its source in `guest`; a directory without
    /// `guest` is itself the source. Caches of compilers are stored below `work`. By default the
    /// language is detected from the files, the artifact is `wasm/skill.wasm` in the skill, and
    /// cargo builds in `work`.
    pub fn new(skill: impl Into<PathBuf>, tools: ToolFinder, work: impl Into<PathBuf>) -> Self {
        Self {
            skill: skill.into(),
            tools,
            work_dir: work.into(),
            language: None,
            output: None,
            cargo_home: PathBuf::from("/cargo"),
            cargo_target: None,
        }
    }

    /// Sets the language.
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Sets the path of the artifact. The lock file of a skill then stays unchanged.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Sets cargo's home, whose path is removed from artifacts.
    pub fn cargo_home(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cargo_home = directory.into();
        self
    }

    /// Sets cargo's target directory, which may be shared.
    pub fn cargo_target(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cargo_target = Some(directory.into());
        self
    }

    /// Finds the source.
    ///
    /// # Errors
    /// Like [`Source::find`]; also fails if no output is set and the source, or the directory of
    /// the artifact, is a symlink out of the skill.
    pub fn source(&self) -> Result<Source, BuildError> {
        let source = Source::find(&self.skill, self.language)?;
        // An explicit output path may be anywhere, since the caller chose it.
        if self.output.is_none() {
            self.check_within(&self.skill.join(SOURCE_DIRECTORY), &source.directory)?;
            let artifact = self.artifact();
            let parent = artifact.parent().unwrap_or(&artifact);
            if let Some(to) = files::resolve_directory(parent)? {
                self.check_within(parent, &to)?;
            }
        }
        Ok(source)
    }

    fn check_within(&self, path: &Path, to: &Path) -> Result<(), BuildError> {
        // Resolved paths are compared: a symlink in a skill can lead out of it.
        let skill = files::resolve_directory(&self.skill)?;
        if skill.is_some_and(|skill| to.starts_with(skill)) {
            return Ok(());
        }
        Err(Repr::OutsideSource {
            path: path.to_owned(),
            to: to.to_owned(),
        }
        .into())
    }

    /// Returns the tool finder.
    #[must_use]
    pub const fn tools(&self) -> &ToolFinder {
        &self.tools
    }

    /// Returns true if the lock file describes this artifact (not one built with `--output`).
    pub(crate) fn owns_lock(&self, source: &Source) -> bool {
        // A directory that is itself the source keeps its lock file, wherever the artifact is.
        self.output.is_none()
            || self
                .skill
                .canonicalize()
                .is_ok_and(|skill| skill == source.directory)
    }

    pub(crate) fn artifact(&self) -> PathBuf {
        self.output
            .clone()
            .unwrap_or_else(|| self.skill.join(ARTIFACT_PATH))
    }
}
