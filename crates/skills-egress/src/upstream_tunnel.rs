//! Connections through a proxy of the user.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::buffered::BufferedStream;
use crate::close_reason::{CloseReason, RejectReason};
use crate::connector::connect_to_name;
use crate::exchange::ResponseHead;
use crate::host::{Authority, Host};
use crate::upstream::UpstreamProxy;

/// The status with which a proxy asks for credentials.
pub(crate) const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// Connects to a proxy, which the user named: it may be at any address, such as a program of a
/// company on this machine.
pub(crate) async fn connect(proxy: &UpstreamProxy) -> Result<TcpStream, CloseReason> {
    let Authority { host, port } = proxy.authority();
    connect_to_name(host.as_str(), *port)
        .await
        .map_err(|_| RejectReason::ProxyUnreachable.into())
}

/// Opens a tunnel to a port of a host, of at most `max_head_bytes` bytes of response. The caller
/// limits the time.
pub(crate) async fn open(
    proxy: &UpstreamProxy,
    host: &Host,
    port: u16,
    max_head_bytes: usize,
) -> Result<TcpStream, CloseReason> {
    let unreachable = CloseReason::from(RejectReason::ProxyUnreachable);
    let mut stream = connect(proxy).await?;
    // Both texts are those of valid hosts.
    let target = format!("{}:{port}", host.as_str());
    let authorization = proxy.authorization().map_or_else(String::new, |value| {
        format!("Proxy-Authorization: {value}\r\n")
    });
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .map_err(|_| unreachable)?;
    let mut stream = BufferedStream::new(stream, max_head_bytes);
    loop {
        let head = stream.parse_head(ResponseHead::parse).await;
        match head.map_err(|_| unreachable)?.status {
            // A protocol switch was not requested, and others only announce the response.
            100 | 102..=199 => {}
            // The host has nothing to say before the program does.
            200..=299 if stream.buffer.is_empty() => return Ok(stream.stream),
            PROXY_AUTHENTICATION_REQUIRED => return Err(RejectReason::ProxyAuthentication.into()),
            101 | 200..=299 => return Err(unreachable),
            status => return Err(RejectReason::ProxyRefused { status }.into()),
        }
    }
}
