//! Connects to granted hosts.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use skills_policy::{HostFilter, HostPattern};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::{embedded_ipv4, is_private_network, is_public};
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};
use crate::connector::Connector;
use crate::host::{HTTP_PORT, Host, LOCALHOST, TLS_PORT};
use crate::limits::EgressLimits;
use crate::proxy_log::ProxyLog;

/// The addresses of `localhost`.
const LOOPBACKS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];
/// How many addresses of a host are tried.
const MAX_ADDRESSES: usize = 8;

/// Connects one run to its granted hosts, within limits, and logs that. Clones share the
/// log and the byte counts.
#[derive(Clone)]
pub struct HostConnector {
    hosts: Arc<HostFilter>,
    network: Arc<dyn Connector>,
    pub(crate) limits: EgressLimits,
    pub(crate) log: ProxyLog,
}

/// A port of a host that a rule names, with the addresses that it may have.
enum Service {
    /// `localhost`.
    Localhost,
    /// Exactly this address.
    Address(IpAddr),
    /// Another name. Its owner controls its addresses, so they are never those of this machine.
    Name,
}

impl Service {
    /// Returns the service if the list names it. `localhost` and the loopback addresses are names
    /// of the same machine.
    fn find(host: &Host, port: u16, hosts: &HostFilter) -> Option<Self> {
        let names = |name: &str| hosts.names_service(name, port);
        match host.address() {
            Some(ip) if names(host.as_str()) => Some(Self::Address(ip)),
            Some(ip) => (LOOPBACKS.contains(&ip) && names(LOCALHOST)).then_some(Self::Address(ip)),
            None if host.is_localhost() && names(host.as_str()) => Some(Self::Localhost),
            None if host.as_str() == LOCALHOST => LOOPBACKS
                .into_iter()
                .find(|ip| names(Host::from(*ip).as_str()))
                .map(Self::Address),
            None => names(host.as_str()).then_some(Self::Name),
        }
    }

    /// Returns the addresses, unless a resolver has to be asked.
    fn addresses(&self) -> Option<Vec<IpAddr>> {
        match self {
            Self::Localhost => Some(LOOPBACKS.into()),
            Self::Address(ip) => Some(vec![*ip]),
            Self::Name => None,
        }
    }

    fn machine(&self) -> Machine {
        match self {
            Self::Localhost | Self::Address(_) => Machine::Any,
            Self::Name => Machine::Other,
        }
    }

    fn allows(&self, ip: IpAddr) -> bool {
        match self {
            Self::Localhost => LOOPBACKS.contains(&ip),
            Self::Address(address) => *address == ip,
            Self::Name => is_public(ip) || is_private_network(ip),
        }
    }
}

/// An allowed host with its checked addresses. Only these addresses are connected to, so a later
/// DNS answer cannot change where a connection goes. Created by [`HostConnector::authorize`].
#[derive(Debug)]
pub struct Destination {
    pub(crate) host: Host,
    pub(crate) port: u16,
    addresses: Vec<SocketAddr>,
    machine: Machine,
}

/// The machine that a destination may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Machine {
    /// Another one.
    Other,
    /// This one too, since its address is granted.
    Any,
}

/// What a connection has to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// TLS for the name of the host.
    Tls,
    /// One HTTP request.
    Http,
    /// One of them, for a port that is granted by number.
    TlsOrHttp,
}

impl Destination {
    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns what a connection has to carry.
    pub(crate) fn content(&self) -> Content {
        match self.port {
            TLS_PORT => Content::Tls,
            HTTP_PORT => Content::Http,
            _ => Content::TlsOrHttp,
        }
    }
}

