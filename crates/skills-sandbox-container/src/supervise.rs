//! Runs the program in its container, until it ends or exceeds a limit.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::{Stream, StreamExt};
use skills_policy::ResourceLimits;
use skills_process::{QuotaMonitor, QuotaWatch};
use skills_sandbox::{
    CancellationToken, CapturedOutput, EventSender, OutputStream, ProgramStreams, QuotaExceeded,
    SandboxError, Termination, wait_cancelled,
};
use tokio::time::{sleep, timeout};

use crate::connect::setup_error;
use crate::container::RunningContainer;
use crate::launcher;
use crate::plan::ExecRequest;

/// How often it is checked whether the program has ended while others keep its output open.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long output may arrive after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How soon it is checked first, once the output has ended.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(1);

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// What bounds a run.
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a ResourceLimits,
    pub(crate) quotas: Arc<QuotaMonitor>,
    pub(crate) cancellation: Option<&'a CancellationToken>,
    /// The first process of the container, if it is visible. Deleted files that processes of its
    /// namespace hold open count against quotas.
    pub(crate) first_process: Option<i32>,
}

/// The end of a program with its output.
pub(crate) struct ProgramOutput {
    pub(crate) termination: Termination,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    /// Whether it ended by itself, so that nothing of it may be left in the container.
    pub(crate) has_exited: bool,
    /// Whether the connection to the engine was lost, so that all processes were killed.
    pub(crate) is_lost: bool,
}

/// Why the program ended.
enum StopReason {
    Exit(Option<i64>),
    /// The engine does not answer.
    Lost,
    Deadline,
    OutputLimit,
    Cancelled,
    Quota(QuotaExceeded),
}

/// Starts the program and supervises it. If a limit stops it, all processes of the container are
/// killed.
pub(crate) async fn run_program(
    running: &RunningContainer,
    exec: &ExecRequest,
    streams: &ProgramStreams,
    bounds: &Bounds<'_>,
) -> Result<ProgramOutput, SandboxError> {
    let container = &running.container;
    let client = container.client();
    let memory_kills = running.memory_kills().await;
    let id = create_exec(client, container.name(), exec).await?;
    let output = start_exec(client, &id).await?;
    let mut captured = Captured {
        events: streams.events.clone(),
        ..Captured::default()
    };
    let stop = supervise(client, &id, output, bounds, &mut captured).await;
    let has_exited = matches!(stop, StopReason::Exit(_));
    let is_lost = matches!(stop, StopReason::Lost);
    let termination = match stop {
        // Also if only a process that the program started was killed.
        StopReason::Exit(_) if running.memory_kills().await > memory_kills => {
            Termination::MemoryLimit {
                limit_bytes: bounds.limits.memory_bytes,
            }
        }
        StopReason::Exit(code) if let Some(error) = launch_error(code, &captured.stderr) => {
            return Err(error);
        }
        StopReason::Exit(code) => exit_termination(code),
        stop => {
            running.kill().await;
            stop.termination(bounds.limits)
        }
    };
    Ok(ProgramOutput {
        termination,
        stdout: captured.stdout,
        stderr: captured.stderr,
        has_exited,
        is_lost,
    })
}

async fn create_exec(
    client: &Docker,
    container: &str,
    exec: &ExecRequest,
) -> Result<String, SandboxError> {
    let variables = exec.env.variables().iter();
    let options = CreateExecOptions {
        // The launcher opens the input.
        attach_stdin: Some(false),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(false),
        privileged: Some(false),
        env: Some(
            variables
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        ),
        cmd: Some(exec.args.clone()),
        working_dir: Some(exec.current_dir.clone()),
        ..Default::default()
    };
    let created = client.create_exec(container, options).await;
    Ok(created
        .map_err(|error| setup_error("preparing the program in the container", error))?
        .id)
}

async fn start_exec(client: &Docker, id: &str) -> Result<Output, SandboxError> {
    const STEP: &str = "starting the program in the container";
    let options = StartExecOptions {
        detach: false,
        tty: false,
        output_capacity: None,
    };
    match client.start_exec(id, Some(options)).await {
        Ok(StartExecResults::Attached { output, .. }) => Ok(output),
        Ok(StartExecResults::Detached) => Err(SandboxError::setup(
            STEP,
            std::io::ErrorKind::NotConnected.into(),
        )),
        Err(error) => Err(setup_error(STEP, error)),
    }
}

async fn supervise(
    client: &Docker,
    id: &str,
    output: Output,
    bounds: &Bounds<'_>,
    captured: &mut Captured,
) -> StopReason {
    let limits = bounds.limits;
    let watch = QuotaWatch::new(
        Arc::clone(&bounds.quotas),
        bounds.first_process,
        limits.file_bytes,
    );
    let stop = tokio::select! {
        biased;
        () = sleep(limits.wall_time) => StopReason::Deadline,
        () = wait_cancelled(bounds.cancellation) => StopReason::Cancelled,
        exceeded = watch.wait_exceeded() => StopReason::Quota(exceeded),
        stop = read_to_end(client, id, output, captured, limits) => stop,
    };
    // A program can exceed a quota between the last measurement and its exit.
    match stop {
        StopReason::Exit(code) => match watch.final_check().await {
            Some(exceeded) => StopReason::Quota(exceeded),
            None => StopReason::Exit(code),
        },
        stop => stop,
    }
}

