//! Handles one connection of a program.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::buffered::BufferedStream;
use crate::client_hello::ClientHelloParser;
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason, malformed};
use crate::exchange::exchange;
use crate::host::{Authority, HTTP_PORT, Host, TLS_PORT, split_port};
use crate::host_connector::{Content, Destination, HostConnector};
use crate::request::Request;
use crate::socks;
use crate::tunnel::{TrafficMeter, relay};

/// The type of the first record of TLS.
const TLS_HANDSHAKE: u8 = 22;
const TUNNEL_ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// How many bytes, and for how long, are read after the response to a rejected request. Closing a
/// socket with unread bytes would reset the connection, and the client might lose the response.
const DRAIN_BYTES: usize = 256 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Connection {
    client: BufferedStream<TcpStream>,
    connector: HostConnector,
    /// The host as the client wrote it.
    requested_host: Option<Vec<u8>>,
    /// Its port, once it is known.
    requested_port: Option<u16>,
    protocol: Protocol,
}

/// The protocol in which the client can receive an error at the moment.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Http,
    Socks,
    /// None: the connection can only be closed.
    Opaque,
}

/// A parsed request of a client.
enum ProxyRequest {
    /// A tunnel, with the response that confirms it.
    Tunnel(Authority, &'static [u8]),
    /// An HTTP request.
    Forward(Request),
}

impl Connection {
    pub(crate) async fn serve(stream: TcpStream, connector: HostConnector) {
        // Without it, small packets wait for each other. If it cannot be set, the connection is
        // only slower.
        let _ = stream.set_nodelay(true);
        let mut connection = Self {
            client: BufferedStream::new(stream, connector.limits.max_head_bytes),
            connector,
            requested_host: None,
            requested_port: None,
            protocol: Protocol::Opaque,
        };
        if let Err(stop) = connection.run().await {
            let host = connection.logged_host();
            connection
                .connector
                .log
                .record_closed(host.as_deref(), stop);
            connection.reject(stop).await;
        }
        // Bounded, since the client controls how long it keeps the connection open.
        let _ = timeout(DRAIN_TIMEOUT, connection.close()).await;
    }

    /// Forwards a connection to a port of the loopback device, if the rules name it.
    pub(crate) async fn serve_loopback(stream: TcpStream, port: u16, connector: HostConnector) {
        let _ = stream.set_nodelay(true);
        let mut client = BufferedStream::new(stream, connector.limits.max_head_bytes);
        let host = Host::localhost();
        let logged_host = host.rule_text(port);
        let forward = async {
            let destination = connector.authorize(host, port).await?;
            let mut server = connector.connect(&destination).await?;
            let traffic = TrafficMeter::new(&connector.log, &connector.limits);
            relay(&mut client, &mut server, &traffic).await
        };
        if let Err(stop) = forward.await {
            connector
                .log
                .record_closed(Some(logged_host.as_bytes()), stop);
        }
    }

    async fn run(&mut self) -> Result<(), CloseReason> {
        match self
            .with_head_timeout(async |connection| connection.read_request().await)
            .await?
        {
            ProxyRequest::Tunnel(authority, opened) => {
                // Confirmed before the connection to the server is opened: the name in the first
                // bytes of the tunnel decides whether it is opened at all.
                let destination = self
                    .connector
                    .authorize(authority.host, authority.port)
                    .await?;
                self.client.stream.write_all(opened).await?;
                let is_tls = match destination.content() {
                    Content::Tls => true,
                    Content::Http => false,
                    Content::TlsOrHttp => self.begins_with_tls().await?,
                };
                if is_tls {
                    self.serve_tunnel(destination).await
                } else {
                    self.serve_plain_tunnel(destination).await
                }
            }
            ProxyRequest::Forward(request) => {
                let (authority, path) = request.absolute_target()?;
                let Authority { host, port } =
                    self.parse_authority(authority.as_bytes(), Some(HTTP_PORT))?;
                // The port of TLS must not be reached without it.
                if port == TLS_PORT {
                    return Err(RejectReason::PortNotAllowed { port }.into());
                }
                request.require_host(&host, port)?;
                let destination = self.connector.authorize(host, port).await?;
                self.forward_request(&request, &path, &destination).await
            }
        }
    }

