//! What cuts a connection off, told to all its layers.

use std::io;
use std::sync::{Arc, OnceLock};

use skills_sandbox::egress::{ExceededLimit, ProxyLog};
use wasmtime_wasi_http::Error;

/// The limit that cut a connection off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbortReason {
    /// Nothing went for too long.
    IdleTimeout,
    /// More was to be sent than this many bytes.
    SentLimit(u64),
    /// More came than this many bytes.
    ReceivedLimit(u64),
}

/// Remembers what cut a connection off first: the layers between wrap errors in their own, which do
/// not say it.
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

    /// Cuts the connection off, and records it the first time.
    pub(super) fn abort(&self, cut: AbortReason) -> Error {
        if self.reason.set(cut).is_ok() {
            self.log.record_limit(cut.limit());
        }
        cut.error()
    }

    /// The same for a layer of bytes.
    pub(super) fn abort_io(&self, cut: AbortReason) -> io::Error {
        io::Error::other(self.abort(cut))
    }

    pub(super) fn reason(&self) -> Option<AbortReason> {
        self.reason.get().copied()
    }
}
