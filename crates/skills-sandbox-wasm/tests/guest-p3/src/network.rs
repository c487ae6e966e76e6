//! Actions that look for a network.

use wasip3::sockets::ip_name_lookup::resolve_addresses;
use wasip3::sockets::types::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress, TcpSocket, UdpSocket};

use crate::number;

/// Does what `action` says.
pub(crate) async fn act(action: &str, rest: &[String]) -> Result<String, String> {
    let address = || address(rest.first().map_or(80, |port| number(port)), rest.get(1..).unwrap_or_default());
    let done = match action {
        "connect" => connect(address()).await.map_err(word),
        "listen" => listen().map_err(word),
        "datagram" => datagram(address()).await.map_err(word),
        _ => resolve_addresses(rest[0].clone()).await.map(drop).map_err(|_| "not resolved".to_owned()),
    };
    done.map(|()| action.to_owned())
}

async fn connect(address: IpSocketAddress) -> Result<(), ErrorCode> {
    TcpSocket::create(family(address))?.connect(address).await
}

fn listen() -> Result<(), ErrorCode> {
    let socket = TcpSocket::create(IpAddressFamily::Ipv4)?;
    socket.bind(address(0, &[]))?;
    socket.listen().map(drop)
}

async fn datagram(to: IpSocketAddress) -> Result<(), ErrorCode> {
    let socket = UdpSocket::create(family(to))?;
    socket.bind(if family(to) == IpAddressFamily::Ipv4 { address(0, &[]) } else { six(0, [0; 8]) })?;
    socket.send(b"hello".to_vec(), Some(to)).await
}

/// Makes an address of a port and the numbers of the host: four, or eight; none for the loopback address.
fn address(port: u16, host: &[String]) -> IpSocketAddress {
    match host {
        [a, b, c, d] => IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (number(a), number(b), number(c), number(d)) }),
        [_, ..] => six(port, std::array::from_fn(|at| number(&host[at]))),
        [] => IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) }),
    }
}

fn six(port: u16, [a, b, c, d, e, f, g, h]: [u16; 8]) -> IpSocketAddress {
    IpSocketAddress::Ipv6(Ipv6SocketAddress { port, flow_info: 0, address: (a, b, c, d, e, f, g, h), scope_id: 0 })
}

fn family(address: IpSocketAddress) -> IpAddressFamily {
    if matches!(address, IpSocketAddress::Ipv4(_)) { IpAddressFamily::Ipv4 } else { IpAddressFamily::Ipv6 }
}

fn word(code: ErrorCode) -> String {
    if matches!(code, ErrorCode::AccessDenied) { "PermissionDenied".to_owned() } else { "another reason".to_owned() }
}
