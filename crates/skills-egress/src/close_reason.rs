//! Why a connection was closed.

use std::fmt;

/// Why the proxy did not connect to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectReason {
    /// The host is not granted, or is denied.
    NotListed,
    /// The host is granted without this port, which means ports 443 and 80, and without a tunnel
    /// only port 80.
    PortNotAllowed {
        /// The port.
        port: u16,
    },
    /// All addresses of the host are private, and no rule for it would allow them.
    PrivateAddress,
    /// All addresses of the host are private, and at least one is in a private network. A rule with
    /// this port would allow it.
    PrivateNetwork {
        /// The port.
        port: u16,
    },
    /// The host name does not resolve.
    DnsFailure,
    /// The host refuses connections to the port.
    Refused,
    /// No address of the host responds, or its response is invalid.
    Unreachable,
    /// The proxy of the user resolves names, and no rule names this host: only a pattern matches
    /// it.
    UnnamedBehindProxy,
    /// The proxy of the user resolves names, so a rule that denies addresses cannot be checked.
    AddressRuleBehindProxy,
    /// The proxy of the user cannot be reached, or its response is invalid.
    ProxyUnreachable,
    /// The proxy of the user requires credentials, or others.
    ProxyAuthentication,
    /// The proxy of the user refused the connection.
    ProxyRefused {
        /// The status of its response.
        status: u16,
    },
    /// The data in the tunnel, or the `Host` field, names a different host or none.
    HostMismatch,
    /// The data in a tunnel to port 443 is not TLS.
    NotTls,
    /// The host has no valid certificate for the requested name.
    InvalidCertificate,
    /// The text is not a valid host name or address.
    InvalidHost,
    /// The request violates its protocol, or uses a feature that the proxy does not support.
    Malformed {
        /// What is invalid or unsupported.
        what: &'static str,
    },
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("host is not granted"),
            Self::PortNotAllowed { port } => write!(f, "port {port} is not allowed"),
            // The same words: a program must not learn where a private address is.
            Self::PrivateAddress | Self::PrivateNetwork { .. } => {
                f.write_str("host has no public address")
            }
            Self::DnsFailure => f.write_str("host not found"),
            Self::Refused => f.write_str("connection refused"),
            Self::Unreachable => f.write_str("host did not respond"),
            Self::UnnamedBehindProxy => f.write_str(
                "only a pattern grants it, and behind the proxy of this machine a rule must name the host",
            ),
            Self::AddressRuleBehindProxy => f.write_str(
                "a rule denies addresses, which cannot be checked behind the proxy of this machine",
            ),
            Self::ProxyUnreachable => f.write_str("the proxy of this machine did not respond"),
            Self::ProxyAuthentication => {
                f.write_str("the proxy of this machine requires other credentials")
            }
            Self::ProxyRefused { status } => {
                write!(f, "the proxy of this machine refused it (status {status})")
            }
            Self::HostMismatch => f.write_str("the connection names a different host, or none"),
            Self::NotTls => f.write_str("port 443 requires TLS"),
            Self::InvalidCertificate => f.write_str("host has no valid certificate"),
            Self::InvalidHost => f.write_str("invalid host"),
            Self::Malformed { what } => write!(f, "malformed: {what}"),
        }
    }
}

/// A limit of the proxy that a connection exceeded. See [`EgressLimits`](super::EgressLimits) for
/// the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExceededLimit {
    /// Too many concurrent connections.
    Connections,
    /// Too many requests in sequence.
    Requests,
    /// The head is too long.
    HeadBytes,
    /// The head was not complete in time.
    HeadTimeout,
    /// Resolving the name or connecting took too long.
    ConnectTimeout,
    /// The connection was idle for too long.
    IdleTimeout,
    /// Too many bytes sent or received.
    Bytes,
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "too many connections",
            Self::Requests => "too many requests",
            Self::HeadBytes => "head is too long",
            Self::HeadTimeout => "head was not complete in time",
            Self::ConnectTimeout => "connecting took too long",
            Self::IdleTimeout => "idle for too long",
            Self::Bytes => "too many bytes",
        })
    }
}

/// Why a connection is closed early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// It violates the rules, or its host is unreachable.
    Rejected(RejectReason),
    /// It exceeded a limit.
    LimitExceeded(ExceededLimit),
    /// The client or the host disconnected; no peer is left to notify, and nothing is recorded.
    Disconnected,
}

impl From<RejectReason> for CloseReason {
    fn from(reason: RejectReason) -> Self {
        Self::Rejected(reason)
    }
}

impl From<ExceededLimit> for CloseReason {
    fn from(limit: ExceededLimit) -> Self {
        Self::LimitExceeded(limit)
    }
}

impl From<std::io::Error> for CloseReason {
    fn from(_: std::io::Error) -> Self {
        Self::Disconnected
    }
}

pub(crate) const fn malformed(what: &'static str) -> RejectReason {
    RejectReason::Malformed { what }
}
