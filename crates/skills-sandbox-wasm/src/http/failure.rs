//! Why a request fails: what the program is told, and what the record says.

use std::error::Error as _;
use std::io;

use skills_sandbox::egress::{Limit, Reason, Stop};
use wasmtime_wasi_http::Error;

use super::fuse::Fuse;

/// Both, so that neither is forgotten.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) entry: Entry,
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Refused(Reason),
    Limited(Limit),
    /// It is recorded already, or was the program's own choice.
    Nothing,
}

impl Failure {
    pub(super) fn refused(error: Error, reason: Reason) -> Self {
        Self {
            error,
            entry: Entry::Refused(reason),
        }
    }

    pub(super) fn malformed(error: Error, what: &'static str) -> Self {
        Self::refused(error, Reason::Malformed { what })
    }

    pub(super) fn limited(error: Error, limit: Limit) -> Self {
        Self {
            error,
            entry: Entry::Limited(limit),
        }
    }

    pub(super) fn unrecorded(error: Error) -> Self {
        Self {
            error,
            entry: Entry::Nothing,
        }
    }

    /// Reads what HTTP says of a connection that failed before there was an answer.
    pub(super) fn exchange(fuse: &Fuse, error: hyper::Error, most_head_bytes: usize) -> Self {
        if fuse.cut().is_some() || error.is_user() {
            return Self::unrecorded(broken(fuse, error));
        }
        if error.is_parse_too_large() {
            let most = u32::try_from(most_head_bytes).ok();
            return Self::limited(Error::HttpResponseHeaderSectionSize(most), Limit::HeadBytes);
        }
        Self::refused(broken(fuse, error), Reason::NotReached)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(reason) => Self::refused(refusal(reason), reason),
            Stop::Limit(limit) => Self::limited(Error::ConnectionTimeout, limit),
            Stop::Gone => Self::unrecorded(Error::ConnectionTerminated),
        }
    }
}

/// Returns the error of `wasi:http` for what the list or the network refuses.
fn refusal(reason: Reason) -> Error {
    match reason {
        Reason::NotPublic => Error::DestinationIpProhibited,
        Reason::NotFound => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        Reason::NotReached => Error::ConnectionRefused,
        Reason::NotProven => Error::TlsCertificateError,
        Reason::NotTls => Error::TlsProtocolError,
        Reason::NotAHost => Error::HttpRequestUriInvalid,
        _ => Error::HttpRequestDenied,
    }
}

/// Returns the error of `wasi:http` for a connection that broke.
pub(super) fn broken(fuse: &Fuse, error: hyper::Error) -> Error {
    if let Some(cut) = fuse.cut() {
        return cut.error();
    }
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .map(io::Error::kind);
    match () {
        () if error.is_incomplete_message() || io == Some(io::ErrorKind::UnexpectedEof) => {
            Error::HttpResponseIncomplete
        }
        () if error.is_parse() => Error::HttpProtocolError,
        () if io.is_some() || error.is_canceled() || error.is_closed() => {
            Error::ConnectionTerminated
        }
        () => Error::Hyper(error),
    }
}
