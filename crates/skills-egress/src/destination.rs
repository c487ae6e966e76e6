//! Resolves a host and connects to it.

use std::net::{IpAddr, SocketAddr};

use skills_policy::HostFilter;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::embedded_ipv4;
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};
use crate::host::Host;
use crate::proxy::Proxy;
use crate::{is_public, request};

/// The port of TLS.
pub(crate) const TLS_PORT: u16 = 443;
/// How many addresses of a host are tried.
const MAX_ADDRESSES: usize = 8;

/// An allowed host with its checked addresses. The proxy connects to these addresses and no others,
/// so a later DNS answer cannot change where a connection goes. Created by [`Proxy::authorize`].
#[derive(Debug)]
pub struct Destination {
    pub(crate) host: Host,
    pub(crate) port: u16,
    addresses: Vec<SocketAddr>,
}

impl Destination {
    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }
}

impl Proxy {
    /// Checks the allowlist and resolves the name once, for callers that speak to hosts themselves
    /// instead of relaying bytes. Does not write to the log.
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
        // Other ports lead to services that are neither TLS nor HTTP, which the proxy cannot check.
        if !matches!(port, TLS_PORT | request::HTTP_PORT) {
            return Err(RejectReason::PortNotAllowed { port }.into());
        }
        let found = match host.address() {
            // An address is not resolved, but passes the same checks below.
            Some(address) => vec![SocketAddr::new(address, port)],
            None => match timeout(
                self.limits.connect_timeout,
                self.connector.resolve(host.as_str(), port),
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
            match timeout(share, self.connector.connect(*address)).await {
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
