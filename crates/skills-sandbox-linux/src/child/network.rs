//! The network namespace of the child: a loopback device and, with granted hosts, one listener that
//! is sent to the host process, which serves the proxy on it.
//!
//! The listener is created in the namespace and used outside of it, so the proxy needs no route
//! between the two networks.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use libc::c_int;

use super::channel::{self, NETWORK_LISTENER};
use super::syscall::{check_descriptor, check_result};
use crate::child_setup::Listener;
use crate::setup_step::SetupStep;

/// The number of connections that can wait to be accepted.
const BACKLOG: c_int = 128;

/// Creates the listener and sends it to the host process.
pub(super) fn listen(listener: Listener) -> Result<(), SetupStep> {
    // SAFETY: system calls with local structures of plain data, whose sizes are their own.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let socket = check_descriptor(
            libc::syscall(libc::SYS_socket, libc::AF_INET, kind, 0),
            SetupStep::Network,
        )?;
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = listener.port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let size = size_of::<libc::sockaddr_in>();
        check_result(
            libc::syscall(libc::SYS_bind, socket.number(), &raw const address, size),
            SetupStep::Network,
        )?;
        check_result(
            libc::syscall(libc::SYS_listen, socket.number(), BACKLOG),
            SetupStep::Network,
        )?;
        channel::send_descriptor(
            socket.number(),
            NETWORK_LISTENER,
            listener.channel,
            SetupStep::Network,
        )
    }
}

/// Brings up the loopback device, so that processes of the run can connect to each other.
pub(super) fn bring_up_loopback() -> Result<(), SetupStep> {
    // SAFETY: as above; the name of the device is shorter than its field, which is zeroed.
    unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let socket = check_descriptor(
            libc::syscall(libc::SYS_socket, libc::AF_INET, kind, 0),
            SetupStep::Network,
        )?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        check_result(
            libc::syscall(
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
