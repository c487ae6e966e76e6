//! Reads which program a process is about to start.

use std::ffi::OsStr;
use std::fs::read_link;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libc::{c_long, c_void, seccomp_notif};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

/// The longest path of a program that is read; longer ones are not recorded.
const MAX_PATH_BYTES: usize = 4_096;

/// A program that a process is about to start.
pub(super) struct ObservedProgram {
    /// The last component of the path as it was written; that of the file if the call names none.
    pub(super) name: String,
    /// The file, by its path in the root file system of the process. `None` if it is not known.
    pub(super) target: Option<PathBuf>,
}

/// Reads the program of a call. `None` if it does not exist, since shells try each directory of the
/// search path, or if its path cannot be read.
///
/// It is resolved in the root of the process: a program must not find out from its refusals which
/// files exist elsewhere on the host.
pub(super) fn read_program(notification: &seccomp_notif) -> Option<ObservedProgram> {
    let [first, second, ..] = notification.data.args;
    let (directory, address) = if c_long::from(notification.data.nr) == libc::SYS_execveat {
        (first as i32, second)
    } else {
        (libc::AT_FDCWD, first)
    };
    let written = read_path(notification.pid, address)?;
    let target = match open_program(notification.pid, directory, &written) {
        Ok(file) => read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok(),
        // A relative path that leads out of its directory is not resolved.
        Err(Errno::EXDEV) => None,
        Err(_) => return None,
    };
    let name = written
        .file_name()
        .or_else(|| target.as_deref()?.file_name())?
        .to_string_lossy()
        .into_owned();
    Some(ObservedProgram { name, target })
}

fn open_program(pid: u32, directory: i32, path: &Path) -> Result<OwnedFd, Errno> {
    if path.is_absolute() {
        let root = open_of_process(pid, "root")?;
        return open_below(&root, path, ResolveFlag::RESOLVE_IN_ROOT);
    }
    let base = if directory == AT_FDCWD.as_raw_fd() {
        open_of_process(pid, "cwd")?
    } else {
        open_of_process(pid, &format!("fd/{directory}"))?
    };
    if path.as_os_str().is_empty() {
        return Ok(base);
    }
    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    open_below(&base, path, resolve)
}

/// Opens a link in the directory of a process, such as its root.
fn open_of_process(pid: u32, link: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    open(format!("/proc/{pid}/{link}").as_str(), flags, Mode::empty())
}

fn open_below(directory: &OwnedFd, path: &Path, resolve: ResolveFlag) -> Result<OwnedFd, Errno> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(resolve);
    openat2(directory, path, how)
}

/// Reads a path from the memory of a process. `None` if it cannot be read or is too long.
fn read_path(pid: u32, address: u64) -> Option<PathBuf> {
    const PAGE_BYTES: usize = 4_096;
    let mut bytes = [0u8; MAX_PATH_BYTES];
    let mut length = 0;
    // Page by page, since reading fails as a whole if the string is followed by an unmapped page.
    while length < bytes.len() {
        let start = usize::try_from(address).ok()?.checked_add(length)?;
        let part = (PAGE_BYTES - start % PAGE_BYTES).min(bytes.len() - length);
        let read = read_memory(pid, start, &mut bytes[length..length + part]).ok()?;
        if let Some(end) = bytes[length..length + read]
            .iter()
            .position(|byte| *byte == 0)
        {
            return Some(PathBuf::from(OsStr::from_bytes(&bytes[..length + end])));
        }
        length += read;
    }
    None
}

/// Reads memory of a process, and returns the number of bytes, at least 1.
#[expect(unsafe_code, reason = "reading the memory of another process")]
pub(super) fn read_memory(pid: u32, address: usize, buffer: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: buffer.len(),
    };
    // SAFETY: the local buffer has the passed length; the kernel checks the other address.
    let read = unsafe {
        libc::process_vm_readv(
            pid as libc::pid_t,
            &raw const local,
            1,
            &raw const remote,
            1,
            0,
        )
    };
    match usize::try_from(read) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(read) => Ok(read),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
