//! What came out of a build.

use std::path::PathBuf;

use crate::language::Language;

/// How an artifact came to be what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildStatus {
    /// Nothing was done: it is what its source built to before.
    Fresh,
    /// It was built and put in place.
    Built,
    /// It was built again, elsewhere, to the same bytes.
    Reproduced,
    /// Its source is the one that it was built from; its language makes other bytes each time.
    SourceUnchanged,
}

impl BuildStatus {
    /// Returns the word for programs: `fresh`, `built`, `same-bytes` or `same-source`.
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

/// An artifact, and what it was built with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Artifact {
    /// How it came to be.
    pub status: BuildStatus,
    /// The language of its source.
    pub language: Language,
    /// Where it lies.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// The tools it was built with and their versions.
    pub tools: Vec<(String, String)>,
}
