//! The network of a run.

use skills_egress::ProxyEndpoint;
use skills_policy::{Grants, NetworkGrant};

use crate::isolation::IsolationLevel;
use crate::path_rule::PlanContext;

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

/// Returns true if a run with these grants has a network namespace. `is_supported` says whether this
/// host has them.
pub(crate) fn has_own_network(
    grants: &Grants,
    isolation: IsolationLevel,
    is_supported: bool,
) -> bool {
    *grants.network() != NetworkGrant::None
        || isolation == IsolationLevel::Namespaces && is_supported
}

impl RunNetwork {
    /// Selects the network for the grants. `endpoint` is that of the proxy, if hosts are granted.
    pub(crate) fn new(endpoint: Option<&ProxyEndpoint>, context: &PlanContext) -> Self {
        let has_namespace = context.isolation == IsolationLevel::Namespaces && context.own_network;
        match endpoint {
            Some(endpoint) => Self::Proxy(endpoint.port),
            None if has_namespace => Self::Loopback,
            None => Self::None,
        }
    }

    /// Returns true if the run has a network namespace.
    pub(crate) fn is_separate(self) -> bool {
        self != Self::None
    }

    pub(crate) fn proxy_port(self) -> Option<u16> {
        match self {
            Self::Proxy(port) => Some(port),
            Self::None | Self::Loopback => None,
        }
    }
}

/// Returns where the run reaches its proxy.
pub(crate) fn proxy_endpoint(grants: &Grants) -> Option<ProxyEndpoint> {
    match grants.network() {
        NetworkGrant::Hosts(hosts) => Some(ProxyEndpoint::new(hosts)),
        NetworkGrant::None => None,
    }
}
