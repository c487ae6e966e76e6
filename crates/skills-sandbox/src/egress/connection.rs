//! One connection of a program: what it asks for, and what it is told.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::buffered::Buffered;
use super::destination::{Destination, TLS_PORT};
use super::exchange::exchange;
use super::host::{Authority, Host, split};
use super::proxy::Proxy;
use super::request::{self, Request};
use super::stop::{Limit, Reason, Stop, malformed};
use super::tunnel::{Traffic, relay};
use super::{head, socks, tls};

const TUNNEL_IS_OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// How much is read, and for how long, of what a client still sends when it was told everything.
/// Closing with bytes unread would reset the connection, and the client might lose what it was
/// told.
const DRAIN_BYTES: usize = 256 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// One connection.
pub(super) struct Connection {
    client: Buffered<TcpStream>,
    proxy: Proxy,
    /// The host as the client wrote it.
    host: Option<Vec<u8>>,
    voice: Voice,
}

/// What the client understands at the moment.
#[derive(Debug, Clone, Copy)]
enum Voice {
    Http,
    Socks,
    /// Nothing but the end.
    Silence,
}

/// What a client asks for.
enum Asked {
    /// A tunnel; the answer when it is open.
    Tunnel(Authority, &'static [u8]),
    /// A page.
    Page(Request),
}

impl Connection {
    pub(super) async fn serve(stream: TcpStream, proxy: Proxy) {
        // Without it small packets wait for each other; a connection where that cannot be set is
        // slow and no worse.
        let _ = stream.set_nodelay(true);
        let mut connection = Self {
            client: Buffered::new(stream),
            proxy,
            host: None,
            voice: Voice::Silence,
        };
        if let Err(stop) = connection.run().await {
            match stop {
                Stop::Refused(reason) => connection
                    .proxy
                    .log
                    .refused(connection.host.as_deref(), reason),
                Stop::Limit(limit) => connection.proxy.log.limited(limit),
                Stop::Gone => {}
            }
            connection.refuse(stop).await;
        }
        let _ = timeout(DRAIN_TIME, connection.close()).await;
    }

    async fn run(&mut self) -> Result<(), Stop> {
        match self
            .in_time(async |connection| connection.ask().await)
            .await?
        {
            Asked::Tunnel(authority, opened) => {
                let destination = self.proxy.admit(authority.host, authority.port).await?;
                self.client.stream.write_all(opened).await?;
                if destination.port == TLS_PORT {
                    self.tunnel(destination).await
                } else {
                    self.page_in_tunnel(destination).await
                }
            }
            Asked::Page(request) => {
                let (authority, path) = request.absolute()?;
                let Authority { host, port } =
                    self.authority(authority.as_bytes(), Some(request::PORT))?;
                if port != request::PORT {
                    return Err(Reason::Port { port }.into());
                }
                request.require(&host)?;
                let destination = self.proxy.admit(host, port).await?;
                self.page(&request, &path, &destination).await
            }
        }
    }

    /// Learns by the first byte which protocol is spoken, and by it where to go.
    async fn ask(&mut self) -> Result<Asked, Stop> {
        let most_bytes = self.proxy.limits.head_bytes;
        let first = self
            .client
            .parse(most_bytes, |bytes| {
                Ok(bytes.first().map(|first| (*first, 0)))
            })
            .await?;
        if matches!(first, socks::VERSION | socks::VERSION_4) {
            return self.ask_socks(first).await;
        }
        self.voice = Voice::Http;
        let request = self
            .client
            .parse_when(most_bytes, head::may_end, Request::parse)
            .await?;
        match request.tunnel() {
            Some(authority) => Ok(Asked::Tunnel(
                self.authority(authority.as_bytes(), None)?,
                TUNNEL_IS_OPEN,
            )),
            None => Ok(Asked::Page(request)),
        }
    }

    async fn ask_socks(&mut self, version: u8) -> Result<Asked, Stop> {
        if version == socks::VERSION_4 {
            self.client.stream.write_all(&socks::REFUSED_4).await?;
            return Err(malformed("SOCKS 4").into());
        }
        let most_bytes = self.proxy.limits.head_bytes;
        if !self.client.parse(most_bytes, socks::greeting).await? {
            self.client.stream.write_all(&socks::NO_METHOD).await?;
            return Err(malformed("SOCKS with authentication").into());
        }
        self.client
            .stream
            .write_all(&socks::NO_AUTHENTICATION)
            .await?;
        self.voice = Voice::Socks;
        let (host, port) = self.client.parse(most_bytes, socks::request).await?;
        let host = self.named(&host)?;
        Ok(Asked::Tunnel(Authority { host, port }, &socks::GRANTED))
    }

