//! HTTP limits of a run.

use std::time::Duration;

use skills_egress::ProxyLimits;

/// The HTTP limits of a run. Exceeding one fails with a `wasi:http` error and is counted in the
/// enforcement report.
///
/// | limit | default |
/// |---|---|
/// | [`max_requests`](Self::max_requests) | 1,000 |
/// | [`max_connections`](Self::max_connections) | 64 |
/// | [`max_head_bytes`](Self::max_head_bytes) | 16 KiB |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s |
/// | [`idle_timeout`](Self::idle_timeout) | 60 s |
/// | [`max_request_body_bytes`](Self::max_request_body_bytes) | 32 MiB |
/// | [`max_response_body_bytes`](Self::max_response_body_bytes) | 64 MiB |
/// | [`bytes_per_direction`](Self::bytes_per_direction) | 256 MiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct HttpLimits {
    pub(super) max_requests: u64,
    pub(super) max_connections: usize,
    pub(super) max_head_bytes: usize,
    pub(super) connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) max_request_body_bytes: u64,
    pub(super) max_response_body_bytes: u64,
    pub(super) bytes_per_direction: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_requests: 1_000,
            max_connections: 64,
            max_head_bytes: 16 * 1024,
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(60),
            max_request_body_bytes: 32 * 1024 * 1024,
            max_response_body_bytes: 64 * 1024 * 1024,
            bytes_per_direction: 256 * 1024 * 1024,
        }
    }
}

impl HttpLimits {
    /// Sets how many requests a run may send, including rejected ones.
    pub fn max_requests(self, requests: u64) -> Self {
        Self {
            max_requests: requests,
            ..self
        }
    }

    /// Sets the maximum number of concurrent requests. A request ends when its response was read or
    /// is dropped.
    pub fn max_connections(self, connections: usize) -> Self {
        Self {
            max_connections: connections,
            ..self
        }
    }

    /// Sets the maximum size of a request head and of a response head.
    pub fn max_head_bytes(self, max_head_bytes: usize) -> Self {
        Self {
            max_head_bytes,
            ..self
        }
    }

    /// Sets how long resolving a name may take, again how long connecting may take for all of its
    /// addresses together, and again how long the TLS handshake may take.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self {
            connect_timeout,
            ..self
        }
    }

    /// Sets how long a connection may be idle while the program waits for it.
    pub fn idle_timeout(self, idle_timeout: Duration) -> Self {
        Self {
            idle_timeout,
            ..self
        }
    }

    /// Sets the maximum size of a request body.
    pub fn max_request_body_bytes(self, request_body_bytes: u64) -> Self {
        Self {
            max_request_body_bytes: request_body_bytes,
            ..self
        }
    }

    /// Sets the maximum size of a response body.
    pub fn max_response_body_bytes(self, response_body_bytes: u64) -> Self {
        Self {
            max_response_body_bytes: response_body_bytes,
            ..self
        }
    }

    /// Sets how many bytes may be sent, and how many received, over all connections of the run
    /// together, including TLS overhead.
    pub fn bytes_per_direction(self, bytes_per_direction: u64) -> Self {
        Self {
            bytes_per_direction,
            ..self
        }
    }

    /// Returns the limits that a proxy has as well.
    pub(super) fn proxy_limits(self) -> ProxyLimits {
        ProxyLimits::default()
            .max_connections(self.max_connections)
            .max_head_bytes(self.max_head_bytes)
            .connect_timeout(self.connect_timeout)
            .idle_timeout(self.idle_timeout)
            .bytes_per_direction(self.bytes_per_direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_a_proxy() {
        assert_eq!(HttpLimits::default().proxy_limits(), ProxyLimits::default());
    }
}
