//! Observes connections of a run that has a network of its own.
//!
//! The kernel decides about each connection: outside of the run's own loopback device nothing can be
//! reached. A connection to that device is a refusal only if no process of the run listens there:
//! the program then expects a service of the host.

#![expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the sockets of a process in files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use skills_egress::Host;
use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation};
use skills_threads::run_blocking_or_here;

use super::Tried;
use crate::name_server::NAME_SERVER_PORT;
use crate::run_network::RunNetwork;

/// The most bytes of a table of sockets that are read.
const MAX_TABLE_BYTES: u64 = 1 << 20;
/// The most ports of the own network that are remembered.
const MAX_PORTS: usize = 64;
/// The state of a socket that listens, in the tables of the kernel.
const LISTENING: &str = "0A";

/// Classifies connections.
pub(super) struct NetworkObserver {
    /// The ports on which the host process listens.
    served_ports: Vec<u16>,
}

/// Where an Internet address leads.
pub(super) enum Destination {
    /// To a host, which a rule could allow.
    Host(RefusedOperation),
    /// To the proxy, to a service that it forwards to or to the name server.
    Served,
    /// To a port of the loopback device of the run.
    Own(u16),
}

/// A connection to the loopback device of a run.
pub(super) struct OwnConnection {
    pub(super) port: u16,
    pub(super) is_listening: bool,
}

/// The connections to the loopback device of a run.
#[derive(Default)]
pub(super) struct OwnConnections {
    /// The number of connections to each port on which no process listened at that time.
    unanswered: BTreeMap<u16, u32>,
    listening: BTreeSet<u16>,
}

impl NetworkObserver {
    pub(super) fn new(network: RunNetwork, services: &[u16]) -> Self {
        let proxy_port = network.proxy_port().into_iter();
        let served_ports = proxy_port.chain([NAME_SERVER_PORT]);
        Self {
            served_ports: served_ports.chain(services.iter().copied()).collect(),
        }
    }

    /// Returns where an address leads.
    pub(super) fn destination(&self, address: SocketAddr) -> Destination {
        let port = address.port();
        let ip = address.ip().to_canonical();
        if !ip.is_loopback() && !ip.is_unspecified() {
            let host = Some(Host::from(ip).rule_text(port));
            Destination::Host(RefusedOperation::Connect { host })
        } else if self.served_ports.contains(&port) {
            Destination::Served
        } else {
            Destination::Own(port)
        }
    }

    /// Returns what a connection tries that the kernel continues. `None` for the proxy, for
    /// services that it forwards to and for name lookups.
    pub(super) async fn tried(&self, pid: u32, address: SocketAddr) -> Option<Tried> {
        let port = match self.destination(address) {
            Destination::Host(operation) => return Some(Tried::Refused(operation)),
            Destination::Served => return None,
            Destination::Own(port) => port,
        };
        // The tables are as long as the run has sockets. If the task fails, nothing is known.
        let is_listening = run_blocking_or_here(move || is_listening(pid, port))
            .await
            .ok()?;
        Some(Tried::OwnNetwork(OwnConnection { port, is_listening }))
    }
}

impl OwnConnections {
    pub(super) fn add(&mut self, connection: OwnConnection) {
        if connection.is_listening {
            if self.listening.len() < MAX_PORTS {
                self.listening.insert(connection.port);
            }
        } else if self.unanswered.len() < MAX_PORTS
            || self.unanswered.contains_key(&connection.port)
        {
            let count = self.unanswered.entry(connection.port).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Adds the ports on which no process of the run ever listened. A program may try to connect
    /// until the server that it started is ready.
    pub(super) fn add_unanswered(self, refusals: &mut Refusals) {
        for (port, count) in self.unanswered {
            if !self.listening.contains(&port) {
                let host = Host::from(IpAddr::from(Ipv4Addr::LOCALHOST)).rule_text(port);
                let operation = RefusedOperation::Connect { host: Some(host) };
                refusals.add(Refusal::new(operation, Evidence::Kernel).count(count));
            }
        }
    }
}

/// Parses an Internet address of the kernel. `None` for other families.
pub(super) fn parse_address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip: IpAddr = match i32::from(family) {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns true if a process listens on a port in the network of a process. Blocks.
fn is_listening(pid: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let mut text = String::new();
        File::open(format!("/proc/{pid}/net/{table}"))
            .and_then(|file| file.take(MAX_TABLE_BYTES).read_to_string(&mut text))
            .is_ok_and(|_| has_listener(&text, port))
    })
}

fn has_listener(table: &str, port: u16) -> bool {
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = fields.next().and_then(|local| local.rsplit(':').next());
        let listens = local.and_then(|local| u16::from_str_radix(local, 16).ok()) == Some(port);
        listens && fields.nth(1) == Some(LISTENING)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_reads_them() {
        let mut bytes = [0; 28];
        bytes[..2].copy_from_slice(&2u16.to_ne_bytes());
        bytes[2..8].copy_from_slice(&[0x1f, 0x90, 127, 0, 0, 1]);
        assert_eq!(parse_address(&bytes), "127.0.0.1:8080".parse().ok());
        bytes[..2].copy_from_slice(&10u16.to_ne_bytes());
        bytes[4..24].fill(0);
        bytes[23] = 1;
        assert_eq!(parse_address(&bytes), "[::1]:8080".parse().ok());
        assert_eq!(parse_address(&bytes[..8]), None);
    }

    #[test]
    fn listening_ports_are_found() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:1FBB 00000000:0000 0A 0\n   1: 0100007F:1FBC 00000000:0000 01 0\n";
        assert!(has_listener(table, 8_123));
        assert!(!has_listener(table, 8_124) && !has_listener(table, 80));
    }

    #[test]
    fn a_port_is_refused_only_if_no_process_ever_listened() {
        let mut connections = OwnConnections::default();
        for (port, is_listening) in [(1, false), (1, false), (2, false), (2, true)] {
            connections.add(OwnConnection { port, is_listening });
        }
        let mut refusals = Refusals::default();
        connections.add_unanswered(&mut refusals);
        let [refusal] = refusals.list() else { panic!() };
        assert_eq!(refusal.operation.object(), Some("127.0.0.1:1"));
        assert_eq!(refusal.count, 2);
    }
}
