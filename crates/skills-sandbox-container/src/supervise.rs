//! Runs the program in its container, until it ends or exceeds a limit.

use std::convert::Infallible;
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
use skills_sandbox::{CancellationToken, CapturedOutput, QuotaExceeded, SandboxError, Termination};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::connect::setup_error;
use crate::container::RunningContainer;
use crate::launcher;
use crate::plan::ExecRequest;

/// How often it is checked whether the program has ended while others keep its output open.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long output may arrive after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the exit code may take once the output has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// What bounds a run, and its input.
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a ResourceLimits,
    pub(crate) quotas: Arc<QuotaMonitor>,
    pub(crate) cancellation: Option<&'a CancellationToken>,
    pub(crate) input: &'a [u8],
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
}

/// Why the program ended.
enum StopReason {
    Exit(Option<i64>),
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
    bounds: &Bounds<'_>,
) -> Result<ProgramOutput, SandboxError> {
    let container = &running.container;
    let client = container.client();
    let memory_kills = running.memory_kills().await;
    let id = create_exec(client, container.name(), exec).await?;
    let (output, input) = start_exec(client, &id).await?;
    let mut captured = Captured::default();
    let stop = supervise(client, &id, output, input, bounds, &mut captured).await;
    let has_exited = matches!(stop, StopReason::Exit(_));
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
            container.kill().await;
            stop.termination(bounds.limits)
        }
    };
    Ok(ProgramOutput {
        termination,
        stdout: captured.stdout,
        stderr: captured.stderr,
        has_exited,
    })
}

async fn create_exec(
    client: &Docker,
    container: &str,
    exec: &ExecRequest,
) -> Result<String, SandboxError> {
    let variables = exec.env.variables().iter();
    let options = CreateExecOptions {
        attach_stdin: Some(exec.is_input_sent),
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

async fn start_exec(
    client: &Docker,
    id: &str,
) -> Result<(Output, Pin<Box<dyn AsyncWrite + Send>>), SandboxError> {
    const STEP: &str = "starting the program in the container";
    let options = StartExecOptions {
        detach: false,
        tty: false,
        output_capacity: None,
    };
    match client.start_exec(id, Some(options)).await {
        Ok(StartExecResults::Attached { output, input }) => Ok((output, input)),
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
    mut output: Output,
    input: Pin<Box<dyn AsyncWrite + Send>>,
    bounds: &Bounds<'_>,
    captured: &mut Captured,
) -> StopReason {
    let limits = bounds.limits;
    let watch = QuotaWatch::new(
        Arc::clone(&bounds.quotas),
        bounds.first_process,
        limits.file_bytes,
    );
    let mut deadline = std::pin::pin!(sleep(limits.wall_time));
    let mut cancelled = std::pin::pin!(wait_cancelled(bounds.cancellation));
    let mut exceeded = std::pin::pin!(watch.wait_exceeded());
    let mut exited = std::pin::pin!(wait_exited(client, id));
    let mut feeding = std::pin::pin!(feed(input, bounds.input));
    let code = loop {
        tokio::select! {
            biased;
            () = &mut deadline => return StopReason::Deadline,
            () = &mut cancelled => return StopReason::Cancelled,
            exceeded = &mut exceeded => return StopReason::Quota(exceeded),
            chunk = output.next() => match chunk {
                Some(Ok(chunk)) => if captured.push(chunk, limits) { return StopReason::OutputLimit },
                Some(Err(_)) | None => break wait_code(client, id).await,
            },
            code = &mut exited => {
                drain(&mut output, captured, limits).await;
                break code;
            }
            never = &mut feeding => match never {},
        }
    };
    // A program can exceed a quota between the last measurement and its exit.
    match watch.final_check().await {
        Some(exceeded) => StopReason::Quota(exceeded),
        None => StopReason::Exit(code),
    }
}

/// Writes the input and closes it. A program that does not read it is not an error.
async fn feed(mut stdin: Pin<Box<dyn AsyncWrite + Send>>, input: &[u8]) -> Infallible {
    let _ = stdin.write_all(input).await;
    let _ = stdin.shutdown().await;
    // The connection also carries the output, so it stays open.
    std::future::pending().await
}

/// Waits until a run is cancelled, which never happens without a token.
pub(crate) async fn wait_cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Waits until the program has ended, although processes that it started keep its output open.
async fn wait_exited(client: &Docker, id: &str) -> Option<i64> {
    loop {
        sleep(POLL_INTERVAL).await;
        if let Ok(state) = client.inspect_exec(id).await
            && state.running == Some(false)
        {
            return state.exit_code;
        }
    }
}

/// Returns the exit code of a program whose output has ended. Engines record it a moment later.
async fn wait_code(client: &Docker, id: &str) -> Option<i64> {
    const FIRST_DELAY: Duration = Duration::from_millis(1);
    let code = async {
        let mut delay = FIRST_DELAY;
        loop {
            match client.inspect_exec(id).await {
                Ok(state) if state.running == Some(false) => break state.exit_code,
                Ok(_) => {}
                Err(_) => break None,
            }
            sleep(delay).await;
            delay = (delay * 2).min(POLL_INTERVAL);
        }
    };
    timeout(EXIT_TIMEOUT, code).await.ok().flatten()
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
}

impl Captured {
    /// Adds a chunk, and returns true if a stream exceeds its limit.
    fn push(&mut self, chunk: LogOutput, limits: &ResourceLimits) -> bool {
        let stream = match chunk {
            LogOutput::StdErr { .. } => &mut self.stderr,
            _ => &mut self.stdout,
        };
        stream.push(&chunk.into_bytes(), limits.captured_bytes);
        stream.total_bytes() > limits.output_limit_bytes
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
            Self::Exit(_) => Termination::Unknown,
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
