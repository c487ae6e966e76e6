//! The content digest: one hash over all files of a skill.

use std::fmt;
use std::str::FromStr;

/// The SHA-256 over all files of a skill: the path, kind and content of each, in the order of the
/// paths.
///
/// Hidden files count, and so do symlinks, by the text of their target. Two skills with the same
/// digest have the same files and symlinks; location, owner, permissions and times do not matter.
/// On Unix generated files do not count: directories `__pycache__` and `node_modules/.cache`, and
/// files `.DS_Store`. A [copy](crate::SkillFiles::copy_to) does not contain them; what executes the skill
/// directory itself must hide them, see [`DigestedContent`](crate::DigestedContent).
///
/// Approvals hold for exactly one digest. The format is stable: other versions of this crate
/// compute the same digest for the same files.
///
/// The digest is displayed as `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest(pub(crate) [u8; 32]);

impl ContentDigest {
    /// Returns the 32 bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for ContentDigest {
    type Err = InvalidDigest;

    /// Parses `sha256:` and 64 hexadecimal digits in lowercase.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").ok_or(InvalidDigest)?;
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(InvalidDigest);
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes))
    }
}

/// The text is not a content digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not `sha256:` with 64 hexadecimal digits")]
pub struct InvalidDigest;

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}
