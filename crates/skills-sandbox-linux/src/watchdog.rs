//! Watchdog that kills remaining process groups if the host process dies, for runs without a PID
//! namespace.
//!
//! A script is killed with its host process (`PR_SET_PDEATHSIG`), but processes that it started are
//! not. So one process for all runs, outside of every sandbox, reads from a pipe of which only the
//! host process holds the writing end. When the host process ends, for whatever reason, the pipe
//! ends, and the watchdog kills the process groups that were registered with it. It is a shell with
//! a constant program, so no helper binary has to be shipped. Scripts cannot signal it.
//!
//! A child announces its process group itself, before it executes its program. The parent would be
//! too late: it could be killed between the start of the program and the announcement.
#![expect(clippy::disallowed_methods, reason = "this crate starts processes")]

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads lines `+ GROUP` and `- GROUP`, and at the end of its input kills the groups that were not
/// withdrawn.
const SHELL_PROGRAM: &str = "trap '' HUP INT TERM\n\
    groups=' '\n\
    while read -r sign group; do\n\
    case $sign in\n\
    +) groups=\"$groups$group \";;\n\
    -) case $groups in *\" $group \"*) groups=\"${groups%% $group *} ${groups#* $group }\";; esac;;\n\
    esac\n\
    done\n\
    for group in $groups; do kill -9 \"-$group\"; done\n";

/// The watchdog process, and the groups that are registered with it.
#[derive(Debug, Default)]
struct Watchdog {
    /// `None` before the first group, and if no shell could be started.
    running: Option<WatchdogProcess>,
    groups: Vec<i32>,
}

#[derive(Debug)]
struct WatchdogProcess {
    /// The PID of the host process that started it. After a `fork` the child process has a copy of
    /// the pipe, which belongs to its parent and must not be written to.
    host: u32,
    process: Child,
    pipe: ChildStdin,
}

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog {
    running: None,
    groups: Vec::new(),
});

/// A process group that is killed if the host process dies. It is unregistered when dropped.
#[derive(Debug)]
pub(crate) struct WatchedGroup {
    /// `None` after it was released: its number may belong to another group then.
    group: Option<i32>,
    is_registered: bool,
}

/// The pipe to which a child writes the line `+ GROUP`.
#[derive(Debug)]
pub(crate) struct Announcement {
    pub(crate) pipe: OwnedFd,
    /// The process that reads it.
    pub(crate) watchdog_pid: u32,
}

/// Starts the watchdog, so that a child can announce its process group. Returns `None` if no shell
/// can be started; the run then continues, and its report says that nothing is watched.
pub(crate) fn start_early() -> Option<Announcement> {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog
        .running
        .as_mut()
        .is_some_and(WatchdogProcess::has_exited)
    {
        watchdog.stop();
    }
    if !watchdog.ensure_running() {
        return None;
    }
    let running = watchdog.running.as_ref()?;
    Some(Announcement {
        pipe: running.pipe.as_fd().try_clone_to_owned().ok()?,
        watchdog_pid: running.process.id(),
    })
}

/// Registers a group that announced itself to the watchdog with this PID, until the result is
/// released or dropped.
pub(crate) fn watch_group(group: i32, announced_to: u32) -> WatchedGroup {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_announced = watchdog
        .running
        .as_ref()
        .is_some_and(|running| running.process.id() == announced_to);
    // Otherwise the watchdog was replaced since then, and the new one does not know the group.
    let is_registered = is_announced || watchdog.send(&format!("+ {group}\n"));
    // Added only now, since `send` registers all known groups with a watchdog that it starts.
    watchdog.groups.push(group);
    WatchedGroup {
        group: Some(group),
        is_registered,
    }
}

/// Withdraws the announcement of a child that did not execute its program.
pub(crate) fn withdraw(group: i32) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = watchdog.own_process() {
        // Fails only if the watchdog has exited, which then kills nothing either.
        let _ = running.write(&format!("- {group}\n"));
    }
}

impl WatchedGroup {
    /// Unregisters the group, and returns whether it was watched the whole time.
    pub(crate) fn release(mut self) -> bool {
        self.group.take().is_some_and(unregister) && self.is_registered
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        self.group.take().map(unregister);
    }
}

/// Unregisters a group, and returns whether the watchdog still runs.
fn unregister(group: i32) -> bool {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(index) = watchdog.groups.iter().position(|known| *known == group) else {
        return false;
    };
    watchdog.groups.swap_remove(index);
    watchdog
        .own_process()
        .is_some_and(|running| running.write(&format!("- {group}\n")).is_ok())
}

impl Watchdog {
    /// Returns the process, unless it belongs to the parent of a forked host.
    fn own_process(&mut self) -> Option<&mut WatchdogProcess> {
        self.running
            .as_mut()
            .filter(|running| running.host == std::process::id())
    }

    /// Sends a line. If the process has exited, another one is started once.
    fn send(&mut self, line: &str) -> bool {
        for _ in 0..2 {
            if self.ensure_running()
                && self
                    .running
                    .as_mut()
                    .is_some_and(|running| running.write(line).is_ok())
            {
                return true;
            }
            self.stop();
        }
        false
    }

    /// Starts the process if this host process has none, registers all known groups with it, and
    /// returns whether it runs.
    fn ensure_running(&mut self) -> bool {
        if self.own_process().is_none() {
            self.running = spawn_process(std::process::id());
            let lines: String = self
                .groups
                .iter()
                .map(|group| format!("+ {group}\n"))
                .collect();
            let is_registered = self
                .running
                .as_mut()
                .is_some_and(|running| running.write(&lines).is_ok());
            if !is_registered {
                self.stop();
            }
        }
        self.running.is_some()
    }

    /// Closes the pipe of a process that has exited, and reaps the process.
    fn stop(&mut self) {
        if let Some(WatchdogProcess {
            host,
            mut process,
            pipe,
        }) = self.running.take()
            && host == std::process::id()
        {
            drop(pipe);
            let _ = process.try_wait();
        }
    }
}

impl WatchdogProcess {
    fn has_exited(&mut self) -> bool {
        self.host == std::process::id() && !matches!(self.process.try_wait(), Ok(None))
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        self.pipe.write_all(lines.as_bytes())
    }
}

fn spawn_process(host: u32) -> Option<WatchdogProcess> {
    let mut process = Command::new("/bin/sh")
        .arg("-c")
        .arg(SHELL_PROGRAM)
        .env_clear()
        .current_dir("/")
        // A separate process group, since a terminal sends signals such as Ctrl-C to the whole
        // group of the host.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let pipe = process.stdin.take()?;
    Some(WatchdogProcess {
        host,
        process,
        pipe,
    })
}
