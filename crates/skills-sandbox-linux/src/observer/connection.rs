//! Makes the connections of a run that has local sockets.
//!
//! The kernel must continue none of them: while it looks, another thread can exchange both the
//! address and the socket, also an Internet socket for a local one. So the host process copies the
//! address once, takes the socket itself, and connects it. A local path is resolved in the scratch
//! space only; the kernel is then given the inode that was found, and not the path.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use libc::{c_int, c_long, seccomp_notif};
use nix::errno::Errno;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::address::CopiedAddress;
use super::is_waiting;
use super::network::parse_address;
use super::scratch::{LookupError, NamedPath, Scratch};

/// The most connections of a run that wait at once, such as for a listener with a full queue.
/// Each takes a thread of the host process.
const MAX_WAITING: usize = 16;
/// The most sockets in the network of a run. The kernel counts those that wait in the queue of a
/// listener for the host process, which made the connections.
const MAX_SOCKETS: u64 = 8_192;
/// The number of connections after which the sockets are counted again.
const COUNT_INTERVAL: u32 = 32;

/// Flag of `pidfd_open` for a thread that does not lead its process (Linux 6.9).
const PIDFD_THREAD: c_int = libc::O_EXCL;

/// The call of a program that wants a connection.
pub(super) struct ConnectCall {
    notification: seccomp_notif,
    /// Of the observer: its run must not wait for a thread that holds it.
    listener: Weak<OwnedFd>,
}

/// A connection to make. The host process may have the last descriptor of the socket, and closing
/// that blocks as long as the program wants: with `SO_LINGER` and a peer that never reads, or for a
/// file of a network. So it exists on a blocking thread only.
struct Connection {
    process: u32,
    socket: Arc<OwnedFd>,
    target: Target,
}

enum Target {
    /// An Internet address or an abstract name, which is one of the network of the socket.
    Address(CopiedAddress),
    Path(NamedPath),
}

/// How a connection ended. Its socket is closed.
pub(super) struct FinishedConnection {
    /// The number of the notification.
    pub(super) id: u64,
    pub(super) result: Result<(), LookupError>,
    /// The Internet address that it leads to.
    pub(super) address: Option<SocketAddr>,
    /// Whether a process of the run listens there, if it is an address of the run that is known to
    /// have a listener or none.
    pub(super) is_listening: Option<bool>,
    /// Whether the run had many sockets, if they were counted.
    has_many_sockets: Option<bool>,
}

impl ConnectCall {
    pub(super) fn new(notification: seccomp_notif, listener: &Arc<OwnedFd>) -> Self {
        Self {
            notification,
            listener: Arc::downgrade(listener),
        }
    }

    /// Returns true if the process still waits for the answer.
    fn is_waiting(&self) -> bool {
        let listener = self.listener.upgrade();
        listener.is_some_and(|listener| is_waiting(listener.as_raw_fd(), self.notification.id))
    }

    /// Makes the connection, and closes its socket. Blocks as long as the call of the program
    /// would, and as closing does. `None` if the run has ended.
    fn make(
        &self,
        scratch: Option<&Scratch>,
        waiting: &WaitingSocket,
        counts: bool,
    ) -> Option<FinishedConnection> {
        let mut finished = FinishedConnection {
            id: self.notification.id,
            result: Ok(()),
            address: None,
            is_listening: None,
            has_many_sockets: None,
        };
        let connection = match Connection::take(self) {
            Ok(connection) => connection,
            Err(error) => {
                finished.result = Err(error.into());
                return Some(finished);
            }
        };
        if !waiting.set(&connection.socket) {
            return None;
        }
        finished.has_many_sockets = counts.then(|| has_many_sockets(connection.process));
        finished.address = connection.internet_address();
        finished.result = if finished.has_many_sockets == Some(true) {
            // As if the queue of the listener were full.
            Err(Errno::EAGAIN.into())
        } else {
            connection.make(scratch)
        };
        finished.is_listening = connection.is_listening(&finished.result);
        Some(finished)
    }
}

impl Connection {
    /// Takes the socket of a call.
    ///
    /// # Errors
    /// With the error of the call; with `ESRCH` if it does not wait any more.
    fn take(call: &ConnectCall) -> Result<Self, Errno> {
        let notification = &call.notification;
        let address = CopiedAddress::read(notification)?;
        let process = notification.pid;
        let socket = copy_descriptor(process, notification.data.args[0] as c_int)?;
        let target = match family(&socket)? {
            libc::AF_INET | libc::AF_INET6 => Target::Address(address),
            libc::AF_UNIX => match address.local_path()? {
                Some(path) => Target::Path(NamedPath::of_process(process, path)?),
                None => Target::Address(address),
            },
            _ => return Err(Errno::EPERM),
        };
        // If the process has ended, its number, and so the socket, can be that of another one.
        if !call.is_waiting() {
            return Err(Errno::ESRCH);
        }
        Ok(Self {
            process,
            socket: Arc::new(socket),
            target,
        })
    }

