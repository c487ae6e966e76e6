//! Connects to granted hosts.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use skills_policy::{HostFilter, HostPattern};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::{embedded_ipv4, is_private_network, is_public};
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};
use crate::connector::Connector;
use crate::host::{HTTP_PORT, Host, LOCALHOST, TLS_PORT, split_port};
use crate::limits::EgressLimits;
use crate::proxy_log::ProxyLog;
use crate::upstream::UpstreamProxy;
use crate::upstream_tunnel;

/// The addresses of `localhost`.
const LOOPBACKS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];
/// How many addresses of a host are tried.
const MAX_ADDRESSES: usize = 8;
/// How long this machine may resolve a name that a proxy of the user resolves too.
const LOOKUP_BEHIND_PROXY: Duration = Duration::from_secs(1);

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
    route: Route,
}

/// How a destination is reached.
#[derive(Debug)]
enum Route {
    Addresses(Vec<SocketAddr>, Machine),
    /// A proxy of the user, which resolves the name again.
    Proxy(Arc<UpstreamProxy>),
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

    /// Returns the proxy of the user by which the host is reached, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&UpstreamProxy> {
        match &self.route {
            Route::Proxy(proxy) => Some(proxy),
            Route::Addresses(..) => None,
        }
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
    /// A host that is reached through a [proxy of the user](Connector::upstream) is resolved there.
    /// So a rule must name it and not only match it by a pattern, of which others choose the names;
    /// no rule may deny an address; and if this machine can resolve it, within a second, one of its
    /// addresses must be allowed as above.
    ///
    /// # Errors
    ///
    /// Returns why the host is not allowed (list, port, addresses), or that resolving took too
    /// long.
    pub async fn authorize(&self, host: Host, port: u16) -> Result<Destination, CloseReason> {
        // The list is checked before the name is resolved: a lookup already sends the name to a
        // server.
        let service = self.find_service(&host, port)?;
        let proxies = self.network.upstream();
        if let Some(proxy) = proxies.and_then(|proxies| proxies.find(&host, port)) {
            self.check_behind_proxy(&host, port, service.as_ref())
                .await?;
            let route = Route::Proxy(Arc::clone(proxy));
            return Ok(Destination { host, port, route });
        }
        let found = self.find_addresses(&host, port, service.as_ref()).await?;
        let addresses = self.allowed_addresses(&host, port, service.as_ref(), found)?;
        let machine = service.as_ref().map_or(Machine::Other, Service::machine);
        let route = Route::Addresses(addresses, machine);
        Ok(Destination { host, port, route })
    }

