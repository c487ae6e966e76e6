//! What is recorded of one attempt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is recorded of one attempt to run something.
///
/// Values of secrets do not belong here, nor do input and output: of these there are sizes and
/// hashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// When it began, as RFC 3339 writes it; the caller reads the clock.
    pub time: String,
    /// The skill's name.
    pub skill: String,
    /// The digest of the skill's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What was to run: the path of a script or module inside the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What was asked for, in the words of the skill: `Read`, `Bash(git:*)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested: Vec<String>,
    /// What came of it.
    #[serde(alias = "decision")]
    pub disposition: Disposition,
    /// The rules that decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Which backend ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The walls that stood.
    #[serde(default, alias = "layers", skip_serializing_if = "Vec::is_empty")]
    pub restrictions: Vec<RestrictionStatus>,
    /// The limits, by their names with units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// The input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ContentHash>,
    /// What was written to standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<ContentHash>,
    /// What was written to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<ContentHash>,
    /// How it ended: `exit 0`, `timeout`, `killed`, or why it did not begin.
    #[serde(default, alias = "outcome", skip_serializing_if = "Option::is_none")]
    pub termination: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Disposition {
    /// It was allowed and ran.
    Granted,
    /// It was not allowed, and nothing ran.
    Denied,
    /// It was allowed and could not run: no sandbox, no program.
    Failed,
}

/// A wall around a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestrictionStatus {
    /// Its name.
    pub name: String,
    /// How well it stood: `enforced`, `partial`, `unavailable`.
    pub status: String,
}

/// Content of which only size and hash are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHash {
    /// How many bytes.
    pub bytes: u64,
    /// The SHA-256 of what there is of it, in lower-case hexadecimal digits.
    pub sha256: String,
}

impl Event {
    /// Begins an event; everything else is empty.
    #[must_use]
    pub fn new(time: impl Into<String>, skill: impl Into<String>, decision: Disposition) -> Self {
        Self {
            time: time.into(),
            skill: skill.into(),
            digest: None,
            program: None,
            requested: Vec::new(),
            disposition: decision,
            rules: Vec::new(),
            backend: None,
            restrictions: Vec::new(),
            limits: BTreeMap::new(),
            input: None,
            stdout: None,
            stderr: None,
            termination: None,
            duration_ms: None,
        }
    }
}

impl Event {
    /// What is kept of an event whose record would be too long: its lists and long texts are left
    /// out, and that is said.
    pub(crate) fn truncated(&self) -> Self {
        const MAX_CHARACTERS: usize = 500;
        let cut = |text: &String| text.chars().take(MAX_CHARACTERS).collect::<String>();
        Self {
            skill: cut(&self.skill),
            program: self.program.as_ref().map(cut),
            requested: Vec::new(),
            rules: vec!["left out: the record would be too long".to_owned()],
            restrictions: Vec::new(),
            termination: self.termination.as_ref().map(cut),
            ..self.clone()
        }
    }
}

impl ContentHash {
    /// Measures what is kept of a content of `total` bytes.
    #[must_use]
    pub fn from_prefix(kept: &[u8], total: u64) -> Self {
        Self {
            bytes: total,
            sha256: hex(&Sha256::digest(kept)),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
