//! Observes operations that the seccomp filter refuses, for the hints of a result.
//!
//! ```text
//! program --fork, socket, execve, connect, mmap--> filter --notification--> host process
//!         <--an error, or the kernel continues the call---------------------'  records it
//! ```
//!
//! The filter decides which calls need an answer. Most answers are always the same: the error that
//! the filter alone would have returned, or that the kernel continues the call. The latter is for
//! `execve`, about which Landlock decides, and for `connect` in a run without local sockets, which
//! leads nowhere but to the run's own network. Only of shared memory some is allowed and some not,
//! by its length, which is in a register and stays as it is. So nothing depends on what is read
//! from the program, which may change it at any time. In a run with local sockets the host process
//! makes [connections](connection) and [files in memory](memory_file) itself, from one copy of what
//! the program wants. Once the listener is closed, calls that wait for an answer fail.

mod address;
mod connection;
mod granted_programs;
mod memory_file;
mod network;
mod program;
mod scratch;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libc::{c_int, c_long, seccomp_notif, seccomp_notif_resp};
use nix::errno::Errno;
use skills_egress::ProxySummary;
use skills_sandbox::{Evidence, NeverAllowed, Refusal, Refusals, RefusedOperation, SandboxError};
use skills_seccomp::{DeniedFamily, HOST_SOCKETS, shared_mapping_bytes};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::local_sockets::LocalSockets;
use crate::plan::Plan;
use crate::shared_mappings::SharedMappings;
use address::CopiedAddress;
pub(crate) use connection::can_copy_descriptors;
use connection::{ConnectCall, Connections, FinishedConnection};
pub(crate) use granted_programs::GrantedPrograms;
use network::{Destination, NetworkObserver, OwnConnection, OwnConnections, parse_address};
use program::read_program;
use scratch::{LookupError, Scratch};

/// Lets a notification wake the host process on the same processor (Linux 6.6).
const SYNC_WAKE_UP: u64 = 1;

/// How long a connection waits for others of its run before it fails.
const MAX_QUEUED: Duration = Duration::from_millis(100);

/// Answers the notifications of one run and records the refusals.
pub(crate) struct Observer {
    listener: AsyncFd<Arc<OwnedFd>>,
    programs: GrantedPrograms,
    networks: NetworkObserver,
    /// Whether hosts are granted, which a proxy connects to.
    has_hosts: bool,
    connections: ConnectionMode,
    mappings: Arc<SharedMappings>,
    memory_limit_bytes: u64,
    records: Mutex<Records>,
}

/// Who makes the connections of a run.
enum ConnectionMode {
    /// The kernel, since the run has no local sockets.
    Kernel,
    /// The host process, to local sockets in the scratch space if that is known.
    Host(Option<Arc<Scratch>>),
}

/// What was observed so far.
#[derive(Default)]
struct Records {
    refusals: Refusals,
    own_network: OwnConnections,
}

/// What a call tried.
enum Tried {
    /// An operation that is refused.
    Refused(RefusedOperation),
    /// A connection in the network of the run, which fails unless one of its processes listens.
    OwnNetwork(OwnConnection),
}

/// What a notified call tries.
enum NotifiedCall {
    Process,
    Socket,
    /// A call that no rule allows.
    Never(&'static DeniedFamily),
    Program,
    /// A connection that the kernel continues.
    Connection,
    /// A connection that the host process makes.
    HostConnection,
    /// A file in memory that the host process creates.
    MemoryFile(Arc<Scratch>),
    /// A mapping of shared memory of a length in bytes.
    SharedMapping(u64),
}

/// The answer to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The kernel continues the call.
    Continue,
    /// The call succeeded.
    Success,
    Failure(Errno),
}

