//! Where a run with a loopback device of its own reaches its proxy.

use skills_policy::HostFilter;

use crate::host_connector::loopback_services;
use crate::proxy::{names_loopback, proxy_env};

/// The port of the proxy on the loopback device of a run, unless a service with it is granted.
pub const PROXY_PORT: u16 = 3_128;
/// The most services of the host's loopback device that are also reached without the proxy.
const MAX_SERVICES: usize = 6;
/// Names and addresses that clients contact without the proxy, to reach servers of the run itself.
const OWN_HOSTS: &str = "localhost,127.0.0.1,::1";

/// The ports of a run's own loopback device by which it reaches granted hosts: one for the proxy, and
/// at most six for granted services of the host's loopback device, for programs that ignore proxies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyEndpoint {
    /// The port of the proxy.
    pub port: u16,
    /// The ports of services of the host's loopback device, which have the same numbers there.
    pub services: Vec<u16>,
    names_loopback: bool,
}

impl ProxyEndpoint {
    /// Selects the ports for the granted hosts.
    #[must_use]
    pub fn new(hosts: &HostFilter) -> Self {
        let services: Vec<u16> = loopback_services(hosts)
            .into_iter()
            .take(MAX_SERVICES)
            .collect();
        let port = (PROXY_PORT..u16::MAX)
            .find(|port| !services.contains(port))
            .unwrap_or(PROXY_PORT);
        Self {
            port,
            services,
            names_loopback: names_loopback(hosts),
        }
    }

    /// Returns the variables that name the proxy. Clients reach servers of the run directly, unless a
    /// service of the host's loopback device is granted.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = proxy_env(self.port);
        if !self.names_loopback {
            let exceptions = variables
                .iter_mut()
                .filter(|(name, _)| name.eq_ignore_ascii_case("NO_PROXY"));
            for (_, value) in exceptions {
                OWN_HOSTS.clone_into(value);
            }
        }
        variables
    }
}