    fn authority(&mut self, text: &[u8], default: Option<u16>) -> Result<Authority, Reason> {
        self.host = Some(split(text).0.to_vec());
        Authority::parse(text, default).ok_or(Reason::NotAHost)
    }

    fn named(&mut self, host: &[u8]) -> Result<Host, Reason> {
        self.host = Some(host.to_vec());
        Host::parse(host).ok_or(Reason::NotAHost)
    }

    /// Passes TLS through, if it is for the host. An address has no name that could be asked for.
    async fn tunnel(&mut self, destination: Destination) -> Result<(), Stop> {
        self.voice = Voice::Silence;
        let most_bytes = self.proxy.limits.head_bytes;
        let hello = |bytes: &[u8]| tls::client_hello(bytes).map(|name| name.map(|name| (name, 0)));
        let name = self
            .in_time(async |connection| {
                connection
                    .client
                    .parse_when(most_bytes, tls::may_end, hello)
                    .await
            })
            .await?;
        let is_right = match &name {
            Some(name) => Host::parse(name).as_ref() == Some(&destination.host),
            None => destination.host.address().is_some(),
        };
        if !is_right {
            return Err(Reason::OtherHost.into());
        }
        let mut server = self.proxy.dial(&destination).await?;
        relay(
            &mut self.client,
            &mut server,
            &Traffic::new(&self.proxy.log, &self.proxy.limits),
        )
        .await
    }

    /// Through a tunnel to port 80 goes one request, read as strictly as one to the proxy itself.
    async fn page_in_tunnel(&mut self, destination: Destination) -> Result<(), Stop> {
        self.voice = Voice::Http;
        let most_bytes = self.proxy.limits.head_bytes;
        let request = self
            .in_time(async |connection| {
                connection
                    .client
                    .parse_when(most_bytes, head::may_end, Request::parse)
                    .await
            })
            .await?;
        request.require(&destination.host)?;
        let path = request.origin()?;
        self.page(&request, path, &destination).await
    }

    async fn page(
        &mut self,
        request: &Request,
        path: &str,
        destination: &Destination,
    ) -> Result<(), Stop> {
        let onward = request.onward(&destination.host, path)?;
        let mut server = self.proxy.dial(destination).await?;
        // From here on the server speaks.
        self.voice = Voice::Silence;
        let no_answer = self.text(Stop::Refused(Reason::NotReached));
        let traffic = Traffic::new(&self.proxy.log, &self.proxy.limits);
        exchange(
            &mut self.client,
            &mut server,
            onward,
            no_answer.as_bytes(),
            self.proxy.limits.head_bytes,
            &traffic,
        )
        .await
    }

    async fn in_time<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let head_time = self.proxy.limits.head_time;
        timeout(head_time, work(self))
            .await
            .unwrap_or(Err(Limit::HeadTime.into()))
    }

    /// Tells the client why it ends here. That it does not listen is no matter.
    async fn refuse(&mut self, stop: Stop) {
        let _ = match self.voice {
            Voice::Http if stop != Stop::Gone => {
                let text = self.text(stop);
                timeout(DRAIN_TIME, self.client.stream.write_all(text.as_bytes())).await
            }
            Voice::Socks => {
                timeout(
                    DRAIN_TIME,
                    self.client.stream.write_all(&socks::refusal(stop)),
                )
                .await
            }
            Voice::Http | Voice::Silence => return,
        };
    }

    /// Returns an answer in HTTP. The host is only named when it is one, as nothing else is fit to
    /// be repeated.
    fn text(&self, stop: Stop) -> String {
        let host = self.host.as_deref().and_then(Host::parse);
        let host = host.as_ref().map_or("what it asked for", Host::as_str);
        let (status, text) = match stop {
            Stop::Refused(reason @ (Reason::Malformed { .. } | Reason::NotAHost)) => {
                ("400 Bad Request", format!("refused: {reason}\n"))
            }
            Stop::Refused(reason @ (Reason::NotFound | Reason::NotReached)) => (
                "502 Bad Gateway",
                format!("the skill cannot reach {host}: {reason}\n"),
            ),
            Stop::Refused(reason) => (
                "403 Forbidden",
                format!("the skill may not reach {host}: {reason}\n"),
            ),
            Stop::Limit(limit) => (
                "503 Service Unavailable",
                format!("the skill cannot reach {host}: {limit}\n"),
            ),
            Stop::Gone => ("502 Bad Gateway", String::new()),
        };
        let length = text.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    }

    async fn close(&mut self) -> std::io::Result<()> {
        self.client.stream.shutdown().await?;
        let mut chunk = vec![0; 4096];
        let mut left = DRAIN_BYTES;
        while left > 0 {
            match self.client.stream.read(&mut chunk).await? {
                0 => break,
                length => left = left.saturating_sub(length),
            }
        }
        Ok(())
    }
}