/// Captures the output until the program has ended.
async fn read_to_end(
    client: &Docker,
    id: &str,
    mut output: Output,
    captured: &mut Captured,
    limits: &ResourceLimits,
) -> StopReason {
    let mut exited = std::pin::pin!(wait_exited(client, id, POLL_INTERVAL));
    loop {
        tokio::select! {
            biased;
            chunk = output.next() => match chunk {
                Some(Ok(chunk)) => {
                    if captured.push(chunk, limits) {
                        return StopReason::OutputLimit;
                    }
                }
                Some(Err(_)) | None => break,
            },
            // Processes that the program started keep its output open.
            stop = &mut exited => {
                drain(&mut output, captured, limits).await;
                return stop;
            }
        }
    }
    // Mostly it has ended, which the engine records a moment later. It can also have closed its output.
    wait_exited(client, id, FIRST_POLL_INTERVAL).await
}

/// Waits until the program has ended, and returns its exit code.
async fn wait_exited(client: &Docker, id: &str, first_interval: Duration) -> StopReason {
    let mut interval = first_interval;
    loop {
        sleep(interval).await;
        match client.inspect_exec(id).await {
            Ok(state) if state.running == Some(false) => return StopReason::Exit(state.exit_code),
            Ok(_) => {}
            Err(_) => return StopReason::Lost,
        }
        interval = (interval * 2).min(POLL_INTERVAL);
    }
}

/// Reads what is left of the output.
async fn drain(output: &mut Output, captured: &mut Captured, limits: &ResourceLimits) {
    let rest = async {
        while let Some(Ok(chunk)) = output.next().await {
            captured.push(chunk, limits);
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, rest).await;
}

/// The output so far.
#[derive(Default)]
struct Captured {
    stdout: CapturedOutput,
    stderr: CapturedOutput,
    events: Option<EventSender>,
}

impl Captured {
    /// Adds a chunk, and returns true if a stream exceeds its limit. A dropped
    /// receiver does not end the program: the engine holds its pipes.
    fn push(&mut self, chunk: LogOutput, limits: &ResourceLimits) -> bool {
        let (captured, stream) = match chunk {
            LogOutput::StdErr { .. } => (&mut self.stderr, OutputStream::Stderr),
            _ => (&mut self.stdout, OutputStream::Stdout),
        };
        let chunk = chunk.into_bytes();
        captured.push(&chunk, limits.captured_bytes);
        let is_exceeded = captured.total_bytes() > limits.output_limit_bytes;
        // Not awaited: whether the program ended must be seen meanwhile.
        let sent = self.events.as_ref();
        let sent = sent.map(|events| events.output_now(stream, chunk));
        is_exceeded || matches!(sent, Some(Ok(false)))
    }
}

/// Returns the error of a program that the launcher did not start. A program that prints the same only
/// hides its own result.
fn launch_error(code: Option<i64>, stderr: &CapturedOutput) -> Option<SandboxError> {
    let is_from_launcher = |(exit_code, text): (i64, &str)| {
        code == Some(exit_code) && stderr.head() == text.as_bytes()
    };
    let failed = |step, cause: &str| SandboxError::setup(step, std::io::Error::other(cause));
    if is_from_launcher(launcher::SETUP_FAILED) {
        return Some(failed(
            "opening the input or installing the filter of system calls",
            "the kernel or the container runtime rejects it",
        ));
    }
    is_from_launcher(launcher::EXECUTE_FAILED).then(|| {
        failed(
            "starting the program in the container",
            "it is not executable, or its interpreter is missing",
        )
    })
}

/// Returns how a program ended by itself. It can exit with the code by which engines report a signal, so
/// that stays a code.
fn exit_termination(code: Option<i64>) -> Termination {
    let code = code.and_then(|code| i32::try_from(code).ok());
    code.map_or(Termination::Unknown, |code| Termination::Exited { code })
}

impl StopReason {
    /// Returns how the run ended. What killed the program then is not reported.
    fn termination(self, limits: &ResourceLimits) -> Termination {
        match self {
            Self::Exit(_) | Self::Lost => Termination::Unknown,
            Self::Deadline => Termination::TimedOut {
                limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
            },
            Self::OutputLimit => Termination::OutputLimit {
                limit_bytes: limits.output_limit_bytes,
            },
            Self::Cancelled => Termination::Cancelled,
            Self::Quota(exceeded) => Termination::DiskLimit(exceeded),
        }
    }
}
