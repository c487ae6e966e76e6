//! References to images.

use std::fmt;
use std::str::FromStr;

/// The number of hexadecimal digits of a SHA-256 digest.
const DIGEST_DIGITS: usize = 64;
/// The maximum length of a reference.
const MAX_LENGTH: usize = 512;

/// An image that cannot change: `NAME@sha256:DIGEST`, or `sha256:ID` for one that has no name in a
/// registry. Tags are rejected, since another image can get the same tag.
///
/// ```
/// use skills_sandbox_container::ImageReference;
///
/// let digest = "a".repeat(64);
/// let image: ImageReference = format!("docker.io/library/python@sha256:{digest}").parse()?;
/// assert_eq!(image.digest(), format!("sha256:{digest}"));
/// assert!("python:3.13".parse::<ImageReference>().is_err());
/// # Ok::<(), skills_sandbox_container::InvalidImageReference>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageReference(String);

/// A text that is not an [`ImageReference`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid image `{}`: expected `NAME@sha256:DIGEST` or `sha256:ID`, since a tag can name another image later",
    .0.escape_debug()
)]
pub struct InvalidImageReference(String);

impl ImageReference {
    /// Returns the digest, with its algorithm: `sha256:` and 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.0
            .rsplit_once('@')
            .map_or(&self.0, |(_, digest)| digest)
    }

    /// Returns the whole reference.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ImageReference {
    type Err = InvalidImageReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, digest) = match text.rsplit_once('@') {
            Some((name, digest)) => (Some(name), digest),
            None => (None, text),
        };
        let is_digest = digest.strip_prefix("sha256:").is_some_and(|digits| {
            digits.len() == DIGEST_DIGITS
                && digits
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        });
        if is_digest && text.len() <= MAX_LENGTH && name.is_none_or(is_name) {
            Ok(Self(text.to_owned()))
        } else {
            let shown = text.chars().take(MAX_LENGTH).collect();
            Err(InvalidImageReference(shown))
        }
    }
}

/// Returns true for a name of an image, with or without a registry and a tag. It becomes a part of a
/// URL of the engine.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(is_allowed)
        && !name.contains("..")
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digests_are_accepted() {
        let digest = format!("sha256:{}", "0f".repeat(32));
        for name in [
            "python",
            "ghcr.io/a/b",
            "localhost:5000/x",
            "python:3.13-slim",
        ] {
            let text = format!("{name}@{digest}");
            let image: ImageReference = text.parse().unwrap();
            assert_eq!(
                (image.digest(), image.as_str()),
                (digest.as_str(), text.as_str())
            );
        }
        assert_eq!(digest.parse::<ImageReference>().unwrap().digest(), digest);
        for invalid in [
            "python",
            "python:latest",
            "sha256:0f",
            &format!("sha256:{}", "0F".repeat(32)),
            &format!("@{digest}"),
            &format!("a/../b@{digest}"),
            &format!("a?x=1@{digest}"),
            &format!("{}@{digest}", "a".repeat(600)),
        ] {
            let error = invalid.parse::<ImageReference>().unwrap_err();
            assert!(error.to_string().contains("NAME@sha256:DIGEST"), "{error}");
        }
    }
}
