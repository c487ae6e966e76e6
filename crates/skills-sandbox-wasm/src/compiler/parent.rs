//! Starts the child, supervises it and verifies its reply.

use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crate::{LoadError, WasmProfile};

use super::abandon_signal::{AbandonSignal, WaitResult};
use super::command::{CompileCommand, CompileLimits};
use super::protocol::{CompileRequest, CompileStatus};

/// How many bytes of the child's error output are kept to explain a failure.
const MAX_STDERR_BYTES: u64 = 4 << 10;
/// How long a child that has closed its output may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The variable that limits the thread pool of the compiler.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";
/// How the standard library reports a failed allocation before it aborts.
const OUT_OF_MEMORY_MESSAGES: [&str; 2] = ["memory allocation of", "out of memory"];

/// Why there is no compiled code.
#[derive(Debug)]
pub(crate) enum CompileFailure {
    /// The component or the compiler failed.
    Load(LoadError),
    /// The result is no longer needed; the child was killed.
    Abandoned,
}

/// A child that is killed and reaped when the value is dropped.
struct ChildGuard(Child);

/// Compiles a component in a child process. Blocks until it is done, exceeds a limit, or is
/// cancelled or evicted. The child has exited in all cases.
pub(crate) fn compile_in_child(
    command: &CompileCommand,
    component: &[u8],
    profile: WasmProfile,
    abandoned: &AbandonSignal,
) -> Result<Vec<u8>, CompileFailure> {
    let limits = command.limits();
    let request = CompileRequest::new(component, profile, &limits)?;
    let (mut child, (stdin, stdout, stderr)) = spawn_child(command, &limits)?;
    let (wait, reply) = thread::scope(|scope| -> io::Result<_> {
        let exchange = Builder::new()
            .name("skills-compile-io".into())
            .spawn_scoped(scope, || {
                let reply = exchange_messages(&request, component, stdin, stdout);
                abandoned.finish();
                reply
            })?;
        let wait = abandoned.wait(limits.timeout);
        if wait != WaitResult::Finished {
            // Closes the pipes, so that the thread ends.
            child.kill();
        }
        let reply = exchange
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that reads the reply panicked")));
        Ok((wait, reply))
    })?;
    match wait {
        WaitResult::Stopped => Err(CompileFailure::Abandoned),
        WaitResult::TimedOut => Err(CompileFailure::Load(LoadError::CompileTimeout {
            limit: limits.timeout,
        })),
        WaitResult::Finished => reply
            .map_err(|error| explain_failure(&error, child.wait(EXIT_TIMEOUT), stderr, &limits))
            .and_then(|(status, content)| compiled_code(status, content))
            .map_err(CompileFailure::Load),
    }
}

/// Returns the compiled code of a verified reply, or why there is none.
fn compiled_code(status: CompileStatus, content: Vec<u8>) -> Result<Vec<u8>, LoadError> {
    match status {
        CompileStatus::Compiled => Ok(content),
        CompileStatus::Invalid => Err(LoadError::Invalid {
            reason: lossy_text(&content),
        }),
        CompileStatus::Failed => Err(LoadError::CompilerFailed {
            reason: lossy_text(&content),
        }),
    }
}

impl From<io::Error> for CompileFailure {
    fn from(error: io::Error) -> Self {
        Self::Load(LoadError::CompilerFailed {
            reason: error.to_string(),
        })
    }
}

type Pipes = (ChildStdin, ChildStdout, ChildStderr);

fn spawn_child(
    command: &CompileCommand,
    limits: &CompileLimits,
) -> io::Result<(ChildGuard, Pipes)> {
    // A relative path would be resolved in the working directory, which may belong to a project.
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
        .args(command.args())
        // The child needs no secrets of the host, and no variable may select code that it loads.
        .env_clear()
        .env(THREADS_VARIABLE, limits.threads.to_string())
        .current_dir("/");
    process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Terminal signals are for the host, which then kills the child; and the whole group can be
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
    // From here on every return kills the child.
    let running = ChildGuard(child);
    match pipes {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((running, (stdin, stdout, stderr))),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Writes the request, then reads the reply: the child reads everything before it compiles.
fn exchange_messages(
    request: &CompileRequest,
    component: &[u8],
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
) -> io::Result<(CompileStatus, Vec<u8>)> {
    // If the child exits before it has read everything, its exit status explains why, not the
    // broken pipe.
    let _ = request.write(component, &mut stdin);
    drop(stdin);
    request.read_reply(&mut stdout)
}

/// Returns why there is no valid reply, from the exit status of the child and its standard error.
fn explain_failure(
    error: &io::Error,
    status: Option<ExitStatus>,
    stderr: ChildStderr,
    limits: &CompileLimits,
) -> LoadError {
    let mut message = Vec::new();
    // The child has exited, so this ends.
    let _ = stderr.take(MAX_STDERR_BYTES).read_to_end(&mut message);
    let message = lossy_text(&message);
    let signal = status.and_then(signal);
    // Without memory an allocation fails; if the whole machine has none, the kernel kills the child
    // first, because of its score.
    if OUT_OF_MEMORY_MESSAGES
        .iter()
        .any(|words| message.contains(words))
        || signal == Some(SIGKILL)
    {
        return LoadError::CompileMemoryLimit {
            limit_bytes: limits.memory_bytes,
        };
    }
    // The limit of processor time, which all threads share.
    if signal == Some(SIGXCPU) {
        return LoadError::CompileTimeout {
            limit: limits.timeout,
        };
    }
    let status = status.map_or_else(|| "did not exit".to_owned(), |status| status.to_string());
    LoadError::CompilerFailed {
        reason: format!(
            "{error}; {status}; {}",
            message.lines().next().unwrap_or_default()
        ),
    }
}

fn lossy_text(bytes: &[u8]) -> String {
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

impl ChildGuard {
    /// Kills the child with its whole process group. It is not reaped yet, so its PID cannot belong
    /// to another process.
    fn kill(&mut self) {
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::KILL,
        );
        // Other systems have no process groups.
        let _ = self.0.kill();
    }

    /// Waits for a child that closed its output, kills it after a timeout, and returns its exit
    /// status if it exited by itself.
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

impl Drop for ChildGuard {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.kill();
            let _ = self.0.wait();
        }
    }
}
