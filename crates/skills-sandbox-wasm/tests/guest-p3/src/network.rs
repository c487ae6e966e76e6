//! Actions that look for a network.

use wasip3::sockets::ip_name_lookup::resolve_addresses;
use wasip3::sockets::types::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, TcpSocket, UdpSocket};

use crate::number;

/// Does what `action` says.
pub(crate) async fn act(action: &str, rest: &[String]) -> Result<String, String> {
    let port = || rest.first().map_or(80, |port| number(port));
    let done = match action {
        "connect" => connect(port()).await.map_err(word),
        "listen" => listen().map_err(word),
        "datagram" => datagram(port()).await.map_err(word),
        _ => resolve_addresses(rest[0].clone()).await.map(drop).map_err(|_| "not resolved".to_owned()),
    };
    done.map(|()| action.to_owned())
}

async fn connect(port: u16) -> Result<(), ErrorCode> {
    TcpSocket::create(IpAddressFamily::Ipv4)?.connect(loopback(port)).await
}

fn listen() -> Result<(), ErrorCode> {
    let socket = TcpSocket::create(IpAddressFamily::Ipv4)?;
    socket.bind(loopback(0))?;
    socket.listen().map(drop)
}

async fn datagram(port: u16) -> Result<(), ErrorCode> {
    let socket = UdpSocket::create(IpAddressFamily::Ipv4)?;
    socket.bind(loopback(0))?;
    socket.send(b"hello".to_vec(), Some(loopback(port))).await
}

fn loopback(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

fn word(code: ErrorCode) -> String {
    if matches!(code, ErrorCode::AccessDenied) { "PermissionDenied".to_owned() } else { "another reason".to_owned() }
}
