//! HTTP limits of a run.

use skills_egress::EgressLimits;

/// The HTTP limits of a run. Exceeding one fails with a `wasi:http` error and is counted in the
/// enforcement report.
///
/// ```
/// use skills_sandbox_wasm::HttpLimits;
///
/// let limits = HttpLimits { max_requests: 10, ..HttpLimits::default() };
/// assert_eq!(limits.connections.max_connections, 64);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// The limits of connections. A request is one connection, which ends when its response was
    /// read or is dropped; while the program does not wait for it, it is not idle.
    pub connections: EgressLimits,
    /// How many requests a run may send, including rejected ones. Default: 1,000.
    pub max_requests: u64,
    /// The maximum size of a request body. Default: 32 MiB.
    pub max_request_body_bytes: u64,
    /// The maximum size of a response body. Default: 64 MiB.
    pub max_response_body_bytes: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: EgressLimits::default(),
            max_requests: 1_000,
            max_request_body_bytes: 32 * 1024 * 1024,
            max_response_body_bytes: 64 * 1024 * 1024,
        }
    }
}
