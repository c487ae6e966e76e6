//! Why a connection was aborted, shared by all of its layers.

use std::io;
use std::sync::{Arc, OnceLock};

use skills_egress::{ExceededLimit, ProxyLog};
use wasmtime_wasi_http::Error;

/// The limit that aborted a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbortReason {
    /// No data was transferred for too long.
    IdleTimeout,
    /// More than this many bytes were to be sent.
    SentLimit(u64),
    /// More than this many bytes were received.
    ReceivedLimit(u64),
}

/// Records the first abort reason; hyper's wrapped errors do not expose it.
#[derive(Debug, Clone)]
pub(super) struct AbortState {
    log: ProxyLog,
    reason: Arc<OnceLock<AbortReason>>,
}

impl AbortReason {
    pub(super) fn error(self) -> Error {
        match self {
            Self::IdleTimeout => Error::ConnectionReadTimeout,
            Self::SentLimit(bytes) => Error::HttpRequestBodySize(Some(bytes)),
            Self::ReceivedLimit(bytes) => Error::HttpResponseBodySize(Some(bytes)),
        }
    }

    fn limit(self) -> ExceededLimit {
        match self {
            Self::IdleTimeout => ExceededLimit::IdleTimeout,
            Self::SentLimit(_) | Self::ReceivedLimit(_) => ExceededLimit::Bytes,
        }
    }
}

impl AbortState {
    pub(super) fn new(log: ProxyLog) -> Self {
        Self {
            log,
            reason: Arc::default(),
        }
    }

    pub(super) fn log(&self) -> &ProxyLog {
        &self.log
    }

    /// Aborts the connection, and logs it the first time.
    pub(super) fn abort(&self, cut: AbortReason) -> Error {
        // Several layers may notice the same abort, which is one entry in the log.
        if self.reason.set(cut).is_ok() {
            self.log.record_limit(cut.limit());
        }
        cut.error()
    }

    /// The same as an I/O error.
    pub(super) fn abort_io(&self, cut: AbortReason) -> io::Error {
        io::Error::other(self.abort(cut))
    }

    pub(super) fn reason(&self) -> Option<AbortReason> {
        self.reason.get().copied()
    }
}
