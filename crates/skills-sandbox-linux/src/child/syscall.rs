//! System calls of the child. They go directly to the kernel, since functions of the C library may
//! take a lock, cancel the thread, or write the `errno` of a thread of the host process.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::{c_int, c_long};

use crate::setup_step::SetupStep;

/// A descriptor of the child, closed when it goes out of scope. Until the child has its own copy of
/// the descriptor table, other threads of the host process can see it too, but none uses it.
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    pub(crate) fn number(&self) -> c_int {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: closes a descriptor that the child opened and that nothing else uses.
        unsafe { system_call!(libc::SYS_close, self.0) };
    }
}

/// Makes a system call: its number, then its arguments. Returns what the kernel returns, which is a
/// negative error number if it failed; `errno` is neither read nor written.
macro_rules! system_call {
    ($($argument:expr),+ $(,)?) => {
        ::syscalls::raw_syscall!($($argument),+) as isize as ::libc::c_long
    };
}
pub(crate) use system_call;

/// A setup step that failed, with an error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepError {
    pub(crate) step: SetupStep,
    pub(crate) errno: i32,
}

/// Converts the return value of a system call to the result of a step.
pub(crate) fn check_result(value: c_long, step: SetupStep) -> Result<c_long, StepError> {
    if value < 0 {
        Err(fail(-value as i32, step))
    } else {
        Ok(value)
    }
}

/// Does the same as [`check_result`], for calls that return a descriptor.
pub(crate) fn check_descriptor(value: c_long, step: SetupStep) -> Result<Descriptor, StepError> {
    check_result(value, step).map(|number| Descriptor(number as c_int))
}

pub(crate) fn open(
    directory: c_int,
    path: &CStr,
    flags: c_int,
    step: SetupStep,
) -> Result<Descriptor, StepError> {
    // SAFETY: the path is a valid string.
    check_descriptor(
        unsafe {
            system_call!(
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

/// Opens a path without following any symlink, including the magic links of `/proc`: a path that
/// was replaced by a symlink since the parent opened it is an error.
pub(crate) fn open_no_symlinks(
    directory: c_int,
    path: &CStr,
    step: SetupStep,
) -> Result<Descriptor, StepError> {
    // SAFETY: zeroed plain data; the size is the structure's own; the path is a valid string.
    let result = unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = (libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64;
        how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
        system_call!(
            libc::SYS_openat2,
            directory,
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    check_descriptor(result, step)
}

/// Writes all of `bytes` in one call, or fails. Files of the kernel take a value only as a whole.
pub(crate) fn write(to: c_int, bytes: &[u8], step: SetupStep) -> Result<(), StepError> {
    // SAFETY: the pointer and length are those of a slice.
    let written = check_result(
        unsafe { system_call!(libc::SYS_write, to, bytes.as_ptr(), bytes.len()) },
        step,
    )?;
    if written as usize == bytes.len() {
        Ok(())
    } else {
        Err(fail(libc::EIO, step))
    }
}

/// Returns the device and inode number of an open file.
pub(crate) fn identity(file: &Descriptor, step: SetupStep) -> Result<(u64, u64), StepError> {
    // SAFETY: zeroed plain data that the kernel fills; the empty path with its flag means the
    // descriptor itself.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let result = system_call!(
            libc::SYS_newfstatat,
            file.number(),
            c"".as_ptr(),
            &raw mut stat,
            libc::AT_EMPTY_PATH,
        );
        check_result(result, step)?;
        Ok((stat.st_dev, stat.st_ino))
    }
}

/// Returns the error of a step that no system call reported.
pub(crate) fn fail(errno: i32, step: SetupStep) -> StepError {
    StepError { step, errno }
}
