//! The socket through which the child sends listeners to the host process.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use libc::{c_int, c_uint};

use super::syscall::{StepError, check_result, fail, system_call};
use crate::setup_step::SetupStep;

/// Marks the socket on which the host process serves the proxy.
pub(crate) const NETWORK_LISTENER: u8 = b'n';
/// Marks a socket on which the host process forwards connections to a service of its loopback
/// device with the same port.
pub(crate) const SERVICE_LISTENER: u8 = b's';
/// Marks the socket on which the host process answers name lookups.
pub(crate) const NAME_LISTENER: u8 = b'd';
/// Marks the home directory of the run.
pub(crate) const HOME_DIRECTORY: u8 = b'h';
/// Marks the directory with what the program writes in its own directory.
pub(crate) const LAYER_DIRECTORY: u8 = b'l';
/// Marks the mount namespace of the run.
pub(crate) const MOUNT_NAMESPACE: u8 = b'm';
/// Marks the listener of the seccomp filter.
pub(crate) const FILTER_LISTENER: u8 = b'f';

/// A buffer for one control message with one descriptor, aligned for `cmsghdr`.
#[repr(C, align(8))]
struct ControlMessage([u8; 32]);

/// Sends a descriptor to the host process, with a byte that says what it is.
pub(super) fn send_descriptor(
    descriptor: c_int,
    purpose: u8,
    channel: c_int,
    step: SetupStep,
) -> Result<(), StepError> {
    let mut byte = [purpose];
    let mut control = ControlMessage([0; 32]);
    // SAFETY: the message points to local buffers that live until the call returns; the control
    // buffer is large enough for one descriptor.
    unsafe {
        let mut part = libc::iovec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: byte.len(),
        };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as c_uint) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return Err(fail(libc::EINVAL, step));
        }
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as c_uint) as _;
        libc::CMSG_DATA(header)
            .cast::<c_int>()
            .write_unaligned(descriptor);
        check_result(
            system_call!(
                libc::SYS_sendmsg,
                channel,
                &raw const message,
                libc::MSG_NOSIGNAL,
            ),
            step,
        )
        .map(drop)
    }
}
