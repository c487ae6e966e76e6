//! The errors that programs get from our rules.

use std::io;

/// A rejection, which programs see as a WASI error code.
pub(super) enum FsErrorCode {
    NotPermitted,
    AccessDenied,
    NotDirectory,
    BadDescriptor,
    Invalid,
    Unsupported,
    TooLarge,
    NoSpace,
}

/// `wasmtime-wasi` translates the error numbers of the operating system.
#[cfg(unix)]
impl From<FsErrorCode> for io::Error {
    fn from(refusal: FsErrorCode) -> Self {
        use rustix::io::Errno;
        let errno = match refusal {
            FsErrorCode::NotPermitted => Errno::PERM,
            FsErrorCode::AccessDenied => Errno::ACCESS,
            FsErrorCode::NotDirectory => Errno::NOTDIR,
            FsErrorCode::BadDescriptor => Errno::BADF,
            FsErrorCode::Invalid => Errno::INVAL,
            FsErrorCode::Unsupported => Errno::NOTSUP,
            FsErrorCode::TooLarge => Errno::FBIG,
            FsErrorCode::NoSpace => Errno::NOSPC,
        };
        errno.into()
    }
}

#[cfg(not(unix))]
impl From<FsErrorCode> for io::Error {
    fn from(refusal: FsErrorCode) -> Self {
        let kind = match refusal {
            FsErrorCode::NotPermitted | FsErrorCode::AccessDenied => {
                io::ErrorKind::PermissionDenied
            }
            FsErrorCode::NotDirectory => io::ErrorKind::NotADirectory,
            FsErrorCode::BadDescriptor | FsErrorCode::Invalid => io::ErrorKind::InvalidInput,
            FsErrorCode::Unsupported => io::ErrorKind::Unsupported,
            FsErrorCode::TooLarge => io::ErrorKind::FileTooLarge,
            FsErrorCode::NoSpace => io::ErrorKind::StorageFull,
        };
        kind.into()
    }
}
