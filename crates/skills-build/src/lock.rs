//! The lock file of an artifact.

use std::path::Path;

use crate::error::BuildError;
use crate::files;
use crate::language::Language;

/// The content of a lock file: hashes of source and artifact, the language, and the tools with
/// their versions.
///
/// ```text
/// language rust
/// sources 0649ac…
/// artifact 1fbeb0…
/// tool cargo 1.95.0
/// ```
///
/// It is next to the source, so that a review of the source shows which artifact belongs to it. A
/// lock file that cannot be parsed counts as missing.
///
/// ```
/// use skills_build::{ArtifactLock, Language};
///
/// let text = "language rust\nsources 0649ac\nartifact 1fbeb0\ntool cargo 1.95.0\n";
/// let lock = ArtifactLock::parse(text).unwrap();
/// assert_eq!((lock.language, lock.sources_sha256.as_str()), (Language::Rust, "0649ac"));
/// assert_eq!(lock.tools, [("cargo".to_owned(), "1.95.0".to_owned())]);
/// assert_eq!(lock.to_text(), text);
/// assert!(ArtifactLock::parse("language cobol\n").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactLock {
    /// The language.
    pub language: Language,
    /// The SHA-256 of all sources.
    pub sources_sha256: String,
    /// The SHA-256 of the artifact.
    pub artifact_sha256: String,
    /// The tools with the versions that they report.
    pub tools: Vec<(String, String)>,
}

impl ArtifactLock {
    /// Parses a lock file. `None` if a field is missing or unknown; callers then rebuild.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // A checkout may end lines with a carriage return; control characters within a value are
        // invalid.
        let lines = || text.lines().filter(|line| !line.contains(char::is_control));
        let field =
            |name: &str| lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let tool = |line: &str| {
            line.strip_prefix("tool ")?
                .split_once(' ')
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
        };
        Some(Self {
            language: field("language")?.parse().ok()?,
            sources_sha256: field("sources")?.to_owned(),
            artifact_sha256: field("artifact")?.to_owned(),
            tools: lines().filter_map(tool).collect(),
        })
    }

    /// Returns the text of the lock file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let tools = self
            .tools
            .iter()
            .map(|(name, version)| format!("tool {name} {version}\n"));
        let Self {
            language,
            sources_sha256: sources,
            artifact_sha256: artifact,
            ..
        } = self;
        format!(
            "language {language}\nsources {sources}\nartifact {artifact}\n{}",
            tools.collect::<String>()
        )
    }

    /// Returns the tools on one line, for messages.
    pub(crate) fn tools_line(&self) -> String {
        self.tools
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(crate) fn read(path: &Path) -> Result<Option<Self>, BuildError> {
        Ok(files::read_if_exists(path)?
            // Not an error: the next build writes a new one.
            .and_then(|bytes| Self::parse(&String::from_utf8(bytes).ok()?)))
    }
}
