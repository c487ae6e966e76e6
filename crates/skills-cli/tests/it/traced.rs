//! Runs a program with all its threads and children until a chosen change of a file.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc::{self, c_long, c_void, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How a traced program has ended.
pub(crate) struct Traced {
    /// The number of system calls that change files, of all its processes.
    pub(crate) changes: usize,
    /// Its exit code; `None` if it was killed.
    pub(crate) code: Option<i32>,
}

/// Runs a program, and kills all its processes before their system call number `kill_before` that
/// changes a file, counted from 0. What is counted does not depend on time.
///
/// # Errors
/// Returns the reason if this host does not allow to trace a child.
pub(crate) fn run(command: &Command, kill_before: Option<usize>) -> Result<Traced, String> {
    let root = start_stopped(command);
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    if let Err(error) = ptrace::seize(root, options) {
        kill(root, Signal::SIGKILL).unwrap();
        waitpid(root, None).unwrap();
        return Err(format!("cannot trace a child: {error}"));
    }
    kill(root, Signal::SIGCONT).unwrap();
    let mut tracer = Tracer {
        root,
        kill_before,
        known: HashSet::from([root]),
        in_call: HashSet::new(),
        traced: Traced {
            changes: 0,
            code: None,
        },
        is_killing: false,
    };
    tracer.wait_for_all();
    Ok(tracer.traced)
}

/// Starts a program that stops before its first instruction: only then can it be traced from the
/// start without `unsafe`.
#[expect(
    clippy::zombie_processes,
    reason = "the tracer waits for all processes"
)]
fn start_stopped(command: &Command) -> Pid {
    let mut stopped = Command::new("/bin/sh");
    stopped
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for (name, value) in command.get_envs() {
        stopped.env(name, value.unwrap_or_default());
    }
    if let Some(directory) = command.get_current_dir() {
        stopped.current_dir(directory);
    }
    let child = stopped.spawn().unwrap();
    let root = Pid::from_raw(child.id().try_into().unwrap());
    let status = waitpid(root, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(status, WaitStatus::Stopped(root, Signal::SIGSTOP));
    root
}

struct Tracer {
    root: Pid,
    kill_before: Option<usize>,
    /// Processes and threads that were seen.
    known: HashSet<Pid>,
    /// Those that are in a system call.
    in_call: HashSet<Pid>,
    traced: Traced,
    is_killing: bool,
}

impl Tracer {
    fn wait_for_all(&mut self) {
        // Other tests have children of their own, on other threads.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(status) => self.handle(status),
                Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn handle(&mut self, status: WaitStatus) {
        match status {
            WaitStatus::Exited(pid, code) => {
                if pid == self.root {
                    self.traced.code = Some(code);
                }
                self.forget(pid);
            }
            WaitStatus::Signaled(pid, ..) => self.forget(pid),
            WaitStatus::Stopped(pid, signal) => self.resume(pid, Some(signal)),
            WaitStatus::PtraceEvent(pid, ..) => self.resume(pid, None),
            WaitStatus::PtraceSyscall(pid) => {
                let is_entry = self.in_call.insert(pid);
                if !is_entry {
                    self.in_call.remove(&pid);
                } else if Call::of(pid).is_some_and(|call| call.changes_files()) {
                    self.is_killing |= self.kill_before == Some(self.traced.changes);
                    self.traced.changes += 1;
                }
                self.resume(pid, None);
            }
            _ => {}
        }
    }

    fn forget(&mut self, pid: Pid) {
        self.known.remove(&pid);
        self.in_call.remove(&pid);
    }

    fn resume(&mut self, pid: Pid, signal: Option<Signal>) {
        self.known.insert(pid);
        let result = if self.is_killing {
            // Each that stops again was started in the meantime.
            for pid in &self.known {
                let _ = kill(*pid, Signal::SIGKILL);
            }
            Ok(())
        } else {
            ptrace::syscall(pid, signal)
        };
        // It can have been killed by another one.
        assert!(matches!(result, Ok(()) | Err(Errno::ESRCH)), "{result:?}");
    }
}

/// A system call that starts.
struct Call {
    pid: Pid,
    number: c_long,
    arguments: [u64; 3],
}

impl Call {
    fn of(pid: Pid) -> Option<Self> {
        let (number, arguments) = registers(&ptrace::getregs(pid).ok()?);
        Some(Self {
            pid,
            number: c_long::try_from(number).ok()?,
            arguments,
        })
    }

    fn changes_files(&self) -> bool {
        let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
        match self.number {
            libc::SYS_openat => creates(self.arguments[2]),
            // Its argument points to flags.
            libc::SYS_openat2 => {
                let flags = ptrace::read(self.pid, self.arguments[2] as *mut c_void);
                flags.is_ok_and(|flags| creates(flags as u64))
            }
            libc::SYS_write | libc::SYS_pwrite64 => self.is_to_file(),
            libc::SYS_mkdirat
            | libc::SYS_unlinkat
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_linkat
            | libc::SYS_symlinkat
            | libc::SYS_ftruncate
            | libc::SYS_fchmod
            | libc::SYS_fchmodat
            | libc::SYS_fsync
            | libc::SYS_fdatasync
            | libc::SYS_syncfs => true,
            number => self.is_older(number, creates),
        }
    }

    /// Returns true if the file that is written has a path.
    fn is_to_file(&self) -> bool {
        let link = format!("/proc/{}/fd/{}", self.pid, self.arguments[0]);
        let target = std::fs::read_link(link).unwrap_or_default();
        target.is_absolute() && !target.starts_with(Path::new("/dev"))
    }

    /// Calls that later systems do not have.
    #[cfg(target_arch = "x86_64")]
    fn is_older(&self, number: c_long, creates: impl Fn(u64) -> bool) -> bool {
        match number {
            libc::SYS_open => creates(self.arguments[1]),
            libc::SYS_creat
            | libc::SYS_mkdir
            | libc::SYS_rmdir
            | libc::SYS_unlink
            | libc::SYS_rename
            | libc::SYS_link
            | libc::SYS_symlink
            | libc::SYS_chmod => true,
            _ => false,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_older(&self, _number: c_long, _creates: impl Fn(u64) -> bool) -> bool {
        false
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(registers: &user_regs_struct) -> (u64, [u64; 3]) {
    (
        registers.orig_rax,
        [registers.rdi, registers.rsi, registers.rdx],
    )
}

#[cfg(target_arch = "aarch64")]
fn registers(registers: &user_regs_struct) -> (u64, [u64; 3]) {
    let [first, second, third, ..] = registers.regs;
    (registers.regs[8], [first, second, third])
}
