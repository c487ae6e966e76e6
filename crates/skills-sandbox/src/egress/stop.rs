//! Why a connection is not carried on.

use std::fmt;

/// Why something was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The list does not have the host, or denies it.
    NotListed,
    /// Only ports 443 and 80 are reached, and without a tunnel only port 80.
    Port {
        /// The port.
        port: u16,
    },
    /// All addresses of the host are private ones.
    NotPublic,
    /// The host's name does not lead anywhere.
    NotFound,
    /// No address of the host answers, or what answers is not understood.
    NotReached,
    /// What went through the tunnel, or the field `Host`, named another host or none.
    OtherHost,
    /// What went through the tunnel to port 443 was not TLS.
    NotTls,
    /// The host could not prove by a certificate that it is the one that was asked for.
    NotProven,
    /// What should be the name of a host is none.
    NotAHost,
    /// The request breaks the rules of its protocol, or uses what the proxy has no use for.
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("the host is not on the list"),
            Self::Port { port } => write!(f, "port {port} is closed"),
            Self::NotPublic => f.write_str("the host has no public address"),
            Self::NotFound => f.write_str("the host was not found"),
            Self::NotReached => f.write_str("the host did not answer"),
            Self::OtherHost => f.write_str("another host was asked for, or none"),
            Self::NotTls => f.write_str("port 443 is for TLS"),
            Self::NotProven => f.write_str("the host has no valid certificate"),
            Self::NotAHost => f.write_str("this is no host"),
            Self::Malformed { what } => write!(f, "malformed: {what}"),
        }
    }
}

/// A limit of a proxy that a connection came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limit {
    /// Too many connections at a time.
    Connections,
    /// Too many requests, one after the other.
    Requests,
    /// A head that is too long.
    HeadBytes,
    /// A head that took too long.
    HeadTime,
    /// A name or a server that took too long.
    DialTime,
    /// A connection on which nothing went.
    IdleTime,
    /// Too much sent, or too much received.
    Bytes,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "too many connections",
            Self::Requests => "too many requests",
            Self::HeadBytes => "the head is too long",
            Self::HeadTime => "the head took too long",
            Self::DialTime => "the host took too long",
            Self::IdleTime => "nothing went for too long",
            Self::Bytes => "too many bytes",
        })
    }
}

/// Why a connection ends before it is through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is against the rules, or leads nowhere.
    Refused(Reason),
    /// It came to a limit.
    Limit(Limit),
    /// One of the two sides is gone; there is nobody to tell and nothing to blame.
    Gone,
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Refused(reason)
    }
}

impl From<Limit> for Stop {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<std::io::Error> for Stop {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

pub(super) const fn malformed(what: &'static str) -> Reason {
    Reason::Malformed { what }
}
