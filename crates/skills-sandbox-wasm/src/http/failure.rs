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
    /// The log entry: none for [`CloseReason::Disconnected`].
    pub(super) reason: CloseReason,
}

impl HttpFailure {
    pub(super) fn new(error: Error, reason: impl Into<CloseReason>) -> Self {
        Self {
            error,
            reason: reason.into(),
        }
    }

    pub(super) fn malformed(error: Error, what: &'static str) -> Self {
        Self::new(error, RejectReason::Malformed { what })
    }

    /// A failure that is logged already, or was caused by the program.
    pub(super) fn unrecorded(error: Error) -> Self {
        Self::new(error, CloseReason::Disconnected)
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
            return Self::new(
                Error::HttpResponseHeaderSectionSize(limit),
                ExceededLimit::HeadBytes,
            );
        }
        Self::new(connection_error(abort, error), RejectReason::Unreachable)
    }
}

impl From<CloseReason> for HttpFailure {
    fn from(reason: CloseReason) -> Self {
        let error = match reason {
            CloseReason::Rejected(reason) => rejection_error(reason),
            CloseReason::LimitExceeded(_) => Error::ConnectionTimeout,
            CloseReason::Disconnected => Error::ConnectionTerminated,
        };
        Self { error, reason }
    }
}

/// Returns the `wasi:http` error for a rejected or unreachable host.
fn rejection_error(reason: RejectReason) -> Error {
    match reason {
        RejectReason::PrivateAddress | RejectReason::PrivateNetwork { .. } => {
            Error::DestinationIpProhibited
        }
        RejectReason::DnsFailure => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        RejectReason::Unreachable
        | RejectReason::Refused
        | RejectReason::ProxyAuthentication
        | RejectReason::ProxyRefused { .. }
        | RejectReason::ProxyUnreachable => Error::ConnectionRefused,
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
