//! Why a connection is not carried on.

use std::fmt;

/// Why something was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RejectReason {
    /// The list does not have the host, or denies it.
    NotListed,
    /// Only ports 443 and 80 are reached, and without a tunnel only port 80.
    PortNotAllowed {
        /// The port.
        port: u16,
    },
    /// All addresses of the host are private ones.
    PrivateAddress,
    /// The host's name does not lead anywhere.
    DnsFailure,
    /// No address of the host answers, or what answers is not understood.
    Unreachable,
    /// What went through the tunnel, or the field `Host`, named another host or none.
    HostMismatch,
    /// What went through the tunnel to port 443 was not TLS.
    NotTls,
    /// The host could not prove by a certificate that it is the one that was asked for.
    InvalidCertificate,
    /// What should be the name of a host is none.
    InvalidHost,
    /// The request breaks the rules of its protocol, or uses what the proxy has no use for.
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("the host is not on the list"),
            Self::PortNotAllowed { port } => write!(f, "port {port} is closed"),
            Self::PrivateAddress => f.write_str("the host has no public address"),
            Self::DnsFailure => f.write_str("the host was not found"),
            Self::Unreachable => f.write_str("the host did not answer"),
            Self::HostMismatch => f.write_str("another host was asked for, or none"),
            Self::NotTls => f.write_str("port 443 is for TLS"),
            Self::InvalidCertificate => f.write_str("the host has no valid certificate"),
            Self::InvalidHost => f.write_str("this is no host"),
            Self::Malformed { what } => write!(f, "malformed: {what}"),
        }
    }
}

/// A limit of a proxy that a connection came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExceededLimit {
    /// Too many connections at a time.
    Connections,
    /// Too many requests, one after the other.
    Requests,
    /// A head that is too long.
    HeadBytes,
    /// A head that took too long.
    HeadTimeout,
    /// A name or a server that took too long.
    ConnectTimeout,
    /// A connection on which nothing went.
    IdleTimeout,
    /// Too much sent, or too much received.
    Bytes,
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "too many connections",
            Self::Requests => "too many requests",
            Self::HeadBytes => "the head is too long",
            Self::HeadTimeout => "the head took too long",
            Self::ConnectTimeout => "the host took too long",
            Self::IdleTimeout => "nothing went for too long",
            Self::Bytes => "too many bytes",
        })
    }
}

/// Why a connection ends before it is through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// It is against the rules, or leads nowhere.
    Rejected(RejectReason),
    /// It came to a limit.
    LimitExceeded(ExceededLimit),
    /// One of the two sides is gone; there is nobody to tell and nothing to blame.
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

pub(super) const fn malformed(what: &'static str) -> RejectReason {
    RejectReason::Malformed { what }
}
