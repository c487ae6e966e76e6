//! System calls as the child makes them: straight to the kernel, since the C library's functions
//! may lock or end the thread.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::{c_int, c_long};

use crate::setup_step::SetupStep;

/// A descriptor of the child, closed when it goes out of scope. The child's table of descriptors is
/// its own copy.
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    pub(crate) fn number(&self) -> c_int {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: closes a descriptor of the child's own table, which nothing else in the child
        // uses.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Turns the answer of a system call into a step's result.
pub(crate) fn check_result(answer: c_long, step: SetupStep) -> Result<c_long, SetupStep> {
    if answer < 0 { Err(step) } else { Ok(answer) }
}

/// As [`check`], for calls that return a descriptor.
pub(crate) fn check_descriptor(answer: c_long, step: SetupStep) -> Result<Descriptor, SetupStep> {
    check_result(answer, step).map(|number| Descriptor(number as c_int))
}

pub(crate) fn open(
    directory: c_int,
    path: &CStr,
    flags: c_int,
    step: SetupStep,
) -> Result<Descriptor, SetupStep> {
    // SAFETY: the path is a valid string.
    check_descriptor(
        unsafe {
            libc::syscall(
                libc::SYS_openat,
                directory,
                path.as_ptr(),
                flags | libc::O_CLOEXEC,
                0o644,
            )
        },
        step,
    )
}

/// Opens a path without following any symlink, `/proc`'s magic ones included.
pub(crate) fn open_no_symlinks(
    directory: c_int,
    path: &CStr,
    step: SetupStep,
) -> Result<Descriptor, SetupStep> {
    // SAFETY: zeroed plain data; the size is the structure's own; the path is a valid string.
    let answer = unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = (libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64;
        how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
        libc::syscall(
            libc::SYS_openat2,
            directory,
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    check_descriptor(answer, step)
}

/// Writes all of `bytes` at once, or fails.
pub(crate) fn write(to: c_int, bytes: &[u8], step: SetupStep) -> Result<(), SetupStep> {
    // SAFETY: the pointer and length are those of a slice.
    let written = check_result(
        unsafe { libc::syscall(libc::SYS_write, to, bytes.as_ptr(), bytes.len()) },
        step,
    )?;
    if written as usize == bytes.len() {
        Ok(())
    } else {
        Err(fail(libc::EIO, step))
    }
}

/// Returns device and number of an open file.
pub(crate) fn identity(of: &Descriptor, step: SetupStep) -> Result<(u64, u64), SetupStep> {
    // SAFETY: zeroed plain data that the kernel fills; the empty path with its flag means the
    // descriptor itself.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        let answer = libc::syscall(
            libc::SYS_newfstatat,
            of.number(),
            c"".as_ptr(),
            &raw mut found,
            libc::AT_EMPTY_PATH,
        );
        check_result(answer, step)?;
        Ok((found.st_dev, found.st_ino))
    }
}

/// Fails with an error of our own.
pub(crate) fn fail(errno: i32, step: SetupStep) -> SetupStep {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = errno };
    step
}

pub(crate) fn errno() -> i32 {
    // SAFETY: the C library's own place for the last error of this thread, which sleeps.
    unsafe { *libc::__errno_location() }
}
