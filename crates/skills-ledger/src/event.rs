//! An event: one use of a skill.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::Timestamp;
use crate::activity::Activity;

/// Maximum length of the name of a skill in an event, in bytes; the rest is cut.
pub const MAX_NAME_BYTES: usize = 128;
/// Maximum length of a scope in an event, in bytes; the rest is cut.
pub const MAX_SCOPE_BYTES: usize = 24;
/// How many bytes of the digest of a session id are kept.
const SESSION_BYTES: usize = 6;
/// The number of bytes of a hash of a directory.
const DIRECTORY_BYTES: usize = 6;

/// One use of a skill.
///
/// It says which skill in which scope was used how and when. No field can hold the text of a
/// prompt, a request, an argument or a path.
///
/// ```
/// use skills_ledger::{Activity, Event, RunOutcome, SessionHash, Timestamp};
///
/// let now = Timestamp::from_millis(1_764_000_000_000);
/// let event = Event::new("pdf", "user", Activity::ScriptRun(RunOutcome::Failed), now)
///     .session(SessionHash::new("the id of a session"));
/// assert_eq!(event.skill, "pdf");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// When it happened.
    pub time: Timestamp,
    /// The name of the skill, at most [`MAX_NAME_BYTES`] bytes.
    pub skill: Cow<'a, str>,
    /// The scope of the root that contains the skill, such as `user` or `repo:0a1b2c3d4e5f`, at most
    /// [`MAX_SCOPE_BYTES`] bytes.
    pub scope: Cow<'a, str>,
    /// How the skill was used.
    pub activity: Activity,
    /// The content of the skill at that time, if it is known.
    pub digest: Option<Digest>,
    /// The session in which it was used, if there was one.
    pub session: Option<SessionHash>,
}

/// The first 16 bytes of the content digest of a skill: enough to tell contents apart.
///
/// Displayed as 32 hexadecimal digits, the start of the digest that other commands show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

/// A part of the SHA-256 of the id of a session: it correlates events, and cannot be used as an id.
///
/// Displayed as 12 hexadecimal digits, the same as in records of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionHash([u8; SESSION_BYTES]);

impl<'a> Event<'a> {
    /// Creates an event without digest and session. Long names are cut at a character.
    #[must_use]
    pub fn new(
        skill: impl Into<Cow<'a, str>>,
        scope: impl Into<Cow<'a, str>>,
        activity: Activity,
        time: Timestamp,
    ) -> Self {
        Self {
            time,
            skill: cut_cow(skill.into(), MAX_NAME_BYTES),
            scope: cut_cow(scope.into(), MAX_SCOPE_BYTES),
            activity,
            digest: None,
            session: None,
        }
    }

    /// Sets the content of the skill.
    #[must_use]
    pub fn digest(mut self, digest: impl Into<Option<Digest>>) -> Self {
        self.digest = digest.into();
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn session(mut self, session: impl Into<Option<SessionHash>>) -> Self {
        self.session = session.into();
        self
    }
}

impl Digest {
    /// Returns the part of a content digest that is recorded.
    #[must_use]
    pub fn from_content_digest(digest: &[u8; 32]) -> Self {
        let mut part = [0; 16];
        part.copy_from_slice(&digest[..16]);
        Self(part)
    }

    /// Parses the start of a content digest in hexadecimal digits, with or without `sha256:`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let mut part = [0; 16];
        hex::decode_to_slice(digits.get(..32)?, &mut part).ok()?;
        Some(Self(part))
    }
}

/// Returns the scope of one skill of many that can have the same name, such as those of projects:
/// the scope, and a part of the SHA-256 of its directory as 12 hexadecimal digits, `repo:0a1b2c3d4e5f`.
///
/// ```
/// use skills_ledger::scope_of_directory;
///
/// let scope = scope_of_directory("repo", "/work/.agents/skills/deploy".as_ref());
/// assert_eq!(scope.len(), "repo:0a1b2c3d4e5f".len());
/// ```
#[must_use]
pub fn scope_of_directory(scope: &str, directory: &Path) -> String {
    let hash = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    format!("{scope}:{}", hex::encode(&hash[..DIRECTORY_BYTES]))
}

/// Returns the scope of a root from one of [`scope_of_directory`], or the scope itself.
#[must_use]
pub fn scope_of_root(scope: &str) -> &str {
    scope.split(':').next().unwrap_or(scope)
}

impl SessionHash {
    /// Hashes the id of a session.
    #[must_use]
    pub fn new(session_id: &str) -> Self {
        let mut part = [0; SESSION_BYTES];
        part.copy_from_slice(&Sha256::digest(session_id)[..SESSION_BYTES]);
        Self(part)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut part = [0; SESSION_BYTES];
        hex::decode_to_slice(text, &mut part).ok()?;
        Some(Self(part))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Display for SessionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Returns at most `max_bytes` of a text, up to the end of a character.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

fn cut_cow(text: Cow<'_, str>, max_bytes: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => cut(text, max_bytes).into(),
        Cow::Owned(text) => cut(&text, max_bytes).to_owned().into(),
    }
}
