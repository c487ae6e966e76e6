//! What programs are told when something of ours stands in their way.

use std::io;

/// A refusal, which programs see as an error code of WASI.
pub(super) enum Refusal {
    NotPermitted,
    NotDirectory,
    BadDescriptor,
    Invalid,
    Unsupported,
    TooLarge,
    NoSpace,
}

/// `wasmtime-wasi` translates the numbers of the operating system.
#[cfg(unix)]
impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        use rustix::io::Errno;
        let errno = match refusal {
            Refusal::NotPermitted => Errno::PERM,
            Refusal::NotDirectory => Errno::NOTDIR,
            Refusal::BadDescriptor => Errno::BADF,
            Refusal::Invalid => Errno::INVAL,
            Refusal::Unsupported => Errno::NOTSUP,
            Refusal::TooLarge => Errno::FBIG,
            Refusal::NoSpace => Errno::NOSPC,
        };
        errno.into()
    }
}

#[cfg(not(unix))]
impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::NotPermitted => io::ErrorKind::PermissionDenied,
            Refusal::NotDirectory => io::ErrorKind::NotADirectory,
            Refusal::BadDescriptor | Refusal::Invalid => io::ErrorKind::InvalidInput,
            Refusal::Unsupported => io::ErrorKind::Unsupported,
            Refusal::TooLarge => io::ErrorKind::FileTooLarge,
            Refusal::NoSpace => io::ErrorKind::StorageFull,
        };
        kind.into()
    }
}
