//! Network access of a sandboxed program: to granted hosts, and to nothing else.
//!
//! A [`HostConnector`] checks, resolves and connects. A [`Proxy`] offers it to a program that has
//! no other network access; a backend that sends requests on behalf of a program uses it directly.
//!
//! ```text
//!               SOCKS5 ----\                               granted hosts
//! program --->  CONNECT ----+--> which host, which port? --> resolve once --> public addresses only --+
//!               http://… --/                                                                          |
//!                                              server <-- connect <-- host named in the data matches <-+
//! ```
//!
//! A program without network access gets a listener on loopback; a [`Proxy`] outside of the sandbox
//! accepts its connections. There is one proxy per run, so the granted hosts are bound to the
//! listener, and no credential has to be kept from the program. [`proxy_env`] returns the
//! environment variables with which common clients find it.
//!
//! HTTP, `CONNECT` and SOCKS 5 are accepted on one port. For each of them:
//!
//! - A host is an ASCII name, or an IPv4 address if exactly that address is granted.
//!   The list cannot contain IPv6 addresses, so the proxy never connects to one given as a literal.
//! - Only ports 443 (TLS only) and 80 (HTTP only) are allowed, and other ports (either) of hosts
//!   that are granted with them, such as `localhost:8080`.
//! - A name is resolved once. Addresses that are not public ([`is_public`]) are
//!   dropped, unless the host was granted with a port: then private networks are allowed, and the
//!   loopback device for `localhost` and its addresses. The proxy connects to one of the rest, so a
//!   DNS answer that changes between check and use (DNS rebinding) has no effect.
//! - In a tunnel to port 443 the first bytes must be a TLS `ClientHello` that names the host. The
//!   proxy has no key and does not read what follows.
//! - To port 80 each connection carries one request, which is parsed strictly and serialized again;
//!   `Host` must match the host, and the body ends at its one declared length. Tunnels follow the
//!   same rule. Connections cannot be upgraded.
//! - The proxy connects only after all of these checks. A client sends through a tunnel only after
//!   the tunnel was confirmed, so for the client a host that does not respond is a connection that
//!   closes.
//!
//! A service of the machine itself (`localhost:8080`) can additionally have a listener of its own, for
//! programs that use no proxy ([`Proxy::loopback_service`]): the same rules decide about the
//! connection, and then any protocol is relayed.
//!
//! Where the user has a proxy ([`UpstreamProxies`]), because a company allows no other connection,
//! the checked connection goes through it: by `CONNECT`, or for HTTP without TLS as a request to a
//! proxy. Such a proxy resolves the name. So only a rule for this very name counts, not a pattern;
//! a rule that denies an address denies all names; and what this machine resolves as a private
//! address is refused.
//!
//! The proxy cannot control what an allowed host does with the data: the host can forward it, also
//! to other names that it serves with its own certificate (domain fronting, Encrypted Client
//! Hello). Do not allow a host in the same run as data that it must not receive.
//!
//! Without the feature `proxy` the crate is only the table of addresses, without dependencies. Sources
//! of skills are fetched by the same table.
//!
//! This crate must not know which backends exist, or what a skill is. Which hosts are allowed is an
//! argument.
//!
//! ```
//! use std::sync::Arc;
//!
//! use skills_egress::{CloseReason, Host, HostConnector, RejectReason, SystemConnector};
//! use skills_policy::{Authorization, Effect, NetworkGrant, Policy, Request, Rule, RuleSource};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rule = Rule::parse(Effect::Allow, RuleSource::User, "network:a.example")?;
//! let request = Request::new("/skills/fetch").allowed_tool("WebFetch", None);
//! let Authorization::Granted(grants) = Policy::default().with_rules([rule]).authorize(&request) else {
//!     panic!("granted by the rule")
//! };
//! let NetworkGrant::Hosts(hosts) = grants.network() else {
//!     panic!("one host")
//! };
//! let connector = HostConnector::new(hosts.clone(), Arc::new(SystemConnector::default()));
//! let other = Host::parse(b"b.example").ok_or("invalid host")?;
//! let rejected = connector.authorize(other, 443).await.unwrap_err();
//! assert_eq!(rejected, CloseReason::Rejected(RejectReason::NotListed));
//! # Ok(())
//! # }
//! ```

mod address;
#[cfg(feature = "proxy")]
mod body_framing;
#[cfg(feature = "proxy")]
mod buffered;
#[cfg(feature = "proxy")]
mod client_hello;
#[cfg(feature = "proxy")]
mod close_reason;
#[cfg(feature = "proxy")]
mod connection;
#[cfg(feature = "proxy")]
mod connector;
#[cfg(feature = "proxy")]
mod exchange;
#[cfg(feature = "proxy")]
mod host;
#[cfg(feature = "proxy")]
mod host_connector;
#[cfg(feature = "proxy")]
mod http_head;
#[cfg(feature = "proxy")]
mod limits;
#[cfg(feature = "proxy")]
mod proxy;
#[cfg(feature = "proxy")]
mod proxy_endpoint;
#[cfg(feature = "proxy")]
mod proxy_log;
#[cfg(feature = "proxy")]
mod request;
#[cfg(feature = "proxy")]
mod socks;
#[cfg(feature = "proxy")]
mod tunnel;
#[cfg(feature = "proxy")]
mod upstream;
#[cfg(feature = "proxy")]
mod upstream_tunnel;

#[cfg(feature = "proxy")]
pub use self::{
    close_reason::{CloseReason, ExceededLimit, RejectReason},
    connector::{Connector, SystemConnector},
    host::{Authority, HTTP_PORT, Host, TLS_PORT},
    host_connector::{Destination, HostConnector, loopback_services},
    limits::EgressLimits,
    proxy::{Proxy, proxy_env},
    proxy_endpoint::{PROXY_PORT, ProxyEndpoint},
    proxy_log::{Direction, ProxyLog, ProxySummary, RejectedRequest},
    upstream::{InvalidProxy, UpstreamProxies, UpstreamProxy},
};
pub use address::{embedded_ipv4, is_private_network, is_public};
