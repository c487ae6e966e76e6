//! Limits of the HTTP server.

use std::num::NonZeroU32;
use std::time::Duration;

/// The configured limits.
#[derive(Debug, Clone)]
pub(super) struct HttpLimits {
    pub(super) max_request_body_bytes: usize,
    pub(super) requests_per_second: NonZeroU32,
    pub(super) max_concurrent_requests: usize,
    pub(super) max_streams: usize,
    pub(super) max_connections: usize,
    pub(super) header_read_timeout: Duration,
    pub(super) request_body_timeout: Duration,
    pub(super) write_timeout: Duration,
    pub(super) max_sessions: usize,
    pub(super) shutdown_timeout: Duration,
}

impl HttpLimits {
    /// Returns the maximum number of JSON values in a body.
    pub(super) fn max_json_values(&self) -> usize {
        // Real messages have fewer values per byte by far.
        (self.max_request_body_bytes / 32).max(1_024)
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_request_body_bytes: 4 << 20,
            // High enough for any ordinary client; it stops runaway loops.
            requests_per_second: NonZeroU32::MIN.saturating_add(4_999),
            max_concurrent_requests: 64,
            max_streams: 256,
            max_connections: 512,
            header_read_timeout: Duration::from_secs(10),
            request_body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            max_sessions: 256,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
