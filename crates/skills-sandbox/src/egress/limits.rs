//! How much a proxy does.

use std::time::Duration;

/// How much a proxy does for one run. What goes beyond closes the connection and is counted in the
/// [`Summary`](super::Summary).
///
/// | limit | default |
/// |---|---|
/// | [`connections`](Self::connections) | 64 |
/// | [`head_bytes`](Self::head_bytes) | 16 KiB |
/// | [`head_time`](Self::head_time) | 10 s |
/// | [`dial_time`](Self::dial_time) | 15 s |
/// | [`idle_time`](Self::idle_time) | 60 s |
/// | [`bytes_each_way`](Self::bytes_each_way) | 256 MiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ProxyLimits {
    pub(super) connections: usize,
    pub(super) head_bytes: usize,
    pub(super) head_time: Duration,
    pub(super) dial_time: Duration,
    pub(super) idle_time: Duration,
    pub(super) bytes_each_way: u64,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            head_bytes: 16 * 1024,
            head_time: Duration::from_secs(10),
            dial_time: Duration::from_secs(15),
            idle_time: Duration::from_secs(60),
            bytes_each_way: 256 * 1024 * 1024,
        }
    }
}

impl ProxyLimits {
    /// Sets how many connections there may be at a time.
    pub fn connections(self, connections: usize) -> Self {
        Self {
            connections,
            ..self
        }
    }

    /// Sets how long the head of a request, the head of an answer or a `ClientHello` may be.
    pub fn head_bytes(self, head_bytes: usize) -> Self {
        Self { head_bytes, ..self }
    }

    /// Sets how long a program may take to say where it wants to go, and again to begin what it
    /// sends through a tunnel.
    pub fn head_time(self, head_time: Duration) -> Self {
        Self { head_time, ..self }
    }

    /// Sets how long a name may take to resolve, and again how long its addresses may take to
    /// answer, all together.
    pub fn dial_time(self, dial_time: Duration) -> Self {
        Self { dial_time, ..self }
    }

    /// Sets how long a connection may stay open with nothing going either way.
    pub fn idle_time(self, idle_time: Duration) -> Self {
        Self { idle_time, ..self }
    }

    /// Sets how many bytes may go out, and how many may come in, over all connections of the run
    /// together.
    pub fn bytes_each_way(self, bytes_each_way: u64) -> Self {
        Self {
            bytes_each_way,
            ..self
        }
    }
}
