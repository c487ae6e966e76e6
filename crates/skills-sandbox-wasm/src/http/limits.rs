//! How much HTTP a run may do.

use std::time::Duration;

use skills_sandbox::egress::ProxyLimits;

/// How much HTTP a run may do. What goes beyond fails with an error of `wasi:http` and is counted
/// in the report.
///
/// | limit | default |
/// |---|---|
/// | [`requests`](Self::max_requests) | 1,000 |
/// | [`connections`](Self::max_connections) | 64 |
/// | [`head_bytes`](Self::max_head_bytes) | 16 KiB |
/// | [`dial_time`](Self::connect_timeout) | 15 s |
/// | [`idle_time`](Self::idle_timeout) | 60 s |
/// | [`request_body_bytes`](Self::max_request_body_bytes) | 32 MiB |
/// | [`response_body_bytes`](Self::max_response_body_bytes) | 64 MiB |
/// | [`bytes_each_way`](Self::bytes_per_direction) | 256 MiB |
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
    /// Sets how many requests a run may send, refused ones included.
    pub fn max_requests(self, requests: u64) -> Self {
        Self {
            max_requests: requests,
            ..self
        }
    }

    /// Sets how many requests there may be at a time. One ends when its answer was read or is
    /// dropped.
    pub fn max_connections(self, connections: usize) -> Self {
        Self {
            max_connections: connections,
            ..self
        }
    }

    /// Sets how long the head of a request and the head of an answer may be.
    pub fn max_head_bytes(self, head_bytes: usize) -> Self {
        Self {
            max_head_bytes: head_bytes,
            ..self
        }
    }

    /// Sets how long a name may take to resolve, again how long its addresses may take to answer,
    /// all together, and again how long it may take to agree on keys.
    pub fn connect_timeout(self, dial_time: Duration) -> Self {
        Self {
            connect_timeout: dial_time,
            ..self
        }
    }

    /// Sets how long a connection may stay with nothing going either way while something is waited
    /// for.
    pub fn idle_timeout(self, idle_time: Duration) -> Self {
        Self {
            idle_timeout: idle_time,
            ..self
        }
    }

    /// Sets how long the body of one request may be.
    pub fn max_request_body_bytes(self, request_body_bytes: u64) -> Self {
        Self {
            max_request_body_bytes: request_body_bytes,
            ..self
        }
    }

    /// Sets how long the body of one answer may be.
    pub fn max_response_body_bytes(self, response_body_bytes: u64) -> Self {
        Self {
            max_response_body_bytes: response_body_bytes,
            ..self
        }
    }

    /// Sets how many bytes may go out, and how many may come in, over all connections of the run
    /// together, with all that TLS adds.
    pub fn bytes_per_direction(self, bytes_each_way: u64) -> Self {
        Self {
            bytes_per_direction: bytes_each_way,
            ..self
        }
    }

    /// Returns the same limits as far as a proxy has them.
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
