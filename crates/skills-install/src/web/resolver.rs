//! Resolves names to addresses that may be connected.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use skills_egress::{is_private_network, is_public};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::options::Lookup;
use super::private_host::PrivateHost;

/// A resolver whose addresses are public, or of this machine if that was allowed.
///
/// The library connects exactly the returned addresses, so a name that is resolved to something
/// else a moment later changes nothing.
#[derive(Clone)]
pub(super) struct CheckedResolver {
    pub(super) lookup: Option<Lookup>,
    pub(super) allowed: AllowedAddresses,
    /// The host and port of the proxy, which the caller chose.
    pub(super) proxy: Option<(String, u16)>,
}

/// Which addresses of a host are connected.
#[derive(Debug, Clone)]
pub(super) struct AllowedAddresses {
    pub(super) loopback: bool,
    /// The hosts that may have addresses of a private network.
    pub(super) private: Vec<PrivateHost>,
}

impl AllowedAddresses {
    /// Returns true if an address of a host may be connected.
    pub(super) fn contains(&self, address: IpAddr, host: &str, port: u16) -> bool {
        let is_listed = || self.private.iter().any(|known| known.contains(host, port));
        is_public(address)
            || self.loopback && address.is_loopback()
            || is_private_network(address) && is_listed()
    }
}

/// A host has only addresses that are not connected.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` is at {address}, which is not a public address")]
pub(super) struct NotPublic {
    pub(super) host: String,
    pub(super) address: IpAddr,
}

impl CheckedResolver {
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
            None => {
                // It panics if the system does not start its thread.
                skills_threads::check(1).map_err(io::Error::from)?;
                let found = DefaultResolver::default().resolve(uri, config, timeout)?;
                found.to_vec()
            }
        };
        let mut allowed = self.empty();
        let mut refused = None;
        for address in found {
            if !self.allowed.contains(address.ip(), host, port) && !self.is_proxy(host, port) {
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
            .field("allowed", &self.allowed)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn private_addresses_are_those_of_listed_hosts_only() {
        let resolves = |host: &str, address: &str, listed: &[&str]| {
            let address: IpAddr = address.parse().unwrap();
            let private = listed.iter().map(|text| text.parse().unwrap()).collect();
            let resolver = CheckedResolver {
                lookup: Some(Arc::new(move |_, port| {
                    Ok(vec![SocketAddr::new(address, port)])
                })),
                allowed: AllowedAddresses {
                    loopback: false,
                    private,
                },
                proxy: None,
            };
            let uri: Uri = format!("https://{host}/a.tgz").parse().unwrap();
            let timeout = NextTimeout {
                after: Duration::from_secs(1).into(),
                reason: ureq::Timeout::Global,
                per_read: None,
                per_write: None,
            };
            resolver.resolve(&uri, &Config::default(), timeout).is_ok()
        };
        let listed = ["git.acme.example", "other.example:8443"];
        assert!(resolves("git.acme.example", "10.0.0.7", &listed));
        assert!(resolves("git.acme.example:8443", "fd00::7", &listed));
        assert!(resolves("other.example:8443", "192.168.1.1", &listed));
        assert!(!resolves("other.example", "192.168.1.1", &listed));
        assert!(!resolves("third.example", "10.0.0.7", &listed));
        assert!(!resolves("git.acme.example", "10.0.0.7", &[]));
        for never in [
            "127.0.0.1",
            "169.254.169.254",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
        ] {
            assert!(!resolves("git.acme.example", never, &listed), "{never}");
        }
    }
}