    /// Returns the Internet address that it leads to.
    fn internet_address(&self) -> Option<SocketAddr> {
        match &self.target {
            Target::Address(address) => parse_address(address.bytes()),
            Target::Path(_) => None,
        }
    }

    /// Makes the connection. Blocks as long as the call of the program would.
    fn make(&self, scratch: Option<&Scratch>) -> Result<(), LookupError> {
        match &self.target {
            Target::Address(address) => Ok(connect(&self.socket, address.bytes())?),
            Target::Path(path) => {
                let scratch = scratch.ok_or(LookupError::Outside)?;
                let found = scratch.find_socket(path)?;
                Ok(connect(&self.socket, &address_of(&found))?)
            }
        }
    }

    /// Returns whether a process listens, as the result of the connection shows.
    fn is_listening(&self, result: &Result<(), LookupError>) -> Option<bool> {
        match result {
            Ok(()) => Some(true),
            Err(LookupError::Failed(Errno::ECONNREFUSED)) => Some(false),
            // The answer of a listener of the same machine has arrived already.
            Err(LookupError::Failed(Errno::EINPROGRESS)) => Some(!is_closed(&self.socket)),
            Err(_) => None,
        }
    }
}

/// The socket of a connection that was started, which only its thread owns. `None` after the run.
struct WaitingSocket(Mutex<Option<Weak<OwnedFd>>>);

impl WaitingSocket {
    fn new() -> Self {
        Self(Mutex::new(Some(Weak::new())))
    }

    /// Sets the socket. Returns false after the run.
    fn set(&self, socket: &Arc<OwnedFd>) -> bool {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match current.as_mut() {
            Some(current) => *current = Arc::downgrade(socket),
            None => return false,
        }
        true
    }

    /// Ends a connection that waits, also one that will be made. Blocks as closing does.
    fn end(&self) {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = socket.and_then(|socket| socket.upgrade()) {
            let _ =
                nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        }
    }
}

/// The connections of a run that wait.
pub(super) struct Connections {
    waiting: BTreeMap<u64, Arc<WaitingSocket>>,
    finished: Receiver<FinishedConnection>,
    sender: Sender<FinishedConnection>,
    started: u32,
    has_many_sockets: bool,
}

impl Connections {
    pub(super) fn new() -> Self {
        let (sender, finished) = channel(MAX_WAITING);
        Self {
            waiting: BTreeMap::new(),
            finished,
            sender,
            started: 0,
            has_many_sockets: false,
        }
    }

    /// Returns true if no other connection can be started before one has finished.
    pub(super) fn are_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    /// Starts a connection on a blocking thread.
    pub(super) fn start(
        &mut self,
        call: ConnectCall,
        scratch: Option<Arc<Scratch>>,
    ) -> Result<(), Errno> {
        let id = call.notification.id;
        let sender = self.sender.clone();
        let waiting = Arc::new(WaitingSocket::new());
        let socket = Arc::clone(&waiting);
        self.started = self.started.wrapping_add(1);
        let counts = self.has_many_sockets || self.started.is_multiple_of(COUNT_INTERVAL);
        let make = move || {
            if let Some(finished) = call.make(scratch.as_deref(), &socket, counts) {
                // There is room for each connection that waits. It fails after the run has ended.
                let _ = sender.try_send(finished);
            }
        };
        drop(skills_threads::spawn_blocking(make).map_err(|_| Errno::EAGAIN)?);
        self.waiting.insert(id, waiting);
        Ok(())
    }

    /// Waits for a connection that was started. Never returns if there is none. Cancel safe.
    pub(super) async fn next_finished(&mut self) -> FinishedConnection {
        match self.finished.recv().await {
            Some(finished) => {
                self.waiting.remove(&finished.id);
                self.has_many_sockets = finished.has_many_sockets.unwrap_or(self.has_many_sockets);
                finished
            }
            // There is a sender.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Connections {
    /// Ends connections that still wait, so that no thread waits longer than the run. One to a
    /// local socket ends with its listener, which is a process of the run.
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return;
        }
        // Without a thread, connections to Internet sockets end when the kernel gives up.
        let end = move || waiting.values().for_each(|socket| socket.end());
        let _ = skills_threads::spawn_blocking(end);
    }
}

