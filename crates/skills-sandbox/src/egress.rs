//! An egress proxy that connects only to allowed hosts.
//!
//! ```text
//!               SOCKS5 ----\                                 allowlist
//! program --->  CONNECT ----+--> which host, which port? --> resolve once --> public addresses only --+
//!               http://… --/                                                                          |
//!                                              server <-- connect <-- host named in the data matches <-+
//! ```
//!
//! A program without network access gets a listener on loopback; a [`Proxy`] outside of the sandbox
//! accepts its connections. There is one proxy per run, so the allowlist is bound to the listener,
//! and no credential has to be kept from the program. [`proxy_env`] returns the environment
//! variables with which common clients find it.
//!
//! HTTP, `CONNECT` and SOCKS 5 are accepted on one port. For each of them:
//!
//! - A host is an ASCII name, or an IPv4 address if the allowlist contains exactly that address.
//!   The list cannot contain IPv6 addresses, so the proxy never connects to one given as a literal.
//! - Only ports 443 (TLS only) and 80 (HTTP only) are allowed.
//! - A name is resolved once. Addresses that are not public ([`is_public`]) are dropped, and the
//!   proxy connects to one of the rest, so a DNS answer that changes between check and use (DNS
//!   rebinding) has no effect.
//! - In a tunnel to port 443 the first bytes must be a TLS `ClientHello` that names the host. The
//!   proxy has no key and does not read what follows.
//! - To port 80 each connection carries one request, which is parsed strictly and serialized again;
//!   `Host` must match the host, and the body ends at its one declared length. Tunnels follow the
//!   same rule. Connections cannot be upgraded.
//! - The proxy connects only after all of these checks. A client sends through a tunnel only after
//!   the tunnel was confirmed, so for the client a host that does not respond is a connection that
//!   closes.
//!
//! A backend that sends requests on behalf of a program without sockets checks the same list with
//! [`Proxy::authorize`] and [`Proxy::connect`], and writes to the same log.
//!
//! The proxy cannot control what an allowed host does with the data: the host can forward it, also
//! to other names that it serves with its own certificate (domain fronting, Encrypted Client
//! Hello). Do not allow a host in the same run as data that it must not receive.

mod address;
mod body_framing;
mod buffered;
mod client_hello;
mod close_reason;
mod connection;
mod connector;
mod destination;
mod exchange;
mod host;
mod http_head;
mod limits;
mod proxy;
mod proxy_log;
mod request;
mod socks;
mod tunnel;

pub use address::is_public;
pub use close_reason::{CloseReason, ExceededLimit, RejectReason};
pub use connector::{Connector, SystemConnector};
pub use destination::Destination;
pub use host::{Authority, Host};
pub use limits::ProxyLimits;
pub use proxy::{Proxy, proxy_env};
pub use proxy_log::{Direction, LimitHit, ProxyLog, ProxySummary, ReachedHost, RejectedRequest};
