//! A failed request: the error for the program and the log entry.

use std::error::Error as _;
use std::io;

use skills_egress::{CloseReason, ExceededLimit, RejectReason};
use wasmtime_wasi_http::Error;

use super::abort::AbortState;

/// Both, so that neither is omitted.
#[derive(Debug)]
pub(super) struct HttpFailure {
    pub(super) error: Error,
    pub(super) log_entry: LogEntry,
}

/// How the failure is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogEntry {
    Rejected(RejectReason),
    LimitHit(ExceededLimit),
    /// It is logged already, or was caused by the program.
    Unlogged,
}

impl HttpFailure {
    pub(super) fn rejected(error: Error, reason: RejectReason) -> Self {
        Self {
            error,
            log_entry: LogEntry::Rejected(reason),
        }
    }

    pub(super) fn malformed(error: Error, what: &'static str) -> Self {
        Self::rejected(error, RejectReason::Malformed { what })
    }

    pub(super) fn limit_hit(error: Error, limit: ExceededLimit) -> Self {
        Self {
            error,
            log_entry: LogEntry::LimitHit(limit),
        }
    }

    pub(super) fn unrecorded(error: Error) -> Self {
        Self {
            error,
            log_entry: LogEntry::Unlogged,
        }
    }

    /// Converts an HTTP error before there was a response.
    pub(super) fn from_exchange(
        abort: &AbortState,
        error: hyper::Error,
        max_head_bytes: usize,
    ) -> Self {
        // An abort is logged when it happens, and an error of the program is not one of the host.
        if abort.reason().is_some() || error.is_user() {
            return Self::unrecorded(connection_error(abort, error));
        }
        if error.is_parse_too_large() {
            let limit = u32::try_from(max_head_bytes).ok();
            return Self::limit_hit(
                Error::HttpResponseHeaderSectionSize(limit),
                ExceededLimit::HeadBytes,
            );
        }
        Self::rejected(connection_error(abort, error), RejectReason::Unreachable)
    }
}

impl From<CloseReason> for HttpFailure {
    fn from(stop: CloseReason) -> Self {
        match stop {
            CloseReason::Rejected(reason) => Self::rejected(rejection_error(reason), reason),
            CloseReason::LimitExceeded(limit) => Self::limit_hit(Error::ConnectionTimeout, limit),
            CloseReason::Disconnected => Self::unrecorded(Error::ConnectionTerminated),
        }
    }
}

/// Returns the `wasi:http` error for a rejected or unreachable host.
fn rejection_error(reason: RejectReason) -> Error {
    match reason {
        RejectReason::PrivateAddress => Error::DestinationIpProhibited,
        RejectReason::DnsFailure => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        RejectReason::Unreachable => Error::ConnectionRefused,
        RejectReason::InvalidCertificate => Error::TlsCertificateError,
        RejectReason::NotTls => Error::TlsProtocolError,
        RejectReason::InvalidHost => Error::HttpRequestUriInvalid,
        _ => Error::HttpRequestDenied,
    }
}

/// Returns the `wasi:http` error for a failed connection.
pub(super) fn connection_error(abort: &AbortState, error: hyper::Error) -> Error {
    if let Some(cause) = abort.reason() {
        return cause.error();
    }
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .map(io::Error::kind);
    match () {
        // TLS reports a connection that is cut off as an unexpected end.
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
