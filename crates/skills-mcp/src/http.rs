//! The server over streamable HTTP: what stands between a socket and the protocol.

mod access_log;
mod auth;
mod body;
mod body_budget;
mod connection;
mod error;
mod headers;
mod hosts;
mod json_rpc_header;
mod origins;
mod principal_limits;
mod rejection;
mod response_guard;
mod server;
mod service;
mod sessions;
mod token;
mod write_timeout;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::net::TcpListener;

pub use error::{HttpError, HttpErrorKind};
pub use server::BoundHttpServer;
pub use token::{BearerToken, TokenError};

use auth::Authenticator;
use error::Repr;
use hosts::AllowedHosts;
use origins::AllowedOrigins;

/// How the server is reached over HTTP.
///
/// The protocol is at `/mcp`, and `/healthz` says whether the server takes requests. HTTP/1.1
/// without encryption: a server that others reach belongs behind something that does TLS. Every
/// request must name an allowed host, and its `Origin`, if it has one, must be allowed too, so that
/// no web page reaches the server through a browser. That holds for `/healthz` as well.
///
/// # Defaults
///
/// | What | Default |
/// |---|---|
/// | tokens | none, the principal is `local`; needed where the address is not loopback |
/// | hosts | for a loopback address `localhost`, `127.0.0.1`, `[::1]` and the address itself; else none, they must be named |
/// | origins | for a loopback address those of `localhost`, `127.0.0.1` and `[::1]` by `http` at any port; else none |
/// | body of a request | 4 MiB, and one value for each 32 bytes of that |
/// | bodies of more than 16 KiB that are being read | 64 MiB together, or two of the longest; of several principals each has half |
/// | requests of a principal | 5,000 per second, 64 at once |
/// | streams that a principal listens to | 256 at once |
/// | connections | 512, closed after 10 s without a complete head |
/// | time for the body of a request | 30 s |
/// | time that a client may read nothing of what is written to it | 30 s |
/// | sessions of clients before 2026-07-28 | 256, of several principals each at most half; closed after 65 minutes of silence |
/// | time to finish at the end | 10 s |
#[must_use]
#[derive(Debug, Clone)]
pub struct HttpServer {
    address: SocketAddr,
    remote_access: RemoteAccess,
    tokens: Vec<BearerToken>,
    hosts: Vec<String>,
    origins: Vec<String>,
    limits: HttpLimits,
}

