//! The result of a build.

use std::path::PathBuf;

use crate::language::Language;

/// The lock file next to the source, which records what the artifact was built from.
pub const LOCK: &str = "artifact.lock";

/// Result of a build or check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildStatus {
    /// Up to date; nothing was built.
    Fresh,
    /// It was built and installed.
    Built,
    /// It was built again in a temporary directory, with identical bytes.
    Reproduced,
    /// The source is unchanged since it was built; builds of its language are not reproducible.
    SourceUnchanged,
}

impl BuildStatus {
    /// Returns the stable word for programs: `fresh`, `built`, `same-bytes` or `same-source`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Built => "built",
            Self::Reproduced => "same-bytes",
            Self::SourceUnchanged => "same-source",
        }
    }
}

/// A built or checked artifact, with the tools that built it. Returned by [`build`](crate::build).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Artifact {
    /// The result of the build or check.
    pub status: BuildStatus,
    /// The language of its source.
    pub language: Language,
    /// The path.
    pub path: PathBuf,
    /// The size in bytes.
    pub bytes: usize,
    /// The SHA-256 in hexadecimal.
    pub sha256: String,
    /// The names and versions of the tools that it was built with.
    pub tools: Vec<(String, String)>,
}
