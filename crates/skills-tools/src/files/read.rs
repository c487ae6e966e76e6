//! File contents, in memory for small files and streamed for large ones.

use std::borrow::Cow;
use std::io::{Read, Result, Seek, SeekFrom};

use cap_std::fs::File;
use skills_runtime::audit::ContentHash;

/// Maximum size of files that are held in memory and hashed: 16 MiB.
pub(crate) const MAX_IN_MEMORY_BYTES: u64 = 16 << 20;

/// A file that is being read.
pub(crate) enum FileSource {
    /// The whole content.
    InMemory(Vec<u8>),
    /// A large file and its size.
    Streamed(File, u64),
}

impl FileSource {
    /// Reads an open file of `size` bytes.
    pub(crate) fn from_file(mut file: File, size: u64) -> Result<Self> {
        if size > MAX_IN_MEMORY_BYTES {
            return Ok(Self::Streamed(file, size));
        }
        let mut bytes = Vec::new();
        (&mut file)
            // The size is from before; a growing file must not fill the memory.
            .take(MAX_IN_MEMORY_BYTES + 1)
            .read_to_end(&mut bytes)?;
        // The file grew in the meantime.
        let length = bytes.len() as u64;
        Ok(if length > MAX_IN_MEMORY_BYTES {
            Self::Streamed(file, length)
        } else {
            Self::InMemory(bytes)
        })
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::InMemory(bytes) => bytes.len() as u64,
            Self::Streamed(_, size) => *size,
        }
    }

    pub(crate) fn sha256(&self) -> Option<String> {
        match self {
            Self::InMemory(bytes) => Some(sha256(bytes)),
            Self::Streamed(..) => None,
        }
    }

    /// Reads at most `length` bytes from `offset`.
    pub(crate) fn read_at(&mut self, offset: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::InMemory(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let end = start
                    .saturating_add(usize::try_from(length).unwrap_or(usize::MAX))
                    .min(bytes.len());
                Ok(Cow::Borrowed(&bytes[start..end]))
            }
            // Seeking beyond the maximum file size fails on some systems.
            Self::Streamed(_, size) if offset >= *size => Ok(Cow::Borrowed(&[])),
            Self::Streamed(file, _) => {
                file.seek(SeekFrom::Start(offset))?;
                let mut bytes = Vec::new();
                file.take(length).read_to_end(&mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    ContentHash::new(bytes).sha256
}
