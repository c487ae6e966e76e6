//! The proxy.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use skills_policy::HostFilter;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::close_reason::ExceededLimit;
use crate::connection::Connection;
use crate::host::Authority;
use crate::host_connector::HostConnector;
use crate::proxy_log::ProxyLog;

/// How long to wait if a connection cannot be accepted, for example without free descriptors,
/// before trying again.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves the connections of one program with the [`HostConnector`] of its run: HTTP, `CONNECT` and
/// SOCKS 5 on one listener, and connections to granted services of the loopback device on others.
pub struct Proxy {
    connector: HostConnector,
    services: Vec<Service>,
}

/// A service of the host's loopback device.
struct Service {
    listener: TcpListener,
    port: u16,
}

impl Proxy {
    /// Creates a proxy.
    #[must_use]
    pub fn new(connector: HostConnector) -> Self {
        Self {
            connector,
            services: Vec::new(),
        }
    }

    /// Also forwards each connection to `listener` to the same port of the host's loopback device,
    /// for programs that do not use a proxy. Its rules, limits and log are those of other
    /// connections, but any protocol is relayed.
    ///
    /// # Errors
    ///
    /// Fails if the system does not report the port of the listener.
    pub fn loopback_service(mut self, listener: TcpListener) -> io::Result<Self> {
        let port = listener.local_addr()?.port();
        self.services.push(Service { listener, port });
        Ok(self)
    }

    /// Returns the log of its connector.
    #[must_use]
    pub fn log(&self) -> ProxyLog {
        self.connector.log()
    }

    /// Serves all connections to `listener` and never returns; dropping the future closes every
    /// connection. It must be polled within a Tokio runtime that has I/O and time enabled.
    ///
    /// Any client of the listener can reach the granted hosts, so only the sandboxed program may be
    /// able to connect to it.
    pub async fn serve(&self, listener: TcpListener) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                // Finished connections release their permits before new ones are counted.
                biased;
                Some(_) = connections.join_next() => {}
                accepted = poll_fn(|context| self.poll_accept(&listener, context)) => match accepted {
                    // Closed instead of queued: a queue would use descriptors of the host.
                    Ok(_) if connections.len() >= self.connector.limits.max_connections => {
                        self.connector.log.record_limit(ExceededLimit::Connections);
                    }
                    Ok((stream, None)) => {
                        connections.spawn(Connection::serve(stream, self.connector.clone()));
                    }
                    Ok((stream, Some(port))) => {
                        connections.spawn(Connection::serve_loopback(stream, port, self.connector.clone()));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
                },
            }
        }
    }

    /// Accepts a connection to the proxy, or to a service with its port.
    fn poll_accept(
        &self,
        listener: &TcpListener,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, Option<u16>)>> {
        if let Poll::Ready(accepted) = listener.poll_accept(context) {
            return Poll::Ready(accepted.map(|(stream, _)| (stream, None)));
        }
        for Service { listener, port } in &self.services {
            if let Poll::Ready(accepted) = listener.poll_accept(context) {
                return Poll::Ready(accepted.map(|(stream, _)| (stream, Some(*port))));
            }
        }
        Poll::Pending
    }
}

/// Returns true if a host is granted that can be the loopback device of this machine.
pub(crate) fn names_loopback(hosts: &HostFilter) -> bool {
    hosts.allowed().iter().any(|pattern| {
        pattern.port().is_some()
            && Authority::parse(pattern.to_string().as_bytes(), None)
                .is_some_and(|authority| authority.host.is_loopback())
    })
}

/// Returns the environment variables with which common clients find a proxy at this port of
/// 127.0.0.1.
///
/// All of them name it as an HTTP proxy, including `ALL_PROXY`: every allowed port works that way,
/// and clients without SOCKS support (`httpx` without an extra package) fail at startup if a
/// variable names a SOCKS proxy.
#[must_use]
pub fn proxy_env(port: u16) -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let mut variables = Vec::new();
    for (name, value) in [
        ("HTTP_PROXY", &proxy),
        ("HTTPS_PROXY", &proxy),
        ("ALL_PROXY", &proxy),
        // Empty, so that no client treats a host as reachable without the proxy.
        ("NO_PROXY", &String::new()),
    ] {
        variables.push((name.to_owned(), value.clone()));
        // Clients differ in the case that they read.
        variables.push((name.to_lowercase(), value.clone()));
    }
    // Node ignores the other variables without it.
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    variables
}