    /// Checks what can be known of a host that a proxy of the user resolves.
    async fn check_behind_proxy(
        &self,
        host: &Host,
        port: u16,
        service: Option<&Service>,
    ) -> Result<(), CloseReason> {
        if host.address().is_none() {
            if service.is_none() && !self.is_named(host) {
                return Err(RejectReason::UnnamedBehindProxy.into());
            }
            if denies_addresses(&self.hosts) {
                return Err(RejectReason::AddressRuleBehindProxy.into());
            }
        }
        // Many machines behind a proxy resolve no names of the Internet, and some wait long for
        // that.
        let found = self.find_addresses(host, port, service);
        match timeout(LOOKUP_BEHIND_PROXY, found).await {
            Ok(Ok(found)) if !found.is_empty() => {
                self.allowed_addresses(host, port, service, found).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Returns the addresses that may be connected to.
    fn allowed_addresses(
        &self,
        host: &Host,
        port: u16,
        service: Option<&Service>,
        found: Vec<IpAddr>,
    ) -> Result<Vec<SocketAddr>, CloseReason> {
        if found.is_empty() {
            return Err(RejectReason::DnsFailure.into());
        }
        let is_grantable =
            service.is_none() && found.iter().any(|ip| self.is_grantable(host, *ip, port));
        // Private addresses are dropped, not rejected as a whole: some names have both kinds.
        let allowed = found
            .into_iter()
            .filter(|ip| self.allows_address(*ip, port, service));
        let addresses: Vec<_> = allowed
            .map(|ip| SocketAddr::new(ip, port))
            // The owner of the name controls how many addresses it has.
            .take(MAX_ADDRESSES)
            .collect();
        if !addresses.is_empty() {
            return Ok(addresses);
        }
        Err(if is_grantable {
            RejectReason::PrivateNetwork { port }.into()
        } else {
            RejectReason::PrivateAddress.into()
        })
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
        self.is_named(host)
            && !host.is_private()
            && self.allows_address(ip, port, Some(&Service::Name))
    }

    /// Returns true if the list names the host without a port, and not only by a pattern.
    fn is_named(&self, host: &Host) -> bool {
        HostPattern::from_str(host.as_str())
            .is_ok_and(|named| self.hosts.allowed().contains(&named))
    }

    fn allows_address(&self, ip: IpAddr, port: u16, service: Option<&Service>) -> bool {
        let is_allowed = match service {
            Some(service) => service.allows(ip),
            None => is_public(ip),
        };
        is_allowed && !is_denied(ip, port, &self.hosts)
    }

    /// Connects to the first address that responds, or opens a tunnel through a proxy of the user,
    /// and logs the connection. The timeout is divided among the addresses, so that an unresponsive
    /// one does not use all of it.
    ///
    /// # Errors
    ///
    /// Returns [`RejectReason::Refused`] if an address refused the connection, else a limit if one
    /// took too long, else [`RejectReason::Unreachable`]; or what a proxy of the user has answered.
    pub async fn connect(&self, destination: &Destination) -> Result<TcpStream, CloseReason> {
        let Destination { host, port, route } = destination;
        match route {
            Route::Addresses(addresses, machine) => {
                self.connect_to_addresses(destination, addresses, *machine)
                    .await
            }
            Route::Proxy(proxy) => {
                let tunnel = upstream_tunnel::open(proxy, host, *port, self.limits.max_head_bytes);
                self.reach_by_proxy(destination, tunnel).await
            }
        }
    }

    /// Connects like [`connect`](Self::connect), for one HTTP request without TLS. If the
    /// destination has a [proxy](Destination::proxy), the connection leads to it, and the request
    /// must have an absolute target.
    ///
    /// # Errors
    ///
    /// Same as [`connect`](Self::connect).
    pub async fn connect_for_request(
        &self,
        destination: &Destination,
    ) -> Result<TcpStream, CloseReason> {
        match destination.proxy() {
            Some(proxy) => {
                self.reach_by_proxy(destination, upstream_tunnel::connect(proxy))
                    .await
            }
            None => self.connect(destination).await,
        }
    }

    async fn reach_by_proxy(
        &self,
        destination: &Destination,
        connecting: impl Future<Output = Result<TcpStream, CloseReason>>,
    ) -> Result<TcpStream, CloseReason> {
        let stream = timeout(self.limits.connect_timeout, connecting)
            .await
            .unwrap_or(Err(ExceededLimit::ConnectTimeout.into()))?;
        self.record_reached(destination);
        Ok(stream)
    }

    fn record_reached(&self, destination: &Destination) {
        self.log
            .record_reached(&destination.host.rule_text(destination.port));
    }

    async fn connect_to_addresses(
        &self,
        destination: &Destination,
        addresses: &[SocketAddr],
        machine: Machine,
    ) -> Result<TcpStream, CloseReason> {
        let share =
            self.limits.connect_timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut stop = CloseReason::from(RejectReason::Unreachable);
        for address in addresses {
            let connecting = match machine {
                Machine::Other => self.network.connect(*address),
                Machine::Any => self.network.connect_granted(*address),
            };
            let failure = match timeout(share, connecting).await {
                // Logged only now: an allowed host that does not respond was not reached.
                Ok(Ok(stream)) => {
                    self.record_reached(destination);
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

/// Returns true if the list denies an address literal, with a port or without.
fn denies_addresses(hosts: &HostFilter) -> bool {
    hosts.denied().iter().any(|pattern| {
        let text = pattern.to_string();
        let host = match pattern.port() {
            Some(_) => split_port(text.as_bytes()).0,
            None => text.as_bytes(),
        };
        Host::parse(host).is_some_and(|host| host.address().is_some())
    })
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
