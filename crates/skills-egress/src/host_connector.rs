//! Connects to granted hosts.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use skills_policy::HostFilter;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::embedded_ipv4;
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};
use crate::connector::Connector;
use crate::host::Host;
use crate::is_public;
use crate::limits::EgressLimits;
use crate::proxy_log::ProxyLog;

/// The port of TLS.
pub const TLS_PORT: u16 = 443;
/// The port of HTTP, the only one that is allowed without TLS.
pub const HTTP_PORT: u16 = 80;
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

/// An allowed host with its checked addresses. Only these addresses are connected to, so a later
/// DNS answer cannot change where a connection goes. Created by [`HostConnector::authorize`].
#[derive(Debug)]
pub struct Destination {
    pub(crate) host: Host,
    port: u16,
    addresses: Vec<SocketAddr>,
}

impl Destination {
    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns true if the connection must carry TLS; otherwise HTTP.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.port == TLS_PORT
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

    /// Checks that the host is granted, resolves the name once, and checks its addresses. Does not
    /// write to the log.
    ///
    /// # Errors
    ///
    /// Returns why the host is not allowed (list, port, addresses), or that resolving took too
    /// long.
    pub async fn authorize(&self, host: Host, port: u16) -> Result<Destination, CloseReason> {
        // The list is checked before the name is resolved: a lookup already sends the name to a
        // server.
        if !host.is_allowed(&self.hosts) {
            return Err(RejectReason::NotListed.into());
        }
        // Other ports lead to services that are neither TLS nor HTTP, which cannot be checked.
        if !matches!(port, TLS_PORT | HTTP_PORT) {
            return Err(RejectReason::PortNotAllowed { port }.into());
        }
        let found = match host.address() {
            // An address is not resolved, but passes the same checks below.
            Some(address) => vec![SocketAddr::new(address, port)],
            None => match timeout(
                self.limits.connect_timeout,
                self.network.resolve(host.as_str(), port),
            )
            .await
            {
                Ok(found) => found.map_err(|_| RejectReason::DnsFailure)?,
                Err(_) => return Err(ExceededLimit::ConnectTimeout.into()),
            },
        };
        if found.is_empty() {
            return Err(RejectReason::DnsFailure.into());
        }
        let public = found
            .into_iter()
            .map(|found| found.ip())
            // Private addresses are dropped, not rejected as a whole: some names have both kinds.
            .filter(|ip| is_public(*ip) && !is_denied(*ip, &self.hosts));
        let addresses: Vec<_> = public
            .map(|ip| SocketAddr::new(ip, port))
            // The owner of the name controls how many addresses it has.
            .take(MAX_ADDRESSES)
            .collect();
        if addresses.is_empty() {
            Err(RejectReason::PrivateAddress.into())
        } else {
            Ok(Destination {
                host,
                port,
                addresses,
            })
        }
    }

    /// Connects to the first address that responds, and logs the connection. The timeout is divided
    /// among the addresses, so that an unresponsive one does not use all of it.
    ///
    /// # Errors
    ///
    /// Returns [`RejectReason::Unreachable`] if no address responded, or a limit if the last one
    /// took too long.
    pub async fn connect(&self, destination: &Destination) -> Result<TcpStream, CloseReason> {
        let share = self.limits.connect_timeout
            / u32::try_from(destination.addresses.len())
                .unwrap_or(u32::MAX)
                .max(1);
        let mut stop = CloseReason::from(RejectReason::Unreachable);
        for address in &destination.addresses {
            match timeout(share, self.network.connect(*address)).await {
                // Logged only now: an allowed host that does not respond was not reached.
                Ok(Ok(stream)) => {
                    self.log.record_reached(destination.host.as_str());
                    return Ok(stream);
                }
                Ok(Err(_)) => {}
                Err(_) => stop = ExceededLimit::ConnectTimeout.into(),
            }
        }
        Err(stop)
    }
}

/// Returns true if the list denies an address literal, or the IPv4 address that it embeds, whatever
/// name resolved to it.
fn is_denied(ip: IpAddr, hosts: &HostFilter) -> bool {
    // An embedded address reaches the same host by NAT64.
    let inner = embedded_ipv4(ip).map(IpAddr::from);
    let texts: Vec<String> = [ip]
        .into_iter()
        .chain(inner)
        .map(|ip| ip.to_string())
        .collect();
    hosts
        .denied()
        .iter()
        .any(|pattern| texts.contains(&pattern.to_string()))
}
