//! How much a proxy does.

use std::time::Duration;

/// How much a proxy does for one run. What goes beyond closes the connection and is counted in the
/// [`ProxySummary`](super::ProxySummary).
///
/// | limit | default |
/// |---|---|
/// | [`connections`](Self::max_connections) | 64 |
/// | [`head_bytes`](Self::max_head_bytes) | 16 KiB |
/// | [`head_time`](Self::head_timeout) | 10 s |
/// | [`dial_time`](Self::connect_timeout) | 15 s |
/// | [`idle_time`](Self::idle_timeout) | 60 s |
/// | [`bytes_each_way`](Self::bytes_per_direction) | 256 MiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ProxyLimits {
    pub(super) max_connections: usize,
    pub(super) max_head_bytes: usize,
    pub(super) head_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) bytes_per_direction: u64,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            max_connections: 64,
            max_head_bytes: 16 * 1024,
            head_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(60),
            bytes_per_direction: 256 * 1024 * 1024,
        }
    }
}

impl ProxyLimits {
    /// Sets how many connections there may be at a time.
    pub fn max_connections(self, connections: usize) -> Self {
        Self {
            max_connections: connections,
            ..self
        }
    }

    /// Sets how long the head of a request, the head of an answer or a `ClientHello` may be.
    pub fn max_head_bytes(self, head_bytes: usize) -> Self {
        Self {
            max_head_bytes: head_bytes,
            ..self
        }
    }

    /// Sets how long a program may take to say where it wants to go, and again to begin what it
    /// sends through a tunnel.
    pub fn head_timeout(self, head_time: Duration) -> Self {
        Self {
            head_timeout: head_time,
            ..self
        }
    }

    /// Sets how long a name may take to resolve, and again how long its addresses may take to
    /// answer, all together.
    pub fn connect_timeout(self, dial_time: Duration) -> Self {
        Self {
            connect_timeout: dial_time,
            ..self
        }
    }

    /// Sets how long a connection may stay open with nothing going either way.
    pub fn idle_timeout(self, idle_time: Duration) -> Self {
        Self {
            idle_timeout: idle_time,
            ..self
        }
    }

    /// Sets how many bytes may go out, and how many may come in, over all connections of the run
    /// together.
    pub fn bytes_per_direction(self, bytes_each_way: u64) -> Self {
        Self {
            bytes_per_direction: bytes_each_way,
            ..self
        }
    }
}