    /// Detects the protocol from the first byte and reads the destination.
    async fn read_request(&mut self) -> Result<ProxyRequest, CloseReason> {
        // A SOCKS request starts with its version, 4 or 5; no HTTP method starts with such a byte.
        let first = self.client.peek().await?;
        if matches!(first, socks::VERSION | socks::VERSION_4) {
            return self.read_socks_request(first).await;
        }
        self.protocol = Protocol::Http;
        let request = self.client.parse_head(Request::parse).await?;
        match request.tunnel_authority() {
            Some(authority) => Ok(ProxyRequest::Tunnel(
                self.parse_authority(authority.as_bytes(), None)?,
                TUNNEL_ESTABLISHED,
            )),
            None => Ok(ProxyRequest::Forward(request)),
        }
    }

    async fn read_socks_request(&mut self, version: u8) -> Result<ProxyRequest, CloseReason> {
        if version == socks::VERSION_4 {
            self.client
                .stream
                .write_all(&socks::SOCKS4_REJECTED)
                .await?;
            // SOCKS 4 itself carries addresses only, so there would be no name to check.
            return Err(malformed("SOCKS 4").into());
        }
        if !self.client.parse(socks::parse_greeting).await? {
            self.client
                .stream
                .write_all(&socks::NO_ACCEPTABLE_METHOD)
                .await?;
            return Err(malformed("SOCKS authentication").into());
        }
        self.client
            .stream
            .write_all(&socks::NO_AUTHENTICATION)
            .await?;
        self.protocol = Protocol::Socks;
        let (host, port) = self.client.parse(socks::parse_request).await?;
        let host = self.parse_host(&host)?;
        self.requested_port = Some(port);
        Ok(ProxyRequest::Tunnel(
            Authority { host, port },
            &socks::SUCCEEDED,
        ))
    }

    fn parse_authority(
        &mut self,
        text: &[u8],
        default: Option<u16>,
    ) -> Result<Authority, RejectReason> {
        // Stored before it is parsed, so that the log also names an invalid host.
        self.requested_host = Some(split_port(text).0.to_vec());
        let authority = Authority::parse(text, default).ok_or(RejectReason::InvalidHost)?;
        self.requested_port = Some(authority.port);
        Ok(authority)
    }

    fn parse_host(&mut self, host: &[u8]) -> Result<Host, RejectReason> {
        self.requested_host = Some(host.to_vec());
        Host::parse(host).ok_or(RejectReason::InvalidHost)
    }

    /// Returns true if the first byte in a tunnel is that of TLS, and not of an HTTP method.
    async fn begins_with_tls(&mut self) -> Result<bool, CloseReason> {
        let first = self
            .with_head_timeout(async |connection| connection.client.peek().await)
            .await?;
        Ok(first == TLS_HANDSHAKE)
    }

    /// Relays TLS if it names the host. For an IP address there is no name to check.
    async fn serve_tunnel(&mut self, destination: Destination) -> Result<(), CloseReason> {
        // The client expects TLS from here on, so an error as plain text would be invalid.
        self.protocol = Protocol::Opaque;
        let mut hello = ClientHelloParser::default();
        let name = self
            .with_head_timeout(async |connection| {
                connection.client.parse(|bytes| hello.parse(bytes)).await
            })
            .await?;
        // A server with several names may serve another one than was authorized if the name in the
        // TLS handshake differs (domain fronting).
        let matches_destination = match &name {
            Some(name) => Host::parse(name).as_ref() == Some(&destination.host),
            None => destination.host.address().is_some(),
        };
        if !matches_destination {
            return Err(RejectReason::HostMismatch.into());
        }
        let mut server = self.connector.connect(&destination).await?;
        relay(
            &mut self.client,
            &mut server,
            &TrafficMeter::new(&self.connector.log, &self.connector.limits),
        )
        .await
    }

