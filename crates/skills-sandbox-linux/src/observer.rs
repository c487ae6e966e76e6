//! Observes operations that the seccomp filter refuses, for the hints of a result.
//!
//! ```text
//! program --fork, socket, execve, connect--> filter --notification--> host process
//!         <--EPERM, or the kernel continues the call-------------------'  records it
//! ```
//!
//! The filter decides which calls need an answer, and the answer is always the same: the error that
//! the filter alone would have returned, or that the kernel continues the call. The latter is for
//! `execve`, about which Landlock decides, and for `connect`, which leads nowhere but to the run's
//! own network. So nothing depends on what is read from the program, which may change
//! it at any time. Once the listener is closed, calls that wait for an answer fail.

mod network;
mod program;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_long, seccomp_notif, seccomp_notif_resp};
use skills_egress::ProxySummary;
use skills_policy::SpawnGrant;
use skills_sandbox::{Evidence, NeverAllowed, Refusal, Refusals, RefusedOperation, SandboxError};
use skills_seccomp::DeniedFamily;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::path_rule::PathAccess;
use crate::plan::Plan;
use network::{NetworkObserver, OwnConnection, OwnConnections, read_address};
use program::{ObservedProgram, read_program};

/// Lets a notification wake the host process on the same processor (Linux 6.6).
const SYNC_WAKE_UP: u64 = 1;

/// Answers the notifications of one run and records the refusals.
pub(crate) struct Observer {
    listener: AsyncFd<OwnedFd>,
    programs: GrantedPrograms,
    networks: NetworkObserver,
    /// Whether hosts are granted, which a proxy connects to.
    has_hosts: bool,
    records: Mutex<Records>,
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

/// The programs that a run may start.
struct GrantedPrograms {
    spawn: SpawnGrant,
    /// Canonical paths at or below which Landlock lets programs start.
    executable: BTreeSet<PathBuf>,
}

/// What a notified call tries.
enum NotifiedCall {
    Process,
    Socket,
    /// A call that no rule allows.
    Never(&'static DeniedFamily),
    Program,
    Connection,
}

impl Observer {
    /// Creates the observer of a run, unless its filter has no listener. Must be called in a Tokio
    /// runtime with I/O enabled.
    pub(crate) fn start(
        listener: Option<OwnedFd>,
        plan: &Plan,
    ) -> Result<Option<Self>, SandboxError> {
        let Some(listener) = listener else {
            return Ok(None);
        };
        set_sync_wake_up(&listener);
        Ok(Some(Self {
            listener: register(listener)
                .map_err(|error| SandboxError::setup("observing the process", error))?,
            programs: GrantedPrograms::new(plan),
            networks: NetworkObserver::new(plan.network, &plan.services),
            has_hosts: plan.network.proxy_port().is_some(),
            records: Mutex::default(),
        }))
    }

    /// Answers notifications until the last process of the run has ended. If the future is dropped,
    /// calls that wait for an answer are answered by the next future, or fail when the observer is
    /// dropped; one that was read but not answered waits for the latter.
    pub(crate) async fn observe(&self) {
        loop {
            let Ok(mut guard) = self.listener.readable().await else {
                return;
            };
            match self.poll() {
                Pending::Notification => self.answer_next().await,
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

    async fn answer_next(&self) {
        // Fails if the process was killed in the meantime; then nothing waits for an answer.
        let Ok(notification) = receive(self.listener.as_raw_fd()) else {
            return;
        };
        let call = self.notified_call(&notification);
        // Read before the answer: a started program has another memory.
        let tried = self.read_call(&call, &notification).await;
        // What was read is of this call only if it still waits.
        let is_waiting = is_waiting(self.listener.as_raw_fd(), notification.id);
        answer(self.listener.as_raw_fd(), notification.id, &call);
        if let Some(tried) = tried.filter(|_| is_waiting) {
            self.record(tried);
        }
    }

    /// Returns what a call tries. The kernel continues only those that start a program or a
    /// connection.
    fn notified_call(&self, notification: &seccomp_notif) -> NotifiedCall {
        let (number, args) = (c_long::from(notification.data.nr), &notification.data.args);
        let is_internet = matches!(args[0] as c_int, libc::AF_INET | libc::AF_INET6);
        // Other protocols of a stream, such as MPTCP, are probed without a connection.
        let is_usual = args[1] as c_int & 0xf == libc::SOCK_DGRAM
            || matches!(args[2] as c_int, 0 | libc::IPPROTO_TCP);
        match number {
            libc::SYS_execve | libc::SYS_execveat => NotifiedCall::Program,
            libc::SYS_connect => NotifiedCall::Connection,
            // With granted hosts a program has no use for the kinds of sockets that are refused.
            libc::SYS_socket if is_internet && is_usual && !self.has_hosts => NotifiedCall::Socket,
            _ => match DeniedFamily::of_call(number, args) {
                Some(family) => NotifiedCall::Never(family),
                None => NotifiedCall::Process,
            },
        }
    }

    /// Returns what a call tries, as far as it is refused.
    async fn read_call(&self, call: &NotifiedCall, notification: &seccomp_notif) -> Option<Tried> {
        let operation = match call {
            NotifiedCall::Process => RefusedOperation::StartProcess,
            NotifiedCall::Socket => RefusedOperation::Connect { host: None },
            NotifiedCall::Never(family) => RefusedOperation::NeverAllowed(NeverAllowed {
                family: family.name,
                text: family.operation,
                reason: family.reason,
                is_probed: family.is_probed,
            }),
            NotifiedCall::Program => {
                let program = read_program(notification)?;
                let name = self.programs.refused(&program)?;
                RefusedOperation::StartProgram { name }
            }
            NotifiedCall::Connection => {
                let address = read_address(notification)?;
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

impl GrantedPrograms {
    fn new(plan: &Plan) -> Self {
        let executable = plan
            .paths()
            .iter()
            .filter(|rule| rule.access == PathAccess::Execute)
            .filter_map(|rule| rule.path.canonicalize().ok())
            .collect();
        Self {
            spawn: plan.spawn.clone(),
            executable,
        }
    }

    /// Returns the name of a program that may not be started.
    fn refused(&self, program: &ObservedProgram) -> Option<String> {
        let is_executable = program.target.as_ref().is_some_and(|target| {
            target
                .ancestors()
                .any(|ancestor| self.executable.contains(ancestor))
        });
        (!is_executable && !self.spawn.allows_program(&program.name)).then(|| program.name.clone())
    }
}

#[expect(
    unsafe_code,
    reason = "registering a descriptor with Tokio is unsafe in general"
)]
fn register(listener: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and the
    // `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }
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
fn answer(listener: RawFd, id: u64, call: &NotifiedCall) {
    let (error, flags) = match call {
        NotifiedCall::Program | NotifiedCall::Connection => {
            (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
        }
        NotifiedCall::Process | NotifiedCall::Socket | NotifiedCall::Never(_) => (-libc::EPERM, 0),
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
