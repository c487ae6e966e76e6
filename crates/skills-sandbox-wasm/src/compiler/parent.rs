//! The side that starts the child, supervises it and verifies its answer.

use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crate::{LoadError, Profile};

use super::abandon::{Abandoned, Cause, Wait};
use super::command::{CompileCommand, Limits};
use super::wire::{Request, Status};

/// How much of the child's messages is kept to explain a failure.
const MESSAGE_BYTES: u64 = 4 << 10;
/// How long a child that has closed its output may take to end.
const LINGER: Duration = Duration::from_secs(2);
/// The variable by which the thread pool of the compiler is limited.
const THREADS: &str = "RAYON_NUM_THREADS";
/// How the standard library reports that memory cannot be had, before it aborts.
const OUT_OF_MEMORY: [&str; 2] = ["memory allocation of", "out of memory"];

/// Why there is no compiled code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The component or the compiler is at fault.
    Load(LoadError),
    /// The result is no longer wanted; the child is gone.
    Abandoned {
        cause: Cause,
        /// How long the child ran.
        ran: Duration,
    },
}

/// A child that is killed and reaped when the value is dropped.
struct Running(Child);

/// Compiles a component in a child process; blocks until it is done, out of its limits, or
/// abandoned. No child is left in any case.
pub(crate) fn compile(
    command: &CompileCommand,
    component: &[u8],
    profile: Profile,
    abandoned: &Abandoned,
) -> Result<Vec<u8>, Failure> {
    let limits = command.limits();
    let failed = |error: io::Error| {
        Failure::Load(LoadError::Compiler {
            reason: error.to_string(),
        })
    };
    let request = Request::new(component, profile != Profile::Fast, &limits).map_err(failed)?;
    let started = Instant::now();
    let (mut child, (stdin, stdout, stderr)) = start(command, &limits).map_err(failed)?;
    let supervised = thread::scope(|scope| {
        let exchange = || {
            let reply = exchange(&request, component, stdin, stdout);
            abandoned.finish();
            reply
        };
        let exchange = Builder::new()
            .name("skills-compile-io".into())
            .spawn_scoped(scope, exchange)?;
        let wait = abandoned.wait(limits.time);
        if wait != Wait::Finished {
            // Closes the pipes, so that the thread ends.
            child.kill();
        }
        let reply = exchange.join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that reads its answer panicked",
            ))
        });
        Ok((wait, reply))
    });
    let (wait, reply) = supervised.map_err(failed)?;
    match wait {
        Wait::Abandoned(cause) => Err(Failure::Abandoned {
            cause,
            ran: started.elapsed(),
        }),
        Wait::TimedOut => Err(Failure::Load(LoadError::CompileTime { limit: limits.time })),
        Wait::Finished => match reply {
            Ok((Status::Compiled, compiled)) => Ok(compiled),
            Ok((Status::Invalid, reason)) => Err(Failure::Load(LoadError::Invalid {
                reason: text(&reason),
            })),
            Ok((Status::Failed, reason)) => Err(Failure::Load(LoadError::Compiler {
                reason: text(&reason),
            })),
            Err(error) => Err(Failure::Load(explain(
                &error,
                child.wait(LINGER),
                stderr,
                &limits,
            ))),
        },
    }
}

type Pipes = (ChildStdin, ChildStdout, ChildStderr);

fn start(command: &CompileCommand, limits: &Limits) -> io::Result<(Running, Pipes)> {
    if !command.program().is_absolute() {
        let message = format!("{} is not an absolute path", command.program().display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the host's own compiler, in a process that can be limited and killed"
    )]
    let mut process = Command::new(command.program());
    process
        .args(command.arguments())
        .env_clear()
        .env(THREADS, limits.threads.to_string())
        .current_dir("/");
    process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Signals of a terminal are for the host, which then ends the child; and the whole group can be
    // killed.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut process, 0);
    let named = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot start {}: {error}", command.program().display()),
        )
    };
    let mut child = process.spawn().map_err(named)?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let running = Running(child);
    match pipes {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((running, (stdin, stdout, stderr))),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Writes the request, then reads the answer: the child reads everything before it compiles.
fn exchange(
    request: &Request,
    component: &[u8],
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
) -> io::Result<(Status, Vec<u8>)> {
    // A child that ended before it read everything is explained by its end, not by the broken pipe.
    let _ = request.write(component, &mut stdin);
    drop(stdin);
    request.read_reply(&mut stdout)
}

/// Says why there is no valid answer, by how the child ended and what it wrote on standard error.
fn explain(
    error: &io::Error,
    status: Option<ExitStatus>,
    stderr: ChildStderr,
    limits: &Limits,
) -> LoadError {
    let mut message = Vec::new();
    // The child is gone, so this ends.
    let _ = stderr.take(MESSAGE_BYTES).read_to_end(&mut message);
    let message = text(&message);
    let signal = status.and_then(signal);
    if OUT_OF_MEMORY.iter().any(|words| message.contains(words)) || signal == Some(SIGKILL) {
        return LoadError::CompileMemory {
            limit_bytes: limits.memory_bytes,
        };
    }
    if signal == Some(SIGXCPU) {
        return LoadError::CompileTime { limit: limits.time };
    }
    let status = status.map_or_else(|| "it did not end".to_owned(), |status| status.to_string());
    LoadError::Compiler {
        reason: format!(
            "{error}; {status}; {}",
            message.lines().next().unwrap_or_default()
        ),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(unix)]
const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();
#[cfg(unix)]
const SIGXCPU: i32 = rustix::process::Signal::XCPU.as_raw();
#[cfg(not(unix))]
const SIGKILL: i32 = 9;
#[cfg(not(unix))]
const SIGXCPU: i32 = 24;

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

impl Running {
    /// Kills the child with its whole process group. It is not reaped yet, so its id cannot belong
    /// to another process.
    fn kill(&mut self) {
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::KILL,
        );
        let _ = self.0.kill();
    }

    /// Waits for the end of a child that closed its output, kills it after a while, and returns how
    /// it ended by itself.
    fn wait(mut self, time: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < time {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.kill();
            let _ = self.0.wait();
        }
    }
}
