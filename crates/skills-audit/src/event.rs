//! The event that an audit record contains.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// An audit event: one attempt to run a program.
///
/// Create it with [`Event::new`] and set the other fields. Values of secrets, input and output must
/// not be recorded; for these there are sizes and hashes ([`ContentHash`]). Texts can come from a
/// skill: escape them before display.
///
/// ```
/// use skills_audit::{ContentHash, Disposition, Event};
///
/// let mut event = Event::new("2026-11-22T08:00:00Z", "text-stats", Disposition::Granted);
/// event.program = Some("scripts/stats.sh".to_owned());
/// event.input = Some(ContentHash::from_prefix(b"{}", 2));
/// event.termination = Some("exit code 0".to_owned());
/// assert_eq!(event.input.unwrap().bytes, 2);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Start time in RFC 3339, supplied by the caller.
    pub time: String,
    /// The name of the skill.
    pub skill: String,
    /// The content digest of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Who asked for it, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The program to run: the path of a script or module inside the skill, or a host program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The requested tools, as the skill declares them: `Read`, `Bash(git:*)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested: Vec<String>,
    /// Whether it ran, was denied or failed to start.
    pub disposition: Disposition,
    /// The decisions with the rules or responses that made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The sandbox backend that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The sandbox restrictions of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restrictions: Vec<RestrictionStatus>,
    /// The resource limits, by names that contain the unit, such as `memory_bytes`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Size and hash of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ContentHash>,
    /// Size and hash of standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<ContentHash>,
    /// Size and hash of standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<ContentHash>,
    /// How it ended: exit code, signal, timeout or limit, or why it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<String>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The hosts that the program connected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ReachedHost>,
    /// The number of connections to hosts that are not in [`hosts`](Self::hosts).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hosts_omitted: u64,
    /// What restrictions stopped while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedAttempt>,
    /// The number of different refusals that are not in [`refused`](Self::refused).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_omitted: u64,
    /// The files that it created or changed in its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<ChangedFiles>,
    /// The number of the [start record](Disposition::Started) of the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Which attempt of its run it was, from 2 on: an approver allowed what the one before was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The number of the [start record](Disposition::Started) of the first attempt of the run, for further
    /// ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

/// The caller of a run. Texts come from a client: escape them before display.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Caller {
    /// The name of the client program, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The version of the client program, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The authenticated identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// A part of the digest of the session id: it correlates records and cannot be used as an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A host that a program connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedHost {
    /// Its name or address.
    pub host: String,
    /// The number of connections.
    pub count: u64,
}

/// An operation that a restriction stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAttempt {
    /// What was tried, such as `start-program`, `connect`, `read` or `write`.
    pub operation: String,
    /// The program, host or path, as the program named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// How it is known: `observed`, or `program-output` if only the program's output says so.
    pub evidence: String,
    /// How often it was tried.
    pub count: u64,
}

/// The files that a program created or changed in its workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// How many files were found.
    pub count: u64,
    /// The first paths, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether an attempt ran, was denied or failed to start.
///
/// It says nothing about success: a program that exits with an error was granted. Serialized as one
/// lowercase word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Disposition {
    /// It was authorized and started; [`Event::termination`] says how it ended.
    Granted,
    /// It was denied, and nothing ran.
    Denied,
    /// It failed before anything ran, for example without a sandbox or program.
    Failed,
    /// It was authorized and was about to start. The record of its end has the number of this one
    /// as [`Event::start`]; without such a record the host was killed.
    Started,
}

/// A sandbox restriction and its status during a run, as texts, so that this crate does not depend
/// on a sandbox and old logs can be read after a restriction was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestrictionStatus {
    /// The name of the restriction, such as `files` or `network`.
    pub name: String,
    /// Its status: `enforced`, `partial` or `unavailable`.
    pub status: String,
}

/// Size and SHA-256 of content that is not stored. The hash proves later which content it was,
/// without exposing it in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHash {
    /// Size of the whole content, in bytes.
    pub bytes: u64,
    /// SHA-256 of the captured part of the content, in lowercase hexadecimal digits.
    pub sha256: String,
}

impl Event {
    /// Creates an event with these fields; all others are empty.
    #[must_use]
    pub fn new(
        time: impl Into<String>,
        skill: impl Into<String>,
        disposition: Disposition,
    ) -> Self {
        Self {
            time: time.into(),
            skill: skill.into(),
            digest: None,
            caller: None,
            program: None,
            requested: Vec::new(),
            disposition,
            rules: Vec::new(),
            backend: None,
            restrictions: Vec::new(),
            limits: BTreeMap::new(),
            input: None,
            stdout: None,
            stderr: None,
            termination: None,
            duration_ms: None,
            hosts: Vec::new(),
            hosts_omitted: 0,
            refused: Vec::new(),
            refused_omitted: 0,
            changed_files: None,
            start: None,
            attempt: None,
            of: None,
        }
    }
}

impl Event {
    /// Returns a copy without lists and long texts, for events over the size limit. The omission is
    /// noted in `rules`.
    pub(crate) fn truncated(&self) -> Self {
        // The digest and the numbers are short already, and identify the attempt.
        const MAX_CHARACTERS: usize = 500;
        let truncate = |text: &String| text.chars().take(MAX_CHARACTERS).collect::<String>();
        Self {
            skill: truncate(&self.skill),
            caller: None,
            program: self.program.as_ref().map(truncate),
            requested: Vec::new(),
            hosts: Vec::new(),
            hosts_omitted: self.hosts.iter().fold(self.hosts_omitted, |omitted, host| {
                omitted.saturating_add(host.count)
            }),
            // Counted, so that a long text does not hide that something was refused.
            refused_omitted: self
                .refused_omitted
                .saturating_add(self.refused.len() as u64),
            refused: Vec::new(),
            changed_files: self.changed_files.as_ref().map(|changed| ChangedFiles {
                count: changed.count,
                paths: Vec::new(),
            }),
            rules: vec!["omitted: the record exceeds the size limit".to_owned()],
            restrictions: Vec::new(),
            termination: self.termination.as_ref().map(truncate),
            ..self.clone()
        }
    }
}

impl ContentHash {
    /// Returns the size and hash of content.
    #[must_use]
    pub fn new(content: &[u8]) -> Self {
        Self::from_prefix(content, content.len() as u64)
    }

    /// Returns the size and hash of content of `total_bytes`, of which `captured` is available.
    #[must_use]
    pub fn from_prefix(captured: &[u8], total_bytes: u64) -> Self {
        Self {
            bytes: total_bytes,
            sha256: hex::encode(Sha256::digest(captured)),
        }
    }
}
