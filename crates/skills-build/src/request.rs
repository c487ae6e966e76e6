//! What an author wants built.

use std::path::{Path, PathBuf};

use crate::error::{BuildError, Repr};
use crate::files;
use crate::language::Language;
use crate::source::{SOURCE_DIRECTORY, Source};
use crate::tool_finder::ToolFinder;

/// Where the artifact of a skill lies, below its directory.
const ARTIFACT_PATH: &str = "wasm/skill.wasm";

/// What is to be built, and with what.
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
    /// Asks for the skill in a directory, whose source lies in its `guest`; a directory without one
    /// is a source itself. What compilers keep goes below `work`. By default the language is told
    /// by the files, the artifact is `wasm/skill.wasm` of the skill, and cargo builds in `work`.
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

    /// Chooses the language.
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Chooses where the artifact goes. The lock of a skill then stays as it is.
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
    /// As [`Source::find`]; and when no output is chosen and the source, or the directory of the
    /// artifact, is a link that leads out of the skill.
    pub fn source(&self) -> Result<Source, BuildError> {
        let source = Source::find(&self.skill, self.language)?;
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

    /// Returns the tools.
    #[must_use]
    pub const fn tools(&self) -> &ToolFinder {
        &self.tools
    }

    /// Says whether the lock beside the source is that of the artifact. The lock of a skill speaks
    /// of the skill's own artifact, and of no other that is built to a named output.
    pub(crate) fn owns_lock(&self, source: &Source) -> bool {
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
