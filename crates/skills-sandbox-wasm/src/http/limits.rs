//! How much HTTP a run may do.

use std::time::Duration;

use skills_sandbox::egress::ProxyLimits;

/// How much HTTP a run may do. What goes beyond fails with an error of `wasi:http` and is counted
/// in the report.
///
/// | limit | default |
/// |---|---|
/// | [`requests`](Self::requests) | 1,000 |
/// | [`connections`](Self::connections) | 64 |
/// | [`head_bytes`](Self::head_bytes) | 16 KiB |
/// | [`dial_time`](Self::dial_time) | 15 s |
/// | [`idle_time`](Self::idle_time) | 60 s |
/// | [`request_body_bytes`](Self::request_body_bytes) | 32 MiB |
/// | [`response_body_bytes`](Self::response_body_bytes) | 64 MiB |
/// | [`bytes_each_way`](Self::bytes_each_way) | 256 MiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct HttpLimits {
    pub(super) requests: u64,
    pub(super) connections: usize,
    pub(super) head_bytes: usize,
    pub(super) dial_time: Duration,
    pub(super) idle_time: Duration,
    pub(super) request_body_bytes: u64,
    pub(super) response_body_bytes: u64,
    pub(super) bytes_each_way: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            requests: 1_000,
            connections: 64,
            head_bytes: 16 * 1024,
            dial_time: Duration::from_secs(15),
            idle_time: Duration::from_secs(60),
            request_body_bytes: 32 * 1024 * 1024,
            response_body_bytes: 64 * 1024 * 1024,
            bytes_each_way: 256 * 1024 * 1024,
        }
    }
}

impl HttpLimits {
    /// Sets how many requests a run may send, refused ones included.
    pub fn requests(self, requests: u64) -> Self {
        Self { requests, ..self }
    }

    /// Sets how many requests there may be at a time. One ends when its answer was read or is
    /// dropped.
    pub fn connections(self, connections: usize) -> Self {
        Self {
            connections,
            ..self
        }
    }

    /// Sets how long the head of a request and the head of an answer may be.
    pub fn head_bytes(self, head_bytes: usize) -> Self {
        Self { head_bytes, ..self }
    }

    /// Sets how long a name may take to resolve, again how long its addresses may take to answer,
    /// all together, and again how long it may take to agree on keys.
    pub fn dial_time(self, dial_time: Duration) -> Self {
        Self { dial_time, ..self }
    }

    /// Sets how long a connection may stay with nothing going either way while something is waited
    /// for.
    pub fn idle_time(self, idle_time: Duration) -> Self {
        Self { idle_time, ..self }
    }

    /// Sets how long the body of one request may be.
    pub fn request_body_bytes(self, request_body_bytes: u64) -> Self {
        Self {
            request_body_bytes,
            ..self
        }
    }

    /// Sets how long the body of one answer may be.
    pub fn response_body_bytes(self, response_body_bytes: u64) -> Self {
        Self {
            response_body_bytes,
            ..self
        }
    }

    /// Sets how many bytes may go out, and how many may come in, over all connections of the run
    /// together, with all that TLS adds.
    pub fn bytes_each_way(self, bytes_each_way: u64) -> Self {
        Self {
            bytes_each_way,
            ..self
        }
    }

    /// Returns the same limits as far as a proxy has them.
    pub(super) fn proxy(self) -> ProxyLimits {
        ProxyLimits::default()
            .connections(self.connections)
            .head_bytes(self.head_bytes)
            .dial_time(self.dial_time)
            .idle_time(self.idle_time)
            .bytes_each_way(self.bytes_each_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_a_proxy() {
        assert_eq!(HttpLimits::default().proxy(), ProxyLimits::default());
    }
}