impl Observer {
    /// Creates the observer of a run, unless its filter has no listener. `home` is the home
    /// directory in its scratch space, for a run with local sockets. Must be called in a Tokio
    /// runtime with I/O enabled.
    pub(crate) fn start(
        listener: Option<OwnedFd>,
        plan: &Plan,
        programs: GrantedPrograms,
        local_sockets: LocalSockets,
        home: Option<&OwnedFd>,
        mappings: &Arc<SharedMappings>,
    ) -> Result<Option<Self>, SandboxError> {
        let Some(listener) = listener else {
            return Ok(None);
        };
        set_sync_wake_up(&listener);
        Ok(Some(Self {
            listener: register(listener)
                .map_err(|error| SandboxError::setup("observing the process", error))?,
            programs,
            networks: NetworkObserver::new(plan.network, &plan.services),
            has_hosts: plan.network.proxy_port().is_some(),
            connections: match local_sockets {
                LocalSockets::Denied => ConnectionMode::Kernel,
                LocalSockets::Supervised => {
                    let scratch = home.and_then(|home| Scratch::around(home).ok());
                    ConnectionMode::Host(scratch.map(Arc::new))
                }
            },
            mappings: Arc::clone(mappings),
            memory_limit_bytes: plan.limits.memory_bytes,
            records: Mutex::default(),
        }))
    }

    /// Answers notifications until the last process of the run has ended. If the future is dropped,
    /// calls that wait for an answer are answered by the next future, or fail when the observer is
    /// dropped; one that was read but not answered waits for the latter.
    pub(crate) async fn observe(&self) {
        let mut connections = Connections::new();
        loop {
            let mut guard = tokio::select! {
                biased;
                finished = connections.next_finished() => {
                    self.finish(finished);
                    continue;
                }
                guard = self.listener.readable() => match guard {
                    Ok(guard) => guard,
                    Err(_) => return,
                }
            };
            match self.poll() {
                Pending::Notification => self.answer_next(&mut connections).await,
                Pending::Nothing => guard.clear_ready(),
                Pending::Ended => return,
            }
            // The listener stays ready while a program repeats such calls. Without this, neither the
            // deadline nor a cancellation of the run would be polled again.
            tokio::task::yield_now().await;
        }
    }

    /// Returns what was refused.
    pub(crate) fn into_refusals(self) -> Refusals {
        let Records {
            mut refusals,
            own_network,
        } = self
            .records
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        own_network.add_unanswered(&mut refusals);
        refusals
    }

