//! The network namespace of the child: a loopback device and, with granted hosts, listeners that
//! are sent to the host process. It serves the proxy on one, and forwards the connections of the
//! others to granted services of its own loopback device.
//!
//! The listeners are created in the namespace and used outside of it, so there is no route between
//! the two networks.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use libc::c_int;

use super::channel::{self, NAME_LISTENER, NETWORK_LISTENER, SERVICE_LISTENER};
use super::syscall::{Descriptor, StepError, check_descriptor, check_result, system_call};
use crate::child_setup::Listener;
use crate::name_server::NAME_SERVER_PORT;
use crate::setup_step::SetupStep;

/// The number of connections that can wait to be accepted.
const BACKLOG: c_int = 128;

/// Creates the listener of the proxy and sends it to the host process.
pub(super) fn listen(listener: Listener) -> Result<(), StepError> {
    let socket = socket(libc::AF_INET)?;
    listen_on_ipv4(&socket, listener.port)?;
    send(&socket, NETWORK_LISTENER, listener.channel)
}

/// Creates the listener for name lookups and sends it to the host process.
pub(super) fn listen_for_names(channel: c_int) -> Result<(), StepError> {
    let socket = socket(libc::AF_INET)?;
    listen_on_ipv4(&socket, NAME_SERVER_PORT)?;
    send(&socket, NAME_LISTENER, channel)
}

/// Creates the listener for a service, which programs reach by `127.0.0.1` and, if the kernel
/// supports IPv6, by `::1`.
pub(super) fn listen_for_service(port: u16, channel: c_int) -> Result<(), StepError> {
    let socket = if let Ok(socket) = socket(libc::AF_INET6) {
        listen_on_both(&socket, port)?;
        socket
    } else {
        let socket = socket(libc::AF_INET)?;
        listen_on_ipv4(&socket, port)?;
        socket
    };
    send(&socket, SERVICE_LISTENER, channel)
}

fn socket(family: c_int) -> Result<Descriptor, StepError> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: a system call without pointers.
    let socket = unsafe { system_call!(libc::SYS_socket, family, kind, 0) };
    check_descriptor(socket, SetupStep::Network)
}

fn send(socket: &Descriptor, purpose: u8, channel: c_int) -> Result<(), StepError> {
    channel::send_descriptor(socket.number(), purpose, channel, SetupStep::Network)
}

fn listen_on_ipv4(socket: &Descriptor, port: u16) -> Result<(), StepError> {
    // SAFETY: system calls with local structures of plain data, whose sizes are their own.
    unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let size = size_of::<libc::sockaddr_in>();
        check_result(
            system_call!(libc::SYS_bind, socket.number(), &raw const address, size),
            SetupStep::Network,
        )?;
        check_result(
            system_call!(libc::SYS_listen, socket.number(), BACKLOG),
            SetupStep::Network,
        )
        .map(drop)
    }
}

/// Listens on all addresses of both families, which are those of the loopback device.
fn listen_on_both(socket: &Descriptor, port: u16) -> Result<(), StepError> {
    // SAFETY: system calls with local structures of plain data, whose sizes are their own. The
    // zeroed address means all.
    unsafe {
        let only_ipv6: c_int = 0;
        check_result(
            system_call!(
                libc::SYS_setsockopt,
                socket.number(),
                libc::IPPROTO_IPV6,
                libc::IPV6_V6ONLY,
                &raw const only_ipv6,
                size_of::<c_int>(),
            ),
            SetupStep::Network,
        )?;
        let mut address: libc::sockaddr_in6 = std::mem::zeroed();
        address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
        address.sin6_port = port.to_be();
        let size = size_of::<libc::sockaddr_in6>();
        check_result(
            system_call!(libc::SYS_bind, socket.number(), &raw const address, size),
            SetupStep::Network,
        )?;
        check_result(
            system_call!(libc::SYS_listen, socket.number(), BACKLOG),
            SetupStep::Network,
        )
        .map(drop)
    }
}

/// Brings up the loopback device, so that processes of the run can connect to each other.
pub(super) fn bring_up_loopback() -> Result<(), StepError> {
    // SAFETY: as above; the name of the device is shorter than its field, which is zeroed.
    unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let socket = check_descriptor(
            system_call!(libc::SYS_socket, libc::AF_INET, kind, 0),
            SetupStep::Network,
        )?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        check_result(
            system_call!(
                libc::SYS_ioctl,
                socket.number(),
                libc::SIOCSIFFLAGS,
                &raw const request,
            ),
            SetupStep::Network,
        )
        .map(drop)
    }
}
