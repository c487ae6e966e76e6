//! The way out: a proxy that reaches the hosts of a list and nothing else.
//!
//! ```text
//!               SOCKS5 ----\                                 list of hosts
//! program --->  CONNECT ----+--> which host, which port? --> resolve once --> public addresses only --+
//!               http://… --/                                                                          |
//!                                         the host's server <-- dial <-- the bytes name that host too <-+
//! ```
//!
//! A program without a network of its own is given a listener on loopback; a [`Proxy`] on its other
//! side accepts what comes. There is one proxy for one run, so the list is bound to the listener,
//! and no secret has to be kept from the program. [`environment`] is what makes common clients find
//! it.
//!
//! All three protocols are understood on one port. What holds for each:
//!
//! - A host is named by a name in ASCII, or by an IPv4 address when the list has exactly that
//!   address. The list cannot name IPv6 addresses, so these are never reached by number.
//! - Ports 443 (only TLS) and 80 (only HTTP) are reached, no others.
//! - A name is resolved once. Addresses that are not public ([`is_public`]) are dropped, and one of
//!   the rest is dialled, so an answer that changes between the check and the use changes nothing.
//! - Through a tunnel to port 443 the first bytes must be a TLS `ClientHello` that names the host.
//!   The proxy holds no key and reads nothing of what follows.
//! - To port 80 each connection carries one request, which is read strictly and written anew;
//!   `Host` must be the host, and its body ends where its one length says. This is so in tunnels as
//!   well. Connections cannot be upgraded.
//! - Nothing is dialled before all of that is known. A client speaks through a tunnel only when it
//!   was told that it is open, so a host that does not answer then is to it a connection that
//!   closes.
//!
//! Who sends requests for a program itself, since the program has no sockets at all, asks the same
//! list in the same way by [`Proxy::authorize`] and [`Proxy::connect`], and keeps the same record.
//!
//! What this cannot stop: an allowed host can be told anything and can pass anything on, other
//! names that it serves behind its own certificate included (domain fronting, Encrypted Client
//! Hello). Who must not have the data must not share a list with it.

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
