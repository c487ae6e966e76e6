//! What cuts a connection off, told to all its layers.

use std::io;
use std::sync::{Arc, OnceLock};

use skills_sandbox::egress::{Limit, Log};
use wasmtime_wasi_http::Error;

/// The limit that cut a connection off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Nothing went for too long.
    Idle,
    /// More was to be sent than this many bytes.
    Sent(u64),
    /// More came than this many bytes.
    Received(u64),
}

/// Remembers what cut a connection off first: the layers between wrap errors in their own, which do
/// not say it.
#[derive(Debug, Clone)]
pub(super) struct Fuse {
    log: Log,
    cut: Arc<OnceLock<Cut>>,
}

impl Cut {
    pub(super) fn error(self) -> Error {
        match self {
            Self::Idle => Error::ConnectionReadTimeout,
            Self::Sent(bytes) => Error::HttpRequestBodySize(Some(bytes)),
            Self::Received(bytes) => Error::HttpResponseBodySize(Some(bytes)),
        }
    }

    fn limit(self) -> Limit {
        match self {
            Self::Idle => Limit::IdleTime,
            Self::Sent(_) | Self::Received(_) => Limit::Bytes,
        }
    }
}

impl Fuse {
    pub(super) fn new(log: Log) -> Self {
        Self {
            log,
            cut: Arc::default(),
        }
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// Cuts the connection off, and records it the first time.
    pub(super) fn blow(&self, cut: Cut) -> Error {
        if self.cut.set(cut).is_ok() {
            self.log.limited(cut.limit());
        }
        cut.error()
    }

    /// The same for a layer of bytes.
    pub(super) fn blow_io(&self, cut: Cut) -> io::Error {
        io::Error::other(self.blow(cut))
    }

    pub(super) fn cut(&self) -> Option<Cut> {
        self.cut.get().copied()
    }
}
