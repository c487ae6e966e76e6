//! Actions that look for a network.

use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp::OutgoingDatagram;
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::number;

/// Does what `action` says; `None` when there is no such action.
pub(crate) fn act(action: &str, rest: &[String]) -> Option<Result<String, String>> {
    let address = || address(rest.first().map_or(80, |port| number(port)), rest.get(1..).unwrap_or_default());
    let done = match action {
        "connect" => connect(address()).map_err(word),
        "listen" => listen().map_err(word),
        "datagram" => datagram(address()).map_err(word),
        "resolve" => resolve(&rest[0]).map_err(|_| "not resolved".to_owned()),
        _ => return None,
    };
    Some(done.map(|()| action.to_owned()))
}

fn connect(address: IpSocketAddress) -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(family(address))?;
    socket.start_connect(&instance_network(), address)?;
    socket.subscribe().block();
    socket.finish_connect().map(drop)
}

fn listen() -> Result<(), ErrorCode> {
    let socket: TcpSocket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), address(0, &[]))?;
    socket.finish_bind()?;
    socket.start_listen()?;
    socket.finish_listen()
}

fn datagram(to: IpSocketAddress) -> Result<(), ErrorCode> {
    let socket = create_udp_socket(family(to))?;
    let any = if family(to) == IpAddressFamily::Ipv4 { address(0, &[]) } else { six(0, [0; 8]) };
    socket.start_bind(&instance_network(), any)?;
    socket.finish_bind()?;
    let (_incoming, outgoing) = socket.stream(Some(to))?;
    outgoing.subscribe().block();
    outgoing.check_send()?;
    outgoing.send(&[OutgoingDatagram { data: b"hello".to_vec(), remote_address: None }]).map(drop)
}

fn resolve(name: &str) -> Result<(), ErrorCode> {
    let addresses = resolve_addresses(&instance_network(), name)?;
    addresses.subscribe().block();
    addresses.resolve_next_address().map(drop)
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
    if code == ErrorCode::AccessDenied { "PermissionDenied".to_owned() } else { "another reason".to_owned() }
}
