//! Errors of builds.

use std::io;
use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::tool::Tool;

/// A skill cannot be built, or its artifact does not match its source. [`kind`](Self::kind) is for
/// branching.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BuildError(#[from] Repr);

/// The kinds of errors. New kinds may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// There is no source to build.
    NoSource,
    /// There is source in several languages and none was selected.
    AmbiguousLanguage,
    /// A tool is missing.
    MissingTool,
    /// The source, or a file that describes it, is invalid: a compiler failed, it contains
    /// symlinks, or it is outside of the skill.
    CompileFailed,
    /// The artifact was not built, or from other source.
    Stale,
    /// The same source builds to other bytes.
    NotReproduced,
    /// A file cannot be read or written, or a program cannot be started.
    Io,
}

impl BuildErrorKind {
    /// Returns the stable word for programs, such as `missing-tool`.
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
    #[error("cannot find source in `{}` (searched for {looked_for})", directory.display())]
    NoSource {
        directory: PathBuf,
        looked_for: String,
    },
    #[error("`{}` has source in several languages ({}); select one with `--lang`", directory.display(), names(languages))]
    AmbiguousLanguage {
        directory: PathBuf,
        languages: Vec<Language>,
    },
    #[error("{}", describe_missing(missing))]
    MissingTool { missing: Vec<Tool> },
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
    #[error("`{}` is outside of the skill, at `{}`; pass `--output`", path.display(), to.display())]
    OutsideSource { path: PathBuf, to: PathBuf },
    #[error("artifact `{}` is missing: run `skills build`", artifact.display())]
    NotBuilt { artifact: PathBuf },
    #[error("artifact `{}` is out of date with its source", artifact.display())]
    Stale { artifact: PathBuf },
    #[error("artifact `{}` is not reproducible with these tools (built with {tools})", artifact.display())]
    NotReproduced { artifact: PathBuf, tools: String },
    #[error("cannot {action} `{}`", path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
}

fn describe_missing(tools: &[Tool]) -> String {
    let describe = |tool: &Tool| format!("`{tool}` not found (install: {})", tool.install_hint());
    tools.iter().map(describe).collect::<Vec<_>>().join("; ")
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

    /// Returns the kind of this error.
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

    /// Returns the missing tools; empty for other kinds.
    #[must_use]
    pub fn missing(&self) -> &[Tool] {
        match &self.0 {
            Repr::MissingTool { missing } => missing,
            _ => &[],
        }
    }
}
