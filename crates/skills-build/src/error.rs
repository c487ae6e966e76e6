//! What goes wrong.

use std::io;
use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::tool::MissingTool;

/// A skill cannot be built, or what is there is not what its source builds to.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BuildError(Repr);

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// There is no source to build.
    NoSource,
    /// There is source in several languages and none was chosen.
    AmbiguousLanguage,
    /// A tool is missing.
    MissingTool,
    /// The source, or a file that describes it, is wrong: a compiler said no, it has links in it,
    /// or it does not lie in the skill.
    CompileFailed,
    /// What is there was not built, or from other source.
    Stale,
    /// The same source builds to other bytes than those that are there.
    NotReproduced,
    /// A file cannot be read or written, or a program not be started.
    Io,
}

impl BuildErrorKind {
    /// Returns a short word for programs, such as `missing-tool`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoSource => "no-source",
            Self::AmbiguousLanguage => "several-languages",
            Self::MissingTool => "missing-tool",
            Self::CompileFailed => "build-failed",
            Self::Stale => "stale",
            Self::NotReproduced => "differs",
            Self::Io => "io",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("{} has no source to build; looked there for {looked_for}", directory.display())]
    NoSource {
        directory: PathBuf,
        looked_for: String,
    },
    #[error("{} has source in several languages ({}); choose one with --lang", directory.display(), names(languages))]
    AmbiguousLanguage {
        directory: PathBuf,
        languages: Vec<Language>,
    },
    #[error("{}", missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    MissingTool { missing: Vec<MissingTool> },
    #[error("`{program}` ended with {status}{}", if output.is_empty() { String::new() } else { format!("\n{output}") })]
    CompileFailed {
        program: String,
        status: String,
        output: String,
    },
    #[error("{}: {reason}", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Source { path: PathBuf, reason: String },
    #[error("{} leads out of the skill, to {}; build it with --output", path.display(), to.display())]
    OutsideSource { path: PathBuf, to: PathBuf },
    #[error("{} was not built yet", artifact.display())]
    NotBuilt { artifact: PathBuf },
    #[error("{} does not belong to its source, one of them changed", artifact.display())]
    Stale { artifact: PathBuf },
    #[error("{} is not what its source builds to here (built with {tools})", artifact.display())]
    NotReproduced { artifact: PathBuf, tools: String },
    #[error("{}: {action}", path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
}

fn names(languages: &[Language]) -> String {
    languages
        .iter()
        .map(|language| language.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

impl BuildError {
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self(Repr::Io {
            path: path.to_owned(),
            action,
            source,
        })
    }

    /// Returns what kind of error this is.
    #[must_use]
    pub const fn kind(&self) -> BuildErrorKind {
        match self.0 {
            Repr::NoSource { .. } => BuildErrorKind::NoSource,
            Repr::AmbiguousLanguage { .. } => BuildErrorKind::AmbiguousLanguage,
            Repr::MissingTool { .. } => BuildErrorKind::MissingTool,
            Repr::CompileFailed { .. }
            | Repr::Manifest { .. }
            | Repr::Source { .. }
            | Repr::OutsideSource { .. } => BuildErrorKind::CompileFailed,
            Repr::NotBuilt { .. } | Repr::Stale { .. } => BuildErrorKind::Stale,
            Repr::NotReproduced { .. } => BuildErrorKind::NotReproduced,
            Repr::Io { .. } => BuildErrorKind::Io,
        }
    }

    /// Returns the tools that are missing; none for other kinds.
    #[must_use]
    pub fn missing(&self) -> &[MissingTool] {
        match &self.0 {
            Repr::MissingTool { missing } => missing,
            _ => &[],
        }
    }
}

impl From<Repr> for BuildError {
    fn from(problem: Repr) -> Self {
        Self(problem)
    }
}
