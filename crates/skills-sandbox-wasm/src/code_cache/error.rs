//! Errors of the cache, and reasons to reject one of its files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The code cache cannot be used. Runs continue without it and compile components themselves.
/// [`kind`](Self::kind) is for branching.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct CodeCacheError(#[from] Repr);

impl CodeCacheError {
    /// Returns the class of the error, for branching.
    #[must_use]
    pub fn kind(&self) -> CodeCacheErrorKind {
        match &self.0 {
            Repr::Untrusted { .. } => CodeCacheErrorKind::Untrusted,
            Repr::TooLarge { .. } => CodeCacheErrorKind::TooLarge,
            Repr::RelativePath { .. } => CodeCacheErrorKind::Unsupported,
            #[cfg(not(unix))]
            Repr::UnsupportedPlatform => CodeCacheErrorKind::Unsupported,
            Repr::Io { .. } | Repr::Random => CodeCacheErrorKind::Io,
        }
    }

    pub(super) fn untrusted(path: PathBuf, fault: TrustFault) -> Self {
        Repr::Untrusted { path, fault }.into()
    }

    pub(super) fn too_large(bytes: u64, limit: u64) -> Self {
        Repr::TooLarge { bytes, limit }.into()
    }

    pub(super) fn io(action: &'static str, path: PathBuf, source: impl Into<io::Error>) -> Self {
        Repr::Io {
            action,
            path,
            source: source.into(),
        }
        .into()
    }

    /// Returns true if something does not exist, such as the directory after it was deleted.
    pub(super) fn is_missing(&self) -> bool {
        matches!(&self.0, Repr::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The classes of [`CodeCacheError`]. New classes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeCacheErrorKind {
    /// Other users may be able to write the directory or the user's key; the message says how to
    /// fix it.
    Untrusted,
    /// The module is larger than the limit of the cache.
    TooLarge,
    /// There is no cache on this system, or the path is relative.
    Unsupported,
    /// A file system operation failed, for example because the disk is full or read-only.
    Io,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Repr {
    #[error("cannot trust the code cache {}: {fault}; {}", path.display(), fault.remedy(path))]
    Untrusted { path: PathBuf, fault: TrustFault },
    #[error("compiled component is {bytes} bytes, limit {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("cache directory {} is relative; pass an absolute path", path.display())]
    RelativePath { path: PathBuf },
    #[error("the code cache requires Unix, where owners and modes of files can be verified")]
    #[cfg(not(unix))]
    UnsupportedPlatform,
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot get random bytes for the key of the code cache")]
    Random,
}

/// Why a file or directory must not be trusted to hold code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustFault {
    /// It is a symlink, whose target may change.
    Symlink,
    /// It is not a regular file, or not a directory where one is expected.
    Kind,
    /// It belongs to another user.
    Owner { owner: u32, user: u32 },
    /// Group or others have access.
    Mode { mode: u32 },
    /// The key has the wrong length.
    KeyLength { bytes: u64 },
}

impl TrustFault {
    fn remedy(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Symlink => "pass the directory itself, or remove the symlink".into(),
            Self::Kind => "remove it, or pass another directory".into(),
            Self::Owner { .. } => "pass a directory that you own, or remove it".into(),
            Self::Mode { .. } => {
                format!(
                    "run `chmod go= {path}` if no other user has written to it, otherwise remove it"
                )
            }
            Self::KeyLength { .. } => "remove it, and a new key is created".into(),
        }
    }
}

impl fmt::Display for TrustFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symlink => f.write_str("is a symlink"),
            Self::Kind => f.write_str("unexpected file type"),
            Self::Owner { owner, user } => write!(f, "owned by user {owner}, expected {user}"),
            Self::Mode { mode } => write!(f, "accessible to other users (mode {mode:03o})"),
            Self::KeyLength { bytes } => write!(f, "key is {bytes} bytes, expected 32"),
        }
    }
}

/// Why a cache entry was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    /// Other users may be able to write it.
    #[error("{0}")]
    Untrusted(TrustFault),
    /// It is shorter or longer than when it was written.
    #[error("size is {actual} bytes, expected {expected}")]
    LengthMismatch { expected: u64, actual: u64 },
    /// It exceeds the maximum size of a module, and was not read.
    #[error("size is {bytes} bytes, limit {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    /// It does not start with the magic number of this format.
    #[error("not a module of this format version")]
    UnknownFormat,
    /// It was stored for another component, engine or version.
    #[error("belongs to another key")]
    KeyMismatch,
    /// It was modified, or authenticated with another key than this user's.
    #[error("invalid MAC")]
    BadMac,
}