    #[expect(
        unsafe_code,
        reason = "polling a descriptor that is registered with Tokio"
    )]
    fn poll(&self) -> Pending {
        let mut entry = libc::pollfd {
            fd: self.listener.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one local structure, whose number is passed.
        unsafe { libc::poll(&raw mut entry, 1, 0) };
        if entry.revents & libc::POLLIN != 0 {
            Pending::Notification
        } else if entry.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
            Pending::Ended
        } else {
            Pending::Nothing
        }
    }

    async fn answer_next(&self, connections: &mut Connections) {
        // Fails if the process was killed in the meantime; then nothing waits for an answer.
        let Ok(notification) = receive(self.listener.as_raw_fd()) else {
            return;
        };
        let call = self.notified_call(&notification);
        let answer = self.decide(&call).await;
        // Read before the answer: a started program has another memory.
        let tried = self.read_call(&call, answer, &notification).await;
        // What was read is of this call only if it still waits.
        let is_waiting = self.is_waiting(&notification);
        match answer {
            Some(answer) => self.answer(notification.id, answer),
            None => self.perform(&call, &notification, connections).await,
        }
        if let Some(tried) = tried.filter(|_| is_waiting) {
            self.record(tried);
        }
    }

    /// Returns the answer to a call; `None` if the host process makes it itself. The kernel
    /// continues only those that start a program or a connection, and shared memory that fits into
    /// the limit.
    async fn decide(&self, call: &NotifiedCall) -> Option<Answer> {
        match call {
            NotifiedCall::Program | NotifiedCall::Connection => Some(Answer::Continue),
            NotifiedCall::SharedMapping(length) if self.mappings.admit(*length).await => {
                Some(Answer::Continue)
            }
            NotifiedCall::SharedMapping(_) => Some(Answer::Failure(Errno::ENOMEM)),
            NotifiedCall::Process | NotifiedCall::Socket | NotifiedCall::Never(_) => {
                Some(Answer::Failure(Errno::EPERM))
            }
            NotifiedCall::HostConnection | NotifiedCall::MemoryFile(_) => None,
        }
    }

    /// Makes a call in place of the program.
    async fn perform(
        &self,
        call: &NotifiedCall,
        notification: &seccomp_notif,
        connections: &mut Connections,
    ) {
        let result = match call {
            NotifiedCall::MemoryFile(scratch) => scratch
                .create_file()
                .and_then(|file| memory_file::give(self.listener.as_raw_fd(), notification, &file)),
            _ => self.begin_connection(notification, connections).await,
        };
        if let Err(error) = result {
            self.answer(notification.id, Answer::Failure(error));
        }
    }

    async fn begin_connection(
        &self,
        notification: &seccomp_notif,
        connections: &mut Connections,
    ) -> Result<(), Errno> {
        while connections.are_full() {
            match timeout(MAX_QUEUED, connections.next_finished()).await {
                Ok(finished) => self.finish(finished),
                Err(_) => return Err(Errno::EAGAIN),
            }
        }
        let scratch = match &self.connections {
            ConnectionMode::Kernel => None,
            ConnectionMode::Host(scratch) => scratch.clone(),
        };
        let call = ConnectCall::new(*notification, self.listener.get_ref());
        connections.start(call, scratch)
    }

    /// Answers a connection that was made, or was not.
    fn finish(&self, finished: FinishedConnection) {
        let destination = finished
            .address
            .map(|address| self.networks.destination(address));
        match (destination, finished.is_listening) {
            (Some(Destination::Host(operation)), _) => self.record(Tried::Refused(operation)),
            (Some(Destination::Own(port)), Some(is_listening)) => {
                self.record(Tried::OwnNetwork(OwnConnection { port, is_listening }));
            }
            (Some(Destination::Own(_) | Destination::Served) | None, _) => {}
        }
        let answer = match finished.result {
            Ok(()) => Answer::Success,
            Err(LookupError::Failed(error)) => Answer::Failure(error),
            Err(LookupError::Outside) => {
                self.record(Tried::Refused(never_allowed(&HOST_SOCKETS)));
                // As if the file did not allow it.
                Answer::Failure(Errno::EACCES)
            }
        };
        self.answer(finished.id, answer);
    }

    fn is_waiting(&self, notification: &seccomp_notif) -> bool {
        is_waiting(self.listener.as_raw_fd(), notification.id)
    }

    fn answer(&self, id: u64, answer: Answer) {
        send_answer(self.listener.as_raw_fd(), id, answer);
    }

    /// Returns what a call tries.
    fn notified_call(&self, notification: &seccomp_notif) -> NotifiedCall {
        let (number, args) = (c_long::from(notification.data.nr), &notification.data.args);
        if let Some(length) = shared_mapping_bytes(number, args) {
            return NotifiedCall::SharedMapping(length);
        }
        let is_internet = matches!(args[0] as c_int, libc::AF_INET | libc::AF_INET6);
        // Other protocols of a stream, such as MPTCP, are probed without a connection.
        let is_usual = args[1] as c_int & 0xf == libc::SOCK_DGRAM
            || matches!(args[2] as c_int, 0 | libc::IPPROTO_TCP);
        match number {
            libc::SYS_execve | libc::SYS_execveat => NotifiedCall::Program,
            libc::SYS_connect => match self.connections {
                ConnectionMode::Kernel => NotifiedCall::Connection,
                ConnectionMode::Host(_) => NotifiedCall::HostConnection,
            },
            // With granted hosts a program has no use for the kinds of sockets that are refused.
            libc::SYS_socket if is_internet && is_usual && !self.has_hosts => NotifiedCall::Socket,
            libc::SYS_memfd_create if let Some(scratch) = self.memory_file(notification) => {
                NotifiedCall::MemoryFile(scratch)
            }
            _ => match DeniedFamily::of_call(number, args) {
                Some(family) => NotifiedCall::Never(family),
                None => NotifiedCall::Process,
            },
        }
    }

    /// Returns where the file in memory is created that a call wants. `None` if it is refused.
    fn memory_file(&self, notification: &seccomp_notif) -> Option<Arc<Scratch>> {
        match &self.connections {
            ConnectionMode::Host(Some(scratch)) if memory_file::is_possible(notification) => {
                Some(Arc::clone(scratch))
            }
            ConnectionMode::Host(_) | ConnectionMode::Kernel => None,
        }
    }

    /// Returns what a call tries, as far as it is refused.
    async fn read_call(
        &self,
        call: &NotifiedCall,
        answer: Option<Answer>,
        notification: &seccomp_notif,
    ) -> Option<Tried> {
        let operation = match call {
            NotifiedCall::SharedMapping(_) if answer == Some(Answer::Continue) => return None,
            NotifiedCall::SharedMapping(_) => RefusedOperation::UseMemory {
                limit_bytes: self.memory_limit_bytes,
            },
            NotifiedCall::Process => RefusedOperation::StartProcess,
            NotifiedCall::Socket => RefusedOperation::Connect { host: None },
            NotifiedCall::Never(family) => never_allowed(family),
            NotifiedCall::MemoryFile(_) | NotifiedCall::HostConnection => return None,
            NotifiedCall::Program => {
                let program = read_program(notification)?;
                self.programs.refused(&program)?
            }
            NotifiedCall::Connection => {
                let address = CopiedAddress::read(notification).ok()?;
                let address = parse_address(address.bytes())?;
                return self.networks.tried(notification.pid, address).await;
            }
        };
        Some(Tried::Refused(operation))
    }

    fn record(&self, tried: Tried) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        match tried {
            Tried::Refused(operation) => records
                .refusals
                .add(Refusal::new(operation, Evidence::Kernel)),
            Tried::OwnNetwork(connection) => records.own_network.add(connection),
        }
    }
}

