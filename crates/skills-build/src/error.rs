//! What goes wrong.

use std::io;
use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::tool::Missing;

/// A skill cannot be built, or what is there is not what its source builds to.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BuildError(Problem);

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// There is no source to build.
    NoSource,
    /// There is source in several languages and none was chosen.
    SeveralLanguages,
    /// A tool is missing.
    MissingTool,
    /// The source, or a file that describes it, is wrong: a compiler said no, it has links in it,
    /// or it does not lie in the skill.
    Failed,
    /// What is there was not built, or from other source.
    Stale,
    /// The same source builds to other bytes than those that are there.
    Differs,
    /// A file cannot be read or written, or a program not be started.
    Io,
}

impl BuildErrorKind {
    /// Returns a short word for programs, such as `missing-tool`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoSource => "no-source",
            Self::SeveralLanguages => "several-languages",
            Self::MissingTool => "missing-tool",
            Self::Failed => "build-failed",
            Self::Stale => "stale",
            Self::Differs => "differs",
            Self::Io => "io",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("{} has no source to build; looked there for {looked_for}", directory.display())]
    NoSource {
        directory: PathBuf,
        looked_for: String,
    },
    #[error("{} has source in several languages ({}); choose one with --lang", directory.display(), names(languages))]
    SeveralLanguages {
        directory: PathBuf,
        languages: Vec<Language>,
    },
    #[error("{}", missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    MissingTool { missing: Vec<Missing> },
    #[error("`{program}` ended with {status}{}", if output.is_empty() { String::new() } else { format!("\n{output}") })]
    Failed {
        program: String,
        status: String,
        output: String,
    },
    #[error("{}: {reason}", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Source { path: PathBuf, reason: String },
    #[error("{} leads out of the skill, to {}; build it with --output", path.display(), to.display())]
    Elsewhere { path: PathBuf, to: PathBuf },
    #[error("{} was not built yet", artifact.display())]
    NotBuilt { artifact: PathBuf },
    #[error("{} does not belong to its source, one of them changed", artifact.display())]
    Stale { artifact: PathBuf },
    #[error("{} is not what its source builds to here (built with {tools})", artifact.display())]
    Differs { artifact: PathBuf, tools: String },
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
        Self(Problem::Io {
            path: path.to_owned(),
            action,
            source,
        })
    }

    /// Returns what kind of error this is.
    #[must_use]
    pub const fn kind(&self) -> BuildErrorKind {
        match self.0 {
            Problem::NoSource { .. } => BuildErrorKind::NoSource,
            Problem::SeveralLanguages { .. } => BuildErrorKind::SeveralLanguages,
            Problem::MissingTool { .. } => BuildErrorKind::MissingTool,
            Problem::Failed { .. }
            | Problem::Manifest { .. }
            | Problem::Source { .. }
            | Problem::Elsewhere { .. } => BuildErrorKind::Failed,
            Problem::NotBuilt { .. } | Problem::Stale { .. } => BuildErrorKind::Stale,
            Problem::Differs { .. } => BuildErrorKind::Differs,
            Problem::Io { .. } => BuildErrorKind::Io,
        }
    }

    /// Returns the tools that are missing; none for other kinds.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        match &self.0 {
            Problem::MissingTool { missing } => missing,
            _ => &[],
        }
    }
}

impl From<Problem> for BuildError {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}
