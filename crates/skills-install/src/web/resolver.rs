//! Resolves names to addresses that may be connected.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use skills_address::is_public;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::Lookup;

/// A resolver whose addresses are public, or of this machine if that was allowed.
///
/// The library connects exactly the returned addresses, so a name that is resolved to something
/// else a moment later changes nothing.
pub(super) struct CheckedResolver {
    pub(super) lookup: Option<Lookup>,
    pub(super) allows_loopback: bool,
    /// The host and port of the proxy, which the caller chose.
    pub(super) proxy: Option<(String, u16)>,
}

/// A host has only addresses that are not connected.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` is at {address}, which is not a public address")]
pub(super) struct NotPublic {
    pub(super) host: String,
    pub(super) address: IpAddr,
}

impl CheckedResolver {
    /// Returns true if an address may be connected.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        is_public(address) || self.allows_loopback && address.is_loopback()
    }

    fn is_proxy(&self, host: &str, port: u16) -> bool {
        let proxy = self.proxy.as_ref();
        proxy.is_some_and(|(name, number)| name == host && *number == port)
    }
}

impl Resolver for CheckedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?;
        let port = uri.port_u16().unwrap_or_else(|| default_port(uri));
        let found: Vec<SocketAddr> = match &self.lookup {
            Some(lookup) => lookup(host.trim_matches(['[', ']']), port)?,
            None => DefaultResolver::default()
                .resolve(uri, config, timeout)?
                .to_vec(),
        };
        let mut allowed = self.empty();
        let mut refused = None;
        for address in found {
            if !self.allows(address.ip()) && !self.is_proxy(host, port) {
                refused = Some(address.ip());
            } else if allowed.len() < MAX_ADDRESSES {
                allowed.push(address);
            }
        }
        match refused {
            _ if !allowed.is_empty() => Ok(allowed),
            Some(address) => Err(Error::Io(io::Error::other(NotPublic {
                host: host.to_owned(),
                address,
            }))),
            None => Err(Error::HostNotFound),
        }
    }
}

/// As many as the type of the library holds.
const MAX_ADDRESSES: usize = 16;

fn default_port(uri: &Uri) -> u16 {
    if uri.scheme_str() == Some("http") {
        80
    } else {
        443
    }
}

impl fmt::Debug for CheckedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedResolver")
            .field("allows_loopback", &self.allows_loopback)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}
