//! Limits of the connections of a run.

use std::time::Duration;

/// The limits of the connections of one run, through a [`Proxy`](crate::Proxy) or directly.
/// Exceeding one closes the connection and is counted in the [`ProxySummary`](crate::ProxySummary).
///
/// ```
/// use std::time::Duration;
/// use skills_egress::EgressLimits;
///
/// let limits = EgressLimits {
///     idle_timeout: Duration::from_secs(5),
///     ..EgressLimits::default()
/// };
/// assert_eq!(limits.max_connections, 64);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressLimits {
    /// The maximum number of concurrent connections. Default: 64.
    pub max_connections: usize,
    /// The maximum size of a request head, a response head or a `ClientHello`. Default: 16 KiB.
    pub max_head_bytes: usize,
    /// How long a program may take to send its request, and again to send the first bytes in a
    /// tunnel. Default: 10 s. Used by a proxy only.
    pub head_timeout: Duration,
    /// How long resolving a name may take, again how long connecting may take for all of its
    /// addresses together, and again how long a TLS handshake of the host may take. Default: 15 s.
    pub connect_timeout: Duration,
    /// How long a connection may stay open without data in either direction. Default: 60 s.
    pub idle_timeout: Duration,
    /// How many bytes may be sent, and how many received, over all connections of the run together,
    /// including TLS overhead. Default: 256 MiB.
    pub bytes_per_direction: u64,
}

impl Default for EgressLimits {
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
