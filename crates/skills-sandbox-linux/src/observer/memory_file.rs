//! Answers `memfd_create` with a file of the scratch space.
//!
//! No limit counts a real file in memory until it is mapped, and it can be executed: neither
//! Landlock nor a mount option applies to it. A file of the scratch space without a name is as
//! private, counts for the size of that space, and starts no program.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_uint, seccomp_notif};
use nix::errno::Errno;

/// Flags that a file of the scratch space is good for. It cannot be sealed or executed, and has no
/// huge pages; programs that want one of these do without the file, such as Chromium.
const POSSIBLE_FLAGS: c_uint = libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL;
/// Sends the answer together with the descriptor (Linux 5.14).
const ADD_AND_ANSWER: u32 = libc::SECCOMP_ADDFD_FLAG_SEND as u32;

/// Returns true if the file that a call wants can be one of the scratch space.
pub(super) fn is_possible(notification: &seccomp_notif) -> bool {
    flags(notification) & !POSSIBLE_FLAGS == 0
}

fn flags(notification: &seccomp_notif) -> c_uint {
    notification.data.args[1] as c_uint
}

/// Gives a file to the program as the result of its call.
#[expect(unsafe_code, reason = "no wrapper knows this command")]
pub(super) fn give(
    listener: RawFd,
    notification: &seccomp_notif,
    file: &OwnedFd,
) -> Result<(), Errno> {
    let closes = flags(notification) & libc::MFD_CLOEXEC != 0;
    let addition = libc::seccomp_notif_addfd {
        id: notification.id,
        flags: ADD_AND_ANSWER,
        srcfd: file.as_raw_fd().unsigned_abs(),
        newfd: 0,
        newfd_flags: if closes { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the structure is local plain data of the kernel's layout.
    let result = unsafe {
        libc::ioctl(
            listener,
            libc::SECCOMP_IOCTL_NOTIF_ADDFD,
            &raw const addition,
        )
    };
    Errno::result(result).map(drop)
}
