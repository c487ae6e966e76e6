//! Kills what is left of runs when the host is killed, where no process table of their own does.
//!
//! A script dies with its host, but what it started would live on. So one process for all runs,
//! outside every sandbox, reads from a pipe whose other end only the host holds. When the pipe
//! ends, because the host has ended in whatever way, it kills the groups that it was told of. It is
//! a shell with a constant program, so there is no helper to ship; scripts cannot reach it, since
//! it is in no sandbox.
//!
//! A child names its group itself, before it executes its program: the host may be killed before it
//! could do so for a child that runs already.
#![expect(clippy::disallowed_methods, reason = "this crate starts processes")]

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads `+ GROUP` and `- GROUP`, and at the end kills the groups that were not taken back.
const SHELL_PROGRAM: &str = "trap '' HUP INT TERM\n\
    groups=' '\n\
    while read -r sign group; do\n\
    case $sign in\n\
    +) groups=\"$groups$group \";;\n\
    -) case $groups in *\" $group \"*) groups=\"${groups%% $group *} ${groups#* $group }\";; esac;;\n\
    esac\n\
    done\n\
    for group in $groups; do kill -9 \"-$group\"; done\n";

/// The guardian, and the groups that it knows of.
#[derive(Debug, Default)]
struct Watchdog {
    /// None before the first group, and when there is no shell that could.
    running: Option<WatchdogProcess>,
    groups: Vec<i32>,
}

#[derive(Debug)]
struct WatchdogProcess {
    /// The host that started it: one that forked has a copy of its parent's pipe, which is not its
    /// own to write to.
    host: u32,
    process: Child,
    pipe: ChildStdin,
}

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog {
    running: None,
    groups: Vec::new(),
});

/// A group that is killed should the host be.
#[derive(Debug)]
pub(crate) struct WatchedGroup {
    /// None once it was let go of: its number may be another's then.
    group: Option<i32>,
    is_registered: bool,
}

/// What a child writes the line `+ GROUP` to.
#[derive(Debug)]
pub(crate) struct Announcement {
    pub(crate) pipe: OwnedFd,
    /// The process that reads it.
    pub(crate) guardian: u32,
}

/// Starts the guardian, so that a child can name its group; returns `None` when there is no shell
/// that could be one.
pub(crate) fn start_early() -> Option<Announcement> {
    let mut guardian = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let has_ended = |running: &mut WatchdogProcess| {
        running.host == std::process::id() && !matches!(running.process.try_wait(), Ok(None))
    };
    if guardian.running.as_mut().is_some_and(has_ended) {
        guardian.stop();
    }
    if !guardian.is_running() {
        return None;
    }
    let running = guardian.running.as_ref()?;
    Some(Announcement {
        pipe: running.pipe.as_fd().try_clone_to_owned().ok()?,
        guardian: running.process.id(),
    })
}

/// Has a group, which named itself to this guardian, guarded until what this returns is released or
/// dropped.
pub(crate) fn watch_group(group: i32, announced_to: u32) -> WatchedGroup {
    let mut guardian = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = guardian
        .running
        .as_ref()
        .is_some_and(|running| running.process.id() == announced_to);
    let is_told = is_known || guardian.send(&format!("+ {group}\n"));
    // Only now, since a guardian that is started anew is told all of these.
    guardian.groups.push(group);
    WatchedGroup {
        group: Some(group),
        is_registered: is_told,
    }
}

/// Takes back what a child named that never ran its program.
pub(crate) fn withdraw(group: i32) {
    let mut guardian = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = guardian
        .running
        .as_mut()
        .filter(|running| running.host == std::process::id())
    {
        // One that has died guards nothing.
        let _ = running.pipe.write_all(format!("- {group}\n").as_bytes());
    }
}

impl WatchedGroup {
    /// Lets go of the group, and says whether it was guarded all the time.
    pub(crate) fn release(mut self) -> bool {
        self.group.take().is_some_and(unregister) && self.is_registered
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        self.group.take().map(unregister);
    }
}

fn unregister(group: i32) -> bool {
    let mut guardian = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = guardian.groups.iter().position(|known| *known == group) else {
        return false;
    };
    guardian.groups.swap_remove(at);
    let Some(running) = &mut guardian.running else {
        return false;
    };
    running.host == std::process::id()
        && running
            .pipe
            .write_all(format!("- {group}\n").as_bytes())
            .is_ok()
}

impl Watchdog {
    /// Tells it something; when it has died meanwhile, another is started, which is told all
    /// groups.
    fn send(&mut self, message: &str) -> bool {
        for _ in 0..2 {
            if self.is_running()
                && self
                    .running
                    .as_mut()
                    .is_some_and(|running| running.pipe.write_all(message.as_bytes()).is_ok())
            {
                return true;
            }
            self.stop();
        }
        false
    }

    fn is_running(&mut self) -> bool {
        let host = std::process::id();
        if self
            .running
            .as_ref()
            .is_none_or(|running| running.host != host)
        {
            self.running = spawn_process(host);
            let all: String = self
                .groups
                .iter()
                .map(|group| format!("+ {group}\n"))
                .collect();
            let told = self
                .running
                .as_mut()
                .is_some_and(|running| running.pipe.write_all(all.as_bytes()).is_ok());
            if !told {
                self.stop();
            }
        }
        self.running.is_some()
    }

    /// Forgets one that has died, and collects it.
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

fn spawn_process(host: u32) -> Option<WatchdogProcess> {
    let mut command = Command::new("/bin/sh");
    // A group of its own, so that what a terminal sends to the host's does not reach it.
    command
        .arg("-c")
        .arg(SHELL_PROGRAM)
        .env_clear()
        .current_dir("/")
        .process_group(0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut process = command.spawn().ok()?;
    let pipe = process.stdin.take()?;
    Some(WatchdogProcess {
        host,
        process,
        pipe,
    })
}