fn never_allowed(family: &DeniedFamily) -> RefusedOperation {
    RefusedOperation::NeverAllowed(NeverAllowed {
        family: family.name,
        text: family.operation,
        reason: family.reason,
        is_probed: family.is_probed,
    })
}

/// Awaits a run, while its notifications are answered.
pub(crate) async fn observed<T>(run: impl Future<Output = T>, observer: Option<&Observer>) -> T {
    let mut run = pin!(run);
    if let Some(observer) = observer {
        tokio::select! {
            biased;
            result = &mut run => return result,
            // The last process has ended, and its output is still read.
            () = observer.observe() => {}
        }
    }
    run.await
}

/// Returns what the filter and the proxy refused.
pub(crate) fn refusals(observer: Option<Observer>, summary: &ProxySummary) -> Refusals {
    let mut refusals = observer.map(Observer::into_refusals).unwrap_or_default();
    for (host, count) in summary.rejected_hosts() {
        refusals.add_connections(host, count);
    }
    refusals
}

/// What the listener has.
enum Pending {
    Notification,
    Nothing,
    Ended,
}

#[expect(
    unsafe_code,
    reason = "registering a descriptor with Tokio is unsafe in general"
)]
fn register(listener: OwnedFd) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the
    // `AsyncFd` shares it.
    unsafe { AsyncFd::register_with_interest(Arc::new(listener), Interest::READABLE) }
        .map_err(|error| error.into_parts().1)
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn set_sync_wake_up(listener: &OwnedFd) {
    // SAFETY: passes flags by value. Older kernels do not know the command, which is only about
    // speed.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
            SYNC_WAKE_UP,
        )
    };
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn receive(listener: RawFd) -> io::Result<seccomp_notif> {
    // SAFETY: the kernel requires a zeroed structure of plain data, and fills it.
    unsafe {
        let mut notification: seccomp_notif = std::mem::zeroed();
        let result = libc::ioctl(
            listener,
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut notification,
        );
        check(result).map(|()| notification)
    }
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn send_answer(listener: RawFd, id: u64, answer: Answer) {
    let (error, flags) = match answer {
        Answer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Answer::Success => (0, 0),
        Answer::Failure(error) => (-(error as i32), 0),
    };
    let mut response = seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the structure is local plain data of the kernel's layout. It fails if the process was
    // killed; then nothing waits for an answer.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
}

#[expect(unsafe_code, reason = "no wrapper knows this command")]
fn is_waiting(listener: RawFd, id: u64) -> bool {
    // SAFETY: the kernel reads the local number.
    let result =
        unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) };
    check(result).is_ok()
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
