//! The server over streamable HTTP, with authentication, limits and sessions.

mod access_log;
mod auth;
mod body;
mod body_budget;
mod concurrency;
mod connection;
mod error;
mod handshake;
mod headers;
mod host;
mod json_rpc_header;
mod layers;
mod limits;
mod mcp_service;
mod origin;
mod principal_limits;
mod rejection;
mod response_guard;
mod server;
mod session;
mod shutdown;
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
use host::AllowedHosts;
use layers::Layers;
use limits::HttpLimits;
use origin::AllowedOrigins;

/// Configures a server over HTTP.
///
/// The protocol is at `/mcp`; `/healthz` reports whether the server accepts requests. Only HTTP/1.1
/// without encryption is supported: a server for remote clients needs a reverse proxy that
/// terminates TLS. Every request must name an allowed host, and its `Origin`, if present, must be
/// allowed, too, so that web pages cannot reach the server through a browser. This applies to
/// `/healthz` as well.
///
/// # Defaults
///
/// | Setting | Default |
/// |---|---|
/// | tokens | none, the principal is `local`; required for an address that is not loopback |
/// | hosts | loopback: `localhost`, `127.0.0.1`, `[::1]` and the address itself; otherwise none |
/// | origins | loopback: `http` origins of `localhost`, `127.0.0.1` and `[::1]` with any port; otherwise none |
/// | request body | 4 MiB, and one JSON value per 32 bytes of that |
/// | bodies over 16 KiB in memory | 64 MiB in total, or twice the maximum body; half per principal if there are several |
/// | requests per principal | 5,000 per second; 64 tool calls and 64 others concurrently, further ones wait two seconds |
/// | streams per principal | 256 |
/// | connections | 512, closed after 10 s without a complete request head |
/// | request body timeout | 30 s |
/// | write timeout | 30 s without progress |
/// | sessions of legacy clients | 256, at most half per principal if there are several; closed after 65 minutes without a message |
/// | shutdown timeout | 10 s |
///
/// # Examples
///
/// ```
/// use skills_mcp::{HttpErrorKind, HttpServer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // An address that is not loopback must be enabled, and needs a token and a host name.
/// let server = HttpServer::new("0.0.0.0:8080".parse()?);
/// let error = server.bind().await.unwrap_err();
/// assert_eq!(error.kind(), HttpErrorKind::RemoteNotAllowed);
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Debug, Clone)]
pub struct HttpServer {
    address: SocketAddr,
    allows_remote: bool,
    tokens: Vec<BearerToken>,
    hosts: Vec<String>,
    origins: Vec<String>,
    limits: HttpLimits,
}

impl HttpServer {
    /// Creates a configuration for an address; port 0 selects a free port. An IPv4 address that is
    /// mapped to IPv6 (`::ffff:127.0.0.1`) is that IPv4 address.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address: SocketAddr::new(address.ip().to_canonical(), address.port()),
            allows_remote: false,
            tokens: vec![],
            hosts: vec![],
            origins: vec![],
            limits: HttpLimits::default(),
        }
    }

    /// Allows addresses that remote clients can reach. They require a [`token`](Self::token) and a
    /// [`host`](Self::allow_host), too.
    pub fn allow_remote(mut self) -> Self {
        self.allows_remote = true;
        self
    }

    /// Adds a token. If there are tokens, every request to `/mcp` must carry one, also on loopback.
    pub fn token(mut self, token: BearerToken) -> Self {
        self.tokens.push(token);
        self
    }

    /// Allows a host name in requests: `example.org` with any port, or `example.org:8443` with that
    /// port.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Allows an origin of web pages: `https://example.org`, with a port if it is not the default
    /// of the scheme, or with `:*` for any port.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets the maximum size of a request body in bytes. It also limits the number of JSON values
    /// to one per 32 bytes, but at least 1,024, since a parsed value takes much more memory than
    /// its text.
    pub fn max_request_body_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_request_body_bytes = bytes;
        self
    }

    /// Sets the maximum number of requests per second of a principal, which is also the size of a
    /// burst.
    pub fn requests_per_second(mut self, requests: NonZeroU32) -> Self {
        self.limits.requests_per_second = requests;
        self
    }

    /// Sets the maximum number of concurrent tool calls of a principal, and separately of its other
    /// requests. Further ones wait up to two seconds. Notifications and responses do not count. 0
    /// counts as 1.
    pub fn max_concurrent_requests(mut self, requests: usize) -> Self {
        self.limits.max_concurrent_requests = requests.max(1);
        self
    }

    /// Sets the maximum number of concurrent streams of a principal: `GET` and
    /// `subscriptions/listen`. 0 counts as 1.
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.limits.max_streams = streams.max(1);
        self
    }

    /// Sets the maximum number of open connections; further ones wait. 0 counts as 1.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.max_connections = connections.max(1);
        self
    }

    /// Sets the timeout for the head of a request, which is also the idle timeout of a connection.
    pub fn header_read_timeout(mut self, timeout: Duration) -> Self {
        self.limits.header_read_timeout = timeout;
        self
    }

    /// Sets how long a client may take to send the body of a request completely.
    pub fn request_body_timeout(mut self, timeout: Duration) -> Self {
        self.limits.request_body_timeout = timeout;
        self
    }

    /// Sets how long a write may make no progress, because the client does not read, before the
    /// connection is closed.
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.limits.write_timeout = timeout;
        self
    }

    /// Sets the maximum number of sessions of legacy clients, which depend on them. With several
    /// tokens, each principal can have half of them, at least one.
    ///
    /// At the limit, a new session evicts the least recently used idle session of the same
    /// principal. If it has none, and is below its own limit, it evicts one of a principal that has
    /// more than an equal share. Sessions in use are never evicted.
    ///
    /// With 0 there are no sessions: requests of legacy clients are independent, like those of
    /// newer clients, and approval prompts are not possible.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.max_sessions = sessions;
        self
    }

    /// Sets how long running requests may take to finish after a shutdown was requested, at most
    /// one day.
    ///
    /// [`BoundHttpServer::serve`] waits that long; [`BoundHttpServer::serve_with_shutdown`] can
    /// stop waiting earlier, for example after a second signal.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.limits.shutdown_timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// Binds the address.
    ///
    /// # Errors
    ///
    /// Fails if the address is not loopback and remote access is not [allowed](Self::allow_remote),
    /// or no token or host is configured; if two tokens have the same name or secret; if a host or
    /// origin is invalid; or if binding fails.
    pub async fn bind(self) -> Result<BoundHttpServer, HttpError> {
        // Before binding: a server that must not be reachable should not be so for a moment.
        self.check_remote_access()?;
        let layers = Layers {
            hosts: AllowedHosts::new(self.address.ip(), &self.hosts)?,
            origins: AllowedOrigins::new(self.address.ip(), &self.origins)?,
            authenticator: Authenticator::new(&self.tokens, &self.limits)?,
            limits: self.limits,
        };
        let unbound = |source| Repr::Bind {
            address: self.address,
            source,
        };
        let listener = TcpListener::bind(self.address).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        Ok(BoundHttpServer {
            listener,
            address,
            layers,
        })
    }

    fn check_remote_access(&self) -> Result<(), HttpError> {
        let address = self.address;
        if address.ip().is_loopback() {
            return Ok(());
        }
        if !self.allows_remote {
            return Err(Repr::RemoteNotAllowed { address }.into());
        }
        if self.tokens.is_empty() {
            return Err(Repr::NoToken { address }.into());
        }
        // Without one, every request would be rejected.
        if self.hosts.is_empty() {
            return Err(Repr::NoHost { address }.into());
        }
        Ok(())
    }
}