impl HostConnector {
    /// Creates a connector with the default limits.
    #[must_use]
    pub fn new(hosts: HostFilter, network: Arc<dyn Connector>) -> Self {
        Self {
            hosts: Arc::new(hosts),
            network,
            limits: EgressLimits::default(),
            log: ProxyLog::default(),
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: EgressLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the log.
    #[must_use]
    pub fn log(&self) -> ProxyLog {
        self.log.clone()
    }

    /// Checks that the port of the host is granted, resolves the name once, and checks its
    /// addresses. Does not write to the log.
    ///
    /// A host without a port in its rule is reached on ports 80 and 443 of public addresses. One
    /// with a port is reached there, also on private addresses; `localhost` and a loopback address
    /// only if the rule names one of them.
    ///
    /// # Errors
    ///
    /// Returns why the host is not allowed (list, port, addresses), or that resolving took too
    /// long.
    pub async fn authorize(&self, host: Host, port: u16) -> Result<Destination, CloseReason> {
        // The list is checked before the name is resolved: a lookup already sends the name to a
        // server.
        let service = self.find_service(&host, port)?;
        let found = self.find_addresses(&host, port, service.as_ref()).await?;
        if found.is_empty() {
            return Err(RejectReason::DnsFailure.into());
        }
        let is_grantable =
            service.is_none() && found.iter().any(|ip| self.is_grantable(&host, *ip, port));
        // Private addresses are dropped, not rejected as a whole: some names have both kinds.
        let allowed = found
            .into_iter()
            .filter(|ip| self.allows_address(*ip, port, service.as_ref()));
        let addresses: Vec<_> = allowed
            .map(|ip| SocketAddr::new(ip, port))
            // The owner of the name controls how many addresses it has.
            .take(MAX_ADDRESSES)
            .collect();
        if addresses.is_empty() {
            Err(if is_grantable {
                RejectReason::PrivateNetwork { port }.into()
            } else {
                RejectReason::PrivateAddress.into()
            })
        } else {
            Ok(Destination {
                host,
                port,
                addresses,
                machine: service.as_ref().map_or(Machine::Other, Service::machine),
            })
        }
    }

    /// Returns the service of a rule with this port, if there is one.
    fn find_service(&self, host: &Host, port: u16) -> Result<Option<Service>, RejectReason> {
        let service = Service::find(host, port, &self.hosts);
        if service.is_some() || host.is_allowed(&self.hosts, port) {
            return Ok(service);
        }
        // Other ports lead to any service behind an allowed name.
        let is_port =
            !matches!(port, TLS_PORT | HTTP_PORT) && host.is_allowed(&self.hosts, TLS_PORT);
        Err(if is_port {
            RejectReason::PortNotAllowed { port }
        } else {
            RejectReason::NotListed
        })
    }

    /// Resolves a name, unless the rule or the name itself determines the addresses.
    async fn find_addresses(
        &self,
        host: &Host,
        port: u16,
        service: Option<&Service>,
    ) -> Result<Vec<IpAddr>, CloseReason> {
        if let Some(addresses) = service.and_then(Service::addresses) {
            return Ok(addresses);
        }
        if let Some(address) = host.address() {
            return Ok(vec![address]);
        }
        let resolved = self.network.resolve(host.as_str(), port);
        match timeout(self.limits.connect_timeout, resolved).await {
            Ok(Ok(found)) => Ok(found.iter().map(SocketAddr::ip).collect()),
            Ok(Err(_)) => Err(RejectReason::DnsFailure.into()),
            Err(_) => Err(ExceededLimit::ConnectTimeout.into()),
        }
    }

    /// Returns true if a rule for the name with this port would allow the address, and the user granted
    /// this name and not only a pattern of names, which others choose.
    fn is_grantable(&self, host: &Host, ip: IpAddr, port: u16) -> bool {
        let is_named = HostPattern::from_str(host.as_str())
            .is_ok_and(|named| self.hosts.allowed().contains(&named));
        is_named && !host.is_private() && self.allows_address(ip, port, Some(&Service::Name))
    }

    fn allows_address(&self, ip: IpAddr, port: u16, service: Option<&Service>) -> bool {
        let is_allowed = match service {
            Some(service) => service.allows(ip),
            None => is_public(ip),
        };
        is_allowed && !is_denied(ip, port, &self.hosts)
    }

    /// Connects to the first address that responds, and logs the connection. The timeout is divided
    /// among the addresses, so that an unresponsive one does not use all of it.
    ///
    /// # Errors
    ///
    /// Returns [`RejectReason::Refused`] if an address refused the connection, else a limit if one
    /// took too long, else [`RejectReason::Unreachable`].
    pub async fn connect(&self, destination: &Destination) -> Result<TcpStream, CloseReason> {
        let share = self.limits.connect_timeout
            / u32::try_from(destination.addresses.len())
                .unwrap_or(u32::MAX)
                .max(1);
        let mut stop = CloseReason::from(RejectReason::Unreachable);
        for address in &destination.addresses {
            let connecting = match destination.machine {
                Machine::Other => self.network.connect(*address),
                Machine::Any => self.network.connect_granted(*address),
            };
            let failure = match timeout(share, connecting).await {
                // Logged only now: an allowed host that does not respond was not reached.
                Ok(Ok(stream)) => {
                    self.log
                        .record_reached(&destination.host.rule_text(destination.port));
                    return Ok(stream);
                }
                Ok(Err(error)) => connect_failure(&error).into(),
                Err(_) => ExceededLimit::ConnectTimeout.into(),
            };
            if explains_more(failure, stop) {
                stop = failure;
            }
        }
        Err(stop)
    }
}

/// Returns true if the failure of one address says more about a host than that of another one, such
/// as of a version of the protocol that this machine has no network for.
fn explains_more(failure: CloseReason, other: CloseReason) -> bool {
    let rank = |reason| match reason {
        CloseReason::Rejected(RejectReason::Refused) => 2,
        CloseReason::LimitExceeded(_) => 1,
        _ => 0,
    };
    rank(failure) > rank(other)
}

/// Returns the ports of this machine's loopback device that a rule names with `localhost`,
/// `127.0.0.1` or `[::1]`, in ascending order, unless another rule denies all its addresses.
#[must_use]
pub fn loopback_services(hosts: &HostFilter) -> BTreeSet<u16> {
    let named = hosts.allowed().iter().filter_map(HostPattern::port);
    named
        .filter(|port| {
            let service = Service::find(&Host::localhost(), *port, hosts);
            let addresses = service.as_ref().and_then(Service::addresses);
            let mut addresses = addresses.into_iter().flatten();
            addresses.any(|ip| !is_denied(ip, *port, hosts))
        })
        .collect()
}

/// Returns true if the list denies an address literal, or the IPv4 address that it embeds, whatever
/// name resolved to it.
fn is_denied(ip: IpAddr, port: u16, hosts: &HostFilter) -> bool {
    // An embedded address reaches the same host by NAT64.
    let inner = embedded_ipv4(ip).map(IpAddr::from);
    // All loopback addresses are one host.
    let loopback = ip
        .is_loopback()
        .then_some([LOCALHOST, "127.0.0.1", "[::1]"]);
    let loopback = loopback.into_iter().flatten().map(str::to_owned);
    let texts: Vec<String> = [ip]
        .into_iter()
        .chain(inner)
        .map(|ip| Host::from(ip).as_str().to_owned())
        .chain(loopback)
        .flat_map(|text| [format!("{text}:{port}"), text])
        .collect();
    hosts
        .denied()
        .iter()
        .any(|pattern| texts.contains(&pattern.to_string()))
}

fn connect_failure(error: &io::Error) -> RejectReason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => RejectReason::Refused,
        _ => RejectReason::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_explains_more_than_a_missing_network() {
        let [refused, unreachable] =
            [RejectReason::Refused, RejectReason::Unreachable].map(CloseReason::from);
        let timeout = CloseReason::from(ExceededLimit::ConnectTimeout);
        assert!(explains_more(refused, unreachable) && explains_more(refused, timeout));
        assert!(explains_more(timeout, unreachable));
        assert!(!explains_more(unreachable, refused) && !explains_more(refused, refused));
    }
}
