//! The proxy.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use skills_policy::HostFilter;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::close_reason::ExceededLimit;
use crate::connection::Connection;
use crate::connector::Connector;
use crate::limits::ProxyLimits;
use crate::proxy_log::ProxyLog;

/// How long to wait if a connection cannot be accepted, for example without free descriptors,
/// before trying again.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Connects one run to the hosts of one allowlist. Clones share the log and the byte counts.
///
/// [`serve`](Self::serve) accepts HTTP, `CONNECT` and SOCKS 5 on a listener;
/// [`authorize`](Self::authorize) and [`connect`](Self::connect) are for backends that send
/// requests themselves.
#[derive(Clone)]
pub struct Proxy {
    pub(crate) hosts: Arc<HostFilter>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) limits: ProxyLimits,
    pub(crate) log: ProxyLog,
}

impl Proxy {
    /// Creates a proxy with the default limits.
    #[must_use]
    pub fn new(hosts: HostFilter, outside: Arc<dyn Connector>) -> Self {
        Self {
            hosts: Arc::new(hosts),
            connector: outside,
            limits: ProxyLimits::default(),
            log: ProxyLog::default(),
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: ProxyLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the log of this proxy.
    #[must_use]
    pub fn log(&self) -> ProxyLog {
        self.log.clone()
    }

    /// Serves all connections to `listener` and never returns; dropping the future closes every
    /// connection. It must be polled within a Tokio runtime that has I/O and time enabled.
    ///
    /// Any client of the listener can use the allowlist, so only the sandboxed program may be able
    /// to connect to it.
    pub async fn serve(&self, listener: TcpListener) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                // Finished connections release their permits before new ones are counted.
                biased;
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    // Closed instead of queued: a queue would use descriptors of the host.
                    Ok(_) if connections.len() >= self.limits.max_connections => self.log.record_limit(ExceededLimit::Connections),
                    Ok((stream, _)) => {
                        connections.spawn(Connection::serve(stream, self.clone()));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
                },
            }
        }
    }
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
