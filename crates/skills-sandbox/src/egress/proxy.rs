//! The proxy.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use skills_policy::HostList;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::close_reason::ExceededLimit;
use super::connection::Connection;
use super::connector::Connector;
use super::limits::ProxyLimits;
use super::proxy_log::ProxyLog;

/// How long to wait when a connection cannot be accepted, for want of descriptors perhaps, instead
/// of asking again at once.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Reaches the hosts of one list for one run. Clones share the record and the number of bytes.
#[derive(Clone)]
pub struct Proxy {
    pub(super) hosts: Arc<HostList>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) limits: ProxyLimits,
    pub(super) log: ProxyLog,
}

impl Proxy {
    /// Makes a proxy with the default limits.
    #[must_use]
    pub fn new(hosts: HostList, outside: Arc<dyn Connector>) -> Self {
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

    /// Returns the record of what it does.
    #[must_use]
    pub fn log(&self) -> ProxyLog {
        self.log.clone()
    }

    /// Serves whoever connects to `listener`, for ever; dropping the future closes every
    /// connection. It must be polled within a Tokio runtime that has I/O and time.
    ///
    /// Who can connect can use the list: the listener must be where only the program is.
    pub async fn serve(&self, listener: TcpListener) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                // Who has gone makes room before it is counted who is there.
                biased;
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
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

/// Returns the environment variables by which common clients find a proxy on this port of
/// 127.0.0.1.
///
/// All point to it as one for HTTP, `ALL_PROXY` too: every port that is reached is reached that
/// way, and clients that cannot speak SOCKS (`httpx` without an extra package) fail from the start
/// when a variable names it.
#[must_use]
pub fn proxy_env(port: u16) -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let mut variables = Vec::new();
    for (name, value) in [
        ("HTTP_PROXY", &proxy),
        ("HTTPS_PROXY", &proxy),
        ("ALL_PROXY", &proxy),
        ("NO_PROXY", &String::new()),
    ] {
        variables.push((name.to_owned(), value.clone()));
        variables.push((name.to_lowercase(), value.clone()));
    }
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    variables
}
