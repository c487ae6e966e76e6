//! The SHA-256 of a file, as indexes, registries and MCP servers write it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::{InstallError, Repr};

/// A digest of bytes: `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileDigest([u8; 32]);

/// The text is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not `sha256:` with 64 lowercase hexadecimal digits")]
pub(crate) struct DigestError(String);

impl FileDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of everything that a reader has left.
    pub(crate) fn of_reader(reader: &mut dyn Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        io::copy(reader, &mut hasher)?;
        Ok(Self(hasher.finalize().into()))
    }

    /// Returns the digest of a whole file, which is at its start afterwards.
    pub(crate) fn of_file(file: &mut File) -> io::Result<Self> {
        file.rewind()?;
        let digest = Self::of_reader(file)?;
        file.rewind()?;
        Ok(digest)
    }

    pub(crate) fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Fails unless the digest is the expected one. `name` says of what it is.
    pub(crate) fn check(self, expected: Self, name: &str) -> Result<(), InstallError> {
        if self == expected {
            return Ok(());
        }
        Err(Repr::Digest {
            name: name.to_owned(),
            expected: expected.to_string(),
            actual: self.to_string(),
        }
        .into())
    }
}

impl FromStr for FileDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || DigestError(text.chars().take(100).collect());
        let digits = text.strip_prefix("sha256:").ok_or_else(invalid)?;
        // One spelling for each digest.
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(invalid());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| invalid())?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}

impl fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
