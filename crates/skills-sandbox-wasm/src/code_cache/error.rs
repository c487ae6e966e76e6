//! Why the cache cannot be used, and why a file of it is not.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Says why the cache of compiled components cannot be used. Runs go on without it, only slower.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct CodeCacheError(#[from] Repr);

impl CodeCacheError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> CodeCacheErrorKind {
        match &self.0 {
            Repr::Untrusted { .. } => CodeCacheErrorKind::Untrusted,
            Repr::TooLarge { .. } => CodeCacheErrorKind::TooLarge,
            Repr::RelativePath { .. } => CodeCacheErrorKind::Unsupported,
            #[cfg(not(unix))]
            Repr::Elsewhere => CodeCacheErrorKind::Unsupported,
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

    /// Says whether something was not there, such as the directory, after somebody deleted it.
    pub(super) fn is_missing(&self) -> bool {
        matches!(&self.0, Repr::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The classes of [`CodeCacheError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeCacheErrorKind {
    /// The directory, or the user's key in it, may be in the hands of others; the message says what
    /// to do.
    Untrusted,
    /// The artifact is larger than the whole cache may be.
    TooLarge,
    /// There is no cache on this system, or none at such a path.
    Unsupported,
    /// The operating system refused: the disk is full or read-only, say.
    Io,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Repr {
    #[error("cached code in {} is not used: {fault}; {}", path.display(), fault.remedy(path))]
    Untrusted { path: PathBuf, fault: TrustFault },
    #[error("the compiled component has {bytes} bytes, at most {limit} are kept")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("the cache directory {} is relative; name it from the root", path.display())]
    RelativePath { path: PathBuf },
    #[error(
        "compiled components are kept on Unix only, where owners and modes of files can be told"
    )]
    #[cfg(not(unix))]
    UnsupportedPlatform,
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the system gives no random bytes for the cache's key")]
    Random,
}

/// What makes a file or directory unfit to hold code that will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustFault {
    /// It is a symlink, which may lead anywhere and elsewhere tomorrow.
    Symlink,
    /// It is neither a regular file nor, where one is wanted, a directory.
    Kind,
    /// It belongs to somebody else.
    Owner { owner: u32, user: u32 },
    /// Group or others may use it.
    Mode { mode: u32 },
    /// The key is not as long as keys are.
    KeyLength { bytes: u64 },
}

impl TrustFault {
    fn remedy(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Symlink => "name the directory itself, or remove the link".into(),
            Self::Kind => "remove it, or name another directory".into(),
            Self::Owner { .. } => "name a directory of your own, or remove it".into(),
            Self::Mode { .. } => {
                format!("if nobody else wrote there, run `chmod go= {path}`, else remove it")
            }
            Self::KeyLength { .. } => "remove it, and a new key is made".into(),
        }
    }
}

impl fmt::Display for TrustFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symlink => f.write_str("it is a symlink"),
            Self::Kind => f.write_str("it is of another kind"),
            Self::Owner { owner, user } => write!(
                f,
                "it belongs to user {owner}, not to {user}, who runs this"
            ),
            Self::Mode { mode } => write!(f, "others may use it (mode {mode:03o})"),
            Self::KeyLength { bytes } => write!(f, "the key has {bytes} bytes instead of 32"),
        }
    }
}

/// Why a file was not taken for the artifact that it pretends to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    /// It may be in the hands of others.
    #[error("{0}")]
    Untrusted(TrustFault),
    /// It is shorter or longer than was written.
    #[error("it has {actual} bytes instead of {expected}")]
    LengthMismatch { expected: u64, actual: u64 },
    /// It is larger than any artifact may be, and was not read.
    #[error("it has {bytes} bytes, at most {limit} are read")]
    TooLarge { bytes: u64, limit: u64 },
    /// It does not begin as artifacts do.
    #[error("it is no artifact of this version")]
    UnknownFormat,
    /// It was made for another component, engine or version.
    #[error("it belongs to another key")]
    KeyMismatch,
    /// It was changed, or sealed with another key than this user's.
    #[error("its seal does not hold")]
    BadMac,
}
