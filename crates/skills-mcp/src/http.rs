//! The server over streamable HTTP: what stands between a socket and the protocol.

mod account;
mod bound;
mod connection;
mod envelope;
mod error;
mod front;
mod headers;
mod held;
mod hosts;
mod keyring;
mod origins;
mod payload;
mod record;
mod refusal;
mod room;
mod sessions;
mod stream;
mod token;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::net::TcpListener;

pub use bound::Bound;
pub use error::{HttpError, HttpErrorKind};
pub use token::{Token, TokenError};

use error::Repr;
use hosts::Hosts;
use keyring::Keyring;
use origins::Origins;

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
pub struct Http {
    address: SocketAddr,
    reach: Reach,
    tokens: Vec<Token>,
    hosts: Vec<String>,
    origins: Vec<String>,
    limits: Limits,
}

impl Http {
    /// Sets out a server at an address; port 0 takes any that is free.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            reach: Reach::Loopback,
            tokens: vec![],
            hosts: vec![],
            origins: vec![],
            limits: Limits::default(),
        }
    }

    /// Allows an address that other machines reach. It then also needs a [`token`](Self::token) and
    /// a [`host`](Self::host).
    pub fn allow_remote(mut self) -> Self {
        self.reach = Reach::Remote;
        self
    }

    /// Adds a token. From the first one on, every request of `/mcp` must carry one, on loopback
    /// too.
    pub fn token(mut self, token: Token) -> Self {
        self.tokens.push(token);
        self
    }

    /// Adds a name by which clients may call the server: `example.org` at any port, or
    /// `example.org:8443` at that one.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Adds an origin whose pages may call the server: `https://example.org`, with a port where it
    /// is not the scheme's own, or with `:*` for any port.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets how many bytes the body of a request may have. One value of JSON for each 32 of them,
    /// at least 1,024, is as many as it may have: kept on its own, a value takes far more than it
    /// does in the body.
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_body_bytes = bytes;
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
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.limits.concurrency = requests.max(1);
        self
    }

    /// Sets how many streams a principal may listen to at once: those of `GET` and of
    /// `subscriptions/listen`. 0 counts as 1.
    pub fn streams(mut self, streams: usize) -> Self {
        self.limits.streams = streams.max(1);
        self
    }

    /// Sets how many connections are open at once; the next wait until one closes. 0 counts as 1.
    pub fn connections(mut self, connections: usize) -> Self {
        self.limits.connections = connections.max(1);
        self
    }

    /// Sets how long a connection may take for the head of its next request, which is also how long
    /// it may be idle.
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.limits.head_timeout = timeout;
        self
    }

    /// Sets how long the body of a request may take.
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.limits.body_timeout = timeout;
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
    pub fn sessions(mut self, sessions: usize) -> Self {
        self.limits.sessions = sessions;
        self
    }

    /// Sets after how long without a message either way a session is closed. It must be longer than
    /// the longest call, which may be silent while it runs.
    pub fn session_idle(mut self, idle: Duration) -> Self {
        self.limits.session_idle = idle;
        self
    }

    /// Sets how long requests may take to finish once the server is told to stop, at most a day.
    ///
    /// [`Bound::serve`] waits that long for those that run; a host that wants to cut it short, say
    /// at a second signal, uses [`Bound::serve_until`].
    pub fn drain(mut self, drain: Duration) -> Self {
        self.limits.drain = drain.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// Takes the address.
    ///
    /// # Errors
    ///
    /// Fails if other machines reach the address and that was not [allowed](Self::allow_remote), or
    /// no token or no host was given; if two tokens have the same name or the same secret; if a
    /// host or an origin is none; or if the address cannot be had.
    pub async fn bind(self) -> Result<Bound, HttpError> {
        self.check_reach()?;
        let hosts = Hosts::new(self.address.ip(), &self.hosts)?;
        let origins = Origins::new(self.address.ip(), &self.origins)?;
        let keyring = Keyring::new(&self.tokens, &self.limits)?;
        let unbound = |source| Repr::Bind {
            address: self.address,
            source,
        };
        let listener = TcpListener::bind(self.address).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        Ok(Bound {
            listener,
            address,
            hosts,
            origins,
            keyring,
            limits: self.limits,
        })
    }

    fn check_reach(&self) -> Result<(), HttpError> {
        let address = self.address;
        if address.ip().is_loopback() {
            return Ok(());
        }
        match self.reach {
            Reach::Loopback => Err(Repr::RemoteNotAllowed { address }.into()),
            Reach::Remote if self.tokens.is_empty() => Err(Repr::NoToken { address }.into()),
            Reach::Remote if self.hosts.is_empty() => Err(Repr::NoHost { address }.into()),
            Reach::Remote => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Loopback,
    Remote,
}

#[derive(Debug, Clone)]
struct Limits {
    max_body_bytes: usize,
    requests_per_second: NonZeroU32,
    concurrency: usize,
    streams: usize,
    connections: usize,
    head_timeout: Duration,
    body_timeout: Duration,
    write_timeout: Duration,
    sessions: usize,
    session_idle: Duration,
    drain: Duration,
}

impl Limits {
    fn max_values(&self) -> usize {
        (self.max_body_bytes / 32).max(1_024)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 4 << 20,
            requests_per_second: NonZeroU32::MIN.saturating_add(4_999),
            concurrency: 64,
            streams: 256,
            connections: 512,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            sessions: 256,
            // A call may run for an hour and need not say anything meanwhile.
            session_idle: Duration::from_secs(65 * 60),
            drain: Duration::from_secs(10),
        }
    }
}