/// Returns true if the network of a process has more sockets than a run needs. Blocks.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the sockets of a network in a file"
)]
fn has_many_sockets(process: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{process}/net/sockstat"));
    // If it cannot be read, the process has ended.
    text.is_ok_and(|text| used_sockets(&text).is_none_or(|used| used > MAX_SOCKETS))
}

fn used_sockets(table: &str) -> Option<u64> {
    let used = table
        .lines()
        .find_map(|line| line.strip_prefix("sockets: used "))?;
    used.trim().parse().ok()
}

/// Returns the address of an open socket file: the kernel follows the link of the descriptor to the
/// inode, whatever its path leads to by now.
fn address_of(file: &OwnedFd) -> Vec<u8> {
    let mut address = Vec::from((libc::AF_UNIX as libc::sa_family_t).to_ne_bytes());
    address.extend(format!("/proc/self/fd/{}\0", file.as_raw_fd()).bytes());
    address
}

/// Returns true if this process may copy descriptors, as far as its own ones show.
pub(crate) fn can_copy_descriptors() -> bool {
    let own = open_process(std::process::id());
    own.is_ok_and(|own| get_descriptor(&own, own.as_raw_fd()).is_ok())
}

/// Copies a descriptor of a thread's process.
fn copy_descriptor(thread: u32, descriptor: c_int) -> Result<OwnedFd, Errno> {
    get_descriptor(&open_process(thread)?, descriptor)
}

/// Opens the process of a thread.
fn open_process(thread: u32) -> Result<OwnedFd, Errno> {
    match open_pidfd(thread, PIDFD_THREAD) {
        // An older kernel, which opens only the thread that leads its process.
        Err(Errno::EINVAL) => open_pidfd(leader(thread).ok_or(Errno::ESRCH)?, 0),
        opened => opened,
    }
}

/// Returns the number of the thread that leads the process of a thread.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel reports the threads of a process in files"
)]
fn leader(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    leader.trim().parse().ok()
}

#[expect(unsafe_code, reason = "no wrapper knows this call")]
fn open_pidfd(pid: u32, flags: c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointer, and returns a new descriptor.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_open, pid, flags)) }
}

#[expect(unsafe_code, reason = "no wrapper knows this call")]
fn get_descriptor(process: &OwnedFd, descriptor: c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointer, and returns a new descriptor.
    unsafe {
        owned(libc::syscall(
            libc::SYS_pidfd_getfd,
            process.as_raw_fd(),
            descriptor,
            0,
        ))
    }
}

/// Owns the descriptor that a call returned.
///
/// # Safety
/// It must be a new one.
#[expect(unsafe_code, reason = "calls without a wrapper return bare numbers")]
unsafe fn owned(result: c_long) -> Result<OwnedFd, Errno> {
    let number = Errno::result(result)?;
    let number = RawFd::try_from(number).map_err(|_| Errno::EBADF)?;
    // SAFETY: the caller promises that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Returns true if a TCP socket is neither connected nor waits for an answer.
#[expect(unsafe_code, reason = "no wrapper knows this option")]
fn is_closed(socket: &OwnedFd) -> bool {
    const CLOSED: u8 = 7;
    // The first byte of the structure; the kernel writes no more than the passed length.
    let mut state = 0u8;
    let mut length = size_of::<u8>() as libc::socklen_t;
    // SAFETY: writes a local number of the passed length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut state).cast(),
            &raw mut length,
        )
    };
    result == 0 && state == CLOSED
}

#[expect(unsafe_code, reason = "no wrapper knows this option")]
fn family(socket: &OwnedFd) -> Result<c_int, Errno> {
    let mut family: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: writes a local number of the passed length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_DOMAIN,
            (&raw mut family).cast(),
            &raw mut length,
        )
    };
    Errno::result(result).map(|_| family)
}

#[expect(unsafe_code, reason = "the wrapper takes no bytes")]
fn connect(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    loop {
        // SAFETY: the kernel reads the slice.
        let result = unsafe {
            libc::connect(
                socket.as_raw_fd(),
                address.as_ptr().cast(),
                address.len() as libc::socklen_t,
            )
        };
        match Errno::result(result) {
            // A signal to the host process is none to the program.
            Err(Errno::EINTR) => {}
            result => return result.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_a_network_are_counted() {
        let text = "sockets: used 12\nTCP: inuse 3 orphan 0 tw 0 alloc 4 mem 0\n";
        assert_eq!(used_sockets(text), Some(12));
        assert_eq!(used_sockets("TCP: inuse 3"), None);
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let find = move || {
            let thread = nix::unistd::gettid().as_raw().unsigned_abs();
            sender.send(leader(thread)).unwrap();
        };
        skills_threads::spawn("test", find).unwrap();
        assert_eq!(receiver.recv().unwrap(), Some(std::process::id()));
    }
}
