//! Actions that look for a network.

use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp::OutgoingDatagram;
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::number;

/// Does what `action` says; `None` when there is no such action.
pub(crate) fn act(action: &str, rest: &[String]) -> Option<Result<String, String>> {
    let port = || rest.first().map_or(80, |port| number(port));
    let done = match action {
        "connect" => connect(port()).map_err(word),
        "listen" => listen().map_err(word),
        "datagram" => datagram(port()).map_err(word),
        "resolve" => resolve(&rest[0]).map_err(|_| "not resolved".to_owned()),
        _ => return None,
    };
    Some(done.map(|()| action.to_owned()))
}

fn connect(port: u16) -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), loopback(port))?;
    socket.subscribe().block();
    socket.finish_connect().map(drop)
}

fn listen() -> Result<(), ErrorCode> {
    let socket: TcpSocket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), loopback(0))?;
    socket.finish_bind()?;
    socket.start_listen()?;
    socket.finish_listen()
}

fn datagram(port: u16) -> Result<(), ErrorCode> {
    let socket = create_udp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), loopback(0))?;
    socket.finish_bind()?;
    let (_incoming, outgoing) = socket.stream(Some(loopback(port)))?;
    outgoing.subscribe().block();
    outgoing.check_send()?;
    outgoing.send(&[OutgoingDatagram { data: b"hello".to_vec(), remote_address: None }]).map(drop)
}

fn resolve(name: &str) -> Result<(), ErrorCode> {
    let addresses = resolve_addresses(&instance_network(), name)?;
    addresses.subscribe().block();
    addresses.resolve_next_address().map(drop)
}

fn loopback(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

fn word(code: ErrorCode) -> String {
    if code == ErrorCode::AccessDenied { "PermissionDenied".to_owned() } else { "another reason".to_owned() }
}