    /// A tunnel to port 80 carries one request, parsed as strictly as one to the proxy itself.
    async fn serve_plain_tunnel(&mut self, destination: Destination) -> Result<(), CloseReason> {
        self.protocol = Protocol::Http;
        let request = self
            .with_head_timeout(async |connection| {
                connection.client.parse_head(Request::parse).await
            })
            .await?;
        // The tunnel was authorized for one host; its request must not name another.
        request.require_host(&destination.host, destination.port)?;
        let path = request.origin_path()?;
        self.forward_request(&request, path, &destination).await
    }

    async fn forward_request(
        &mut self,
        request: &Request,
        path: &str,
        destination: &Destination,
    ) -> Result<(), CloseReason> {
        let forwarded = request.forwarded(destination, path)?;
        let mut server = self.connector.connect_for_request(destination).await?;
        // From here on the server responds.
        self.protocol = Protocol::Opaque;
        let unreachable_response =
            self.rejection_response(CloseReason::Rejected(RejectReason::Unreachable));
        let traffic = TrafficMeter::new(&self.connector.log, &self.connector.limits);
        exchange(
            &mut self.client,
            &mut server,
            forwarded,
            unreachable_response.as_bytes(),
            &traffic,
        )
        .await
    }

    async fn with_head_timeout<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, CloseReason>,
    ) -> Result<T, CloseReason> {
        let head_time = self.connector.limits.head_timeout;
        timeout(head_time, work(self))
            .await
            .unwrap_or(Err(ExceededLimit::HeadTimeout.into()))
    }

    /// Sends the reason to the client. Errors are ignored: the connection closes anyway.
    async fn reject(&mut self, stop: CloseReason) {
        let response = match self.protocol {
            Protocol::Http => self.rejection_response(stop).into_bytes(),
            Protocol::Socks => socks::error_reply(stop).into(),
            Protocol::Opaque => return,
        };
        let _ = timeout(DRAIN_TIMEOUT, self.client.stream.write_all(&response)).await;
    }

    /// Returns the host for the log: as a rule would name it if it is valid, else as it was
    /// written.
    fn logged_host(&self) -> Option<Vec<u8>> {
        let written = self.requested_host.clone()?;
        match (Host::parse(&written), self.requested_port) {
            (Some(host), Some(port)) => Some(host.rule_text(port).into_bytes()),
            _ => Some(written),
        }
    }

    /// Returns an HTTP response, which is empty if no client is left. It names the host only if it
    /// is valid, since other bytes are not safe to repeat.
    fn rejection_response(&self, stop: CloseReason) -> String {
        let host = self.requested_host.as_deref().and_then(Host::parse);
        let host = host.as_ref().map_or("the requested host", Host::as_str);
        let (status, text) = match stop {
            CloseReason::Rejected(
                reason @ (RejectReason::Malformed { .. } | RejectReason::InvalidHost),
            ) => ("400 Bad Request", format!("rejected: {reason}\n")),
            CloseReason::Rejected(reason) => {
                let status = match reason {
                    RejectReason::DnsFailure
                    | RejectReason::ProxyAuthentication
                    | RejectReason::ProxyRefused { .. }
                    | RejectReason::ProxyUnreachable
                    | RejectReason::Refused
                    | RejectReason::Unreachable => "502 Bad Gateway",
                    _ => "403 Forbidden",
                };
                (status, format!("cannot connect to {host}: {reason}\n"))
            }
            CloseReason::LimitExceeded(limit) => (
                "503 Service Unavailable",
                format!("cannot connect to {host}: {limit}\n"),
            ),
            CloseReason::Disconnected => return String::new(),
        };
        let length = text.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    }

    async fn close(&mut self) -> std::io::Result<()> {
        self.client.stream.shutdown().await?;
        let mut chunk = vec![0; 4096];
        let mut remaining = DRAIN_BYTES;
        while remaining > 0 {
            match self.client.stream.read(&mut chunk).await? {
                0 => break,
                length => remaining = remaining.saturating_sub(length),
            }
        }
        Ok(())
    }
}
