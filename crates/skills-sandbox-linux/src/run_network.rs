//! The network of a run.

use skills_policy::{Grants, NetworkGrant};

use crate::isolation::IsolationLevel;
use crate::path_rule::PlanContext;

/// The port of the proxy in the network namespace of a run, unless a service with it is granted.
pub(crate) const PROXY_PORT: u16 = 3_128;
/// The most services of the host's loopback device that are also reached without the proxy. The
/// child sends a socket for each before the host process receives them, with three other messages,
/// and the kernel queues ten.
const MAX_SERVICES: usize = 6;

/// What a run can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunNetwork {
    /// Nothing. It has no network namespace, so the filter denies all Internet sockets.
    None,
    /// Its own processes, in a network namespace with nothing but a loopback device.
    Loopback,
    /// Its own processes, and granted hosts through a proxy on this port.
    Proxy(u16),
}

impl RunNetwork {
    pub(crate) fn new(grants: &Grants, context: &PlanContext) -> Self {
        let has_namespace = context.isolation == IsolationLevel::Namespaces && context.own_network;
        match grants.network() {
            NetworkGrant::Hosts(_) => Self::Proxy(proxy_port(&loopback_services(grants))),
            NetworkGrant::None if has_namespace => Self::Loopback,
            NetworkGrant::None => Self::None,
        }
    }

    /// Returns true if the run has a network namespace.
    pub(crate) fn is_separate(self) -> bool {
        self != Self::None
    }

    /// Returns the port of the proxy, if there is one.
    pub(crate) fn proxy_port(self) -> Option<u16> {
        match self {
            Self::Proxy(port) => Some(port),
            Self::None | Self::Loopback => None,
        }
    }
}

/// Returns the ports of the host's loopback device on which the run reaches a granted service
/// directly, by a listener on the same port of its own loopback device.
pub(crate) fn loopback_services(grants: &Grants) -> Vec<u16> {
    match grants.network() {
        NetworkGrant::Hosts(hosts) => {
            let services = skills_egress::loopback_services(hosts).into_iter();
            services.take(MAX_SERVICES).collect()
        }
        NetworkGrant::None => Vec::new(),
    }
}

/// Returns the first port for the proxy that is not that of a service.
fn proxy_port(services: &[u16]) -> u16 {
    (PROXY_PORT..u16::MAX)
        .find(|port| !services.contains(port))
        .unwrap_or(PROXY_PORT)
}
