//! Opens listeners in the network namespace of a container.
//!
//! A process has to be single-threaded to enter a user namespace, and a network namespace belongs to
//! one. So a child process enters both. It shares the table of descriptors, so the sockets that it
//! opens are those of this process; it writes their numbers into a pipe.
#![expect(
    unsafe_code,
    reason = "the child of a process with threads may only make system calls"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel about processes, not of a skill"
)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::mem;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use libc::{c_int, c_long};

/// Connections that the kernel queues.
const BACKLOG: c_int = 64;
/// Size of a number in the pipe.
const NUMBER_BYTES: usize = mem::size_of::<i32>();

/// The namespaces that the child enters.
struct Namespaces {
    /// `None` if it is that of this process.
    user: Option<File>,
    network: File,
}

/// Listens on ports of the loopback device of the network of a process.
///
/// # Errors
/// Fails if this process may not enter the namespace.
pub(crate) fn listen(pid: i32, ports: &[u16]) -> io::Result<Vec<TcpListener>> {
    let namespaces = Namespaces::open(pid)?;
    let addresses: Vec<libc::sockaddr_in> = ports.iter().map(|port| loopback(*port)).collect();
    let (reader, writer) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let child = spawn_sharing_descriptors(&namespaces, &addresses, writer.as_raw_fd())?;
    let mut numbers = vec![0; addresses.len() * NUMBER_BYTES];
    // The child shares the descriptors, so the pipe ends only when it is closed here too.
    let ended = wait(child);
    drop(writer);
    let read = File::from(reader).read(&mut numbers)?;
    let listeners = numbers
        .get(..read)
        .unwrap_or_default()
        .chunks_exact(NUMBER_BYTES)
        .filter_map(|number| Some(i32::from_ne_bytes(number.try_into().ok()?)))
        // SAFETY: the child created these sockets in the table of this process, for this caller.
        .map(|number| TcpListener::from(unsafe { OwnedFd::from_raw_fd(number) }));
    let listeners: Vec<TcpListener> = listeners.collect();
    match ended? {
        0 if listeners.len() == addresses.len() => Ok(listeners),
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

impl Namespaces {
    fn open(pid: i32) -> io::Result<Self> {
        let path = format!("/proc/{pid}/ns/user");
        let is_own = fs::metadata(&path)?.ino() == fs::metadata("/proc/self/ns/user")?.ino();
        Ok(Self {
            user: (!is_own).then(|| File::open(path)).transpose()?,
            network: File::open(format!("/proc/{pid}/ns/net"))?,
        })
    }
}

fn loopback(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET.try_into().unwrap_or_default(),
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_be_bytes([127, 0, 0, 1]).to_be(),
        },
        sin_zero: [0; 8],
    }
}

/// Creates the child. Its exit code is 0 or the number of an error.
fn spawn_sharing_descriptors(
    namespaces: &Namespaces,
    addresses: &[libc::sockaddr_in],
    pipe: RawFd,
) -> io::Result<libc::pid_t> {
    let user = namespaces.user.as_ref().map(AsRawFd::as_raw_fd);
    let network = namespaces.network.as_raw_fd();
    let flags = c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    // SAFETY: as `fork`, since no memory is shared. The child allocates nothing and takes no lock.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = run_child(user, network, addresses, pipe);
            // SAFETY: ends the child at once, without handlers of this process.
            unsafe { libc::_exit(code) }
        }
        pid => libc::pid_t::try_from(pid).map_err(io::Error::other),
    }
}

/// Enters the namespaces and opens the sockets. Runs in the child.
fn run_child(
    user: Option<RawFd>,
    network: RawFd,
    addresses: &[libc::sockaddr_in],
    pipe: RawFd,
) -> c_int {
    // SAFETY: system calls with descriptors that are open, and memory that lives until they return.
    unsafe {
        if user.is_some_and(|user| libc::setns(user, libc::CLONE_NEWUSER) != 0)
            || libc::setns(network, libc::CLONE_NEWNET) != 0
        {
            return last_error();
        }
        for address in addresses {
            let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            let socket = libc::socket(libc::AF_INET, kind, 0);
            let length = mem::size_of::<libc::sockaddr_in>() as libc::socklen_t;
            if socket < 0
                || libc::bind(socket, (&raw const *address).cast(), length) != 0
                || libc::listen(socket, BACKLOG) != 0
                || libc::write(pipe, (&raw const socket).cast(), NUMBER_BYTES)
                    != NUMBER_BYTES as isize
            {
                return last_error();
            }
        }
    }
    0
}

fn last_error() -> c_int {
    io::Error::last_os_error()
        .raw_os_error()
        .filter(|code| (1..256).contains(code))
        .unwrap_or(libc::EIO)
}

/// Waits for the child, and returns its exit code.
fn wait(child: libc::pid_t) -> io::Result<c_int> {
    use nix::sys::wait::{WaitStatus, waitpid};
    loop {
        match waitpid(nix::unistd::Pid::from_raw(child), None) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(code),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use skills_test_support::skip;

    use super::*;

    /// Brings the loopback device up, as runtimes do, and waits.
    const SCRIPT: &str = "import fcntl, socket, struct, time\nfcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 1, b''))\nprint('up', flush=True)\ntime.sleep(60)";

    #[test]
    fn listeners_are_in_the_namespaces_of_the_process() {
        let mut child = Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--net",
                "/usr/bin/python3",
                "-c",
                SCRIPT,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        if line != "up\n" {
            child.wait().unwrap();
            skip("user and network namespaces cannot be created".to_owned());
            return;
        }
        let pid = i32::try_from(child.id()).unwrap();
        let listeners = listen(pid, &[3128, 8080]).unwrap();
        let ports: Vec<u16> = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap().port())
            .collect();
        let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
        let missing = listen(i32::MAX, &[1]).unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ports, [3128, 8080]);
        assert!(sockets.contains("0100007F:0C38"), "{sockets}");
        assert!(sockets.contains("0100007F:1F90"), "{sockets}");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
