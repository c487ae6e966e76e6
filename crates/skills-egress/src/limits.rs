//! Limits of a proxy.

use std::time::Duration;

/// The limits of a proxy for one run. Exceeding one closes the connection and is counted in the
/// [`ProxySummary`](super::ProxySummary).
///
/// | limit | default |
/// |---|---|
/// | [`max_connections`](Self::max_connections) | 64 |
/// | [`max_head_bytes`](Self::max_head_bytes) | 16 KiB |
/// | [`head_timeout`](Self::head_timeout) | 10 s |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s |
/// | [`idle_timeout`](Self::idle_timeout) | 60 s |
/// | [`bytes_per_direction`](Self::bytes_per_direction) | 256 MiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ProxyLimits {
    pub(crate) max_connections: usize,
    pub(crate) max_head_bytes: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) bytes_per_direction: u64,
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
    /// Sets the maximum number of concurrent connections.
    pub fn max_connections(self, connections: usize) -> Self {
        Self {
            max_connections: connections,
            ..self
        }
    }

    /// Sets the maximum size of a request head, a response head or a `ClientHello`.
    pub fn max_head_bytes(self, head_bytes: usize) -> Self {
        Self {
            max_head_bytes: head_bytes,
            ..self
        }
    }

    /// Sets how long a program may take to send its request, and again to send the first bytes in a
    /// tunnel.
    pub fn head_timeout(self, head_timeout: Duration) -> Self {
        Self {
            head_timeout,
            ..self
        }
    }

    /// Sets how long resolving a name may take, and again how long connecting may take for all of
    /// its addresses together.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self {
            connect_timeout,
            ..self
        }
    }

    /// Sets how long a connection may stay open without data in either direction.
    pub fn idle_timeout(self, idle_timeout: Duration) -> Self {
        Self {
            idle_timeout,
            ..self
        }
    }

    /// Sets how many bytes may be sent, and how many received, over all connections of the run
    /// together.
    pub fn bytes_per_direction(self, bytes_per_direction: u64) -> Self {
        Self {
            bytes_per_direction,
            ..self
        }
    }
}