impl HttpServer {
    /// Sets out a server at an address; port 0 takes any that is free.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            remote_access: RemoteAccess::Denied,
            tokens: vec![],
            hosts: vec![],
            origins: vec![],
            limits: HttpLimits::default(),
        }
    }

    /// Allows an address that other machines reach. It then also needs a [`token`](Self::token) and
    /// a [`host`](Self::allow_host).
    pub fn allow_remote(mut self) -> Self {
        self.remote_access = RemoteAccess::Allowed;
        self
    }

    /// Adds a token. From the first one on, every request of `/mcp` must carry one, on loopback
    /// too.
    pub fn token(mut self, token: BearerToken) -> Self {
        self.tokens.push(token);
        self
    }

    /// Adds a name by which clients may call the server: `example.org` at any port, or
    /// `example.org:8443` at that one.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Adds an origin whose pages may call the server: `https://example.org`, with a port where it
    /// is not the scheme's own, or with `:*` for any port.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets how many bytes the body of a request may have. One value of JSON for each 32 of them,
    /// at least 1,024, is as many as it may have: kept on its own, a value takes far more than it
    /// does in the body.
    pub fn max_request_body_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_request_body_bytes = bytes;
        self
    }

    /// Sets how many requests a principal may send in a second; as many may come at once after a
    /// pause.
    pub fn requests_per_second(mut self, requests: NonZeroU32) -> Self {
        self.limits.requests_per_second = requests;
        self
    }

    /// Sets how many requests of a principal are answered at once. Notifications and answers are
    /// none. 0 counts as 1.
    pub fn max_concurrent_requests(mut self, requests: usize) -> Self {
        self.limits.max_concurrent_requests = requests.max(1);
        self
    }

    /// Sets how many streams a principal may listen to at once: those of `GET` and of
    /// `subscriptions/listen`. 0 counts as 1.
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.limits.max_streams = streams.max(1);
        self
    }

    /// Sets how many connections are open at once; the next wait until one closes. 0 counts as 1.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.max_connections = connections.max(1);
        self
    }

    /// Sets how long a connection may take for the head of its next request, which is also how long
    /// it may be idle.
    pub fn header_read_timeout(mut self, timeout: Duration) -> Self {
        self.limits.header_read_timeout = timeout;
        self
    }

    /// Sets how long the body of a request may take.
    pub fn request_body_timeout(mut self, timeout: Duration) -> Self {
        self.limits.request_body_timeout = timeout;
        self
    }

    /// Sets how long a client may read nothing while something is written to it, before its
    /// connection ends.
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.limits.write_timeout = timeout;
        self
    }

    /// Sets how many sessions are kept for clients of the revisions before 2026-07-28, which know
    /// no other way. With more than one token a principal may have half of them, at least one.
    ///
    /// A new one takes the place of the principal's own that was silent longest when all are taken
    /// or the principal has as many as it may. If it has none that is silent, and fewer than it
    /// may, another's goes whose principal has more than would be its part if all had the same.
    /// Those in use stay.
    ///
    /// With 0 there are none: such clients are answered request by request, as newer ones are, and
    /// cannot be asked anything.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.max_sessions = sessions;
        self
    }

    /// Sets after how long without a message either way a session is closed. It must be longer than
    /// the longest call, which may be silent while it runs.
    pub fn session_idle_timeout(mut self, idle: Duration) -> Self {
        self.limits.session_idle_timeout = idle;
        self
    }

    /// Sets how long requests may take to finish once the server is told to stop, at most a day.
    ///
    /// [`CallBinding::serve`] waits that long for those that run; a host that wants to cut it
    /// short, say at a second signal, uses [`CallBinding::serve_with_shutdown`].
    pub fn shutdown_timeout(mut self, drain: Duration) -> Self {
        self.limits.shutdown_timeout = drain.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// Takes the address.
    ///
    /// # Errors
    ///
    /// Fails if other machines reach the address and that was not [allowed](Self::allow_remote), or
    /// no token or no host was given; if two tokens have the same name or the same secret; if a
    /// host or an origin is none; or if the address cannot be had.
    pub async fn bind(self) -> Result<BoundHttpServer, HttpError> {
        self.check_remote_access()?;
        let hosts = AllowedHosts::new(self.address.ip(), &self.hosts)?;
        let origins = AllowedOrigins::new(self.address.ip(), &self.origins)?;
        let keyring = Authenticator::new(&self.tokens, &self.limits)?;
        let unbound = |source| Repr::Bind {
            address: self.address,
            source,
        };
        let listener = TcpListener::bind(self.address).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        Ok(BoundHttpServer {
            listener,
            address,
            allowed_hosts: hosts,
            allowed_origins: origins,
            authenticator: keyring,
            limits: self.limits,
        })
    }

    fn check_remote_access(&self) -> Result<(), HttpError> {
        let address = self.address;
        if address.ip().is_loopback() {
            return Ok(());
        }
        match self.remote_access {
            RemoteAccess::Denied => Err(Repr::RemoteNotAllowed { address }.into()),
            RemoteAccess::Allowed if self.tokens.is_empty() => {
                Err(Repr::NoToken { address }.into())
            }
            RemoteAccess::Allowed if self.hosts.is_empty() => Err(Repr::NoHost { address }.into()),
            RemoteAccess::Allowed => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemoteAccess {
    Denied,
    Allowed,
}

#[derive(Debug, Clone)]
struct HttpLimits {
    max_request_body_bytes: usize,
    requests_per_second: NonZeroU32,
    max_concurrent_requests: usize,
    max_streams: usize,
    max_connections: usize,
    header_read_timeout: Duration,
    request_body_timeout: Duration,
    write_timeout: Duration,
    max_sessions: usize,
    session_idle_timeout: Duration,
    shutdown_timeout: Duration,
}

impl HttpLimits {
    fn max_json_values(&self) -> usize {
        (self.max_request_body_bytes / 32).max(1_024)
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_request_body_bytes: 4 << 20,
            requests_per_second: NonZeroU32::MIN.saturating_add(4_999),
            max_concurrent_requests: 64,
            max_streams: 256,
            max_connections: 512,
            header_read_timeout: Duration::from_secs(10),
            request_body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            max_sessions: 256,
            // A call may run for an hour and need not say anything meanwhile.
            session_idle_timeout: Duration::from_secs(65 * 60),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
