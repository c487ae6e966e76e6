//! The command that compiles components.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default memory limit of the compiler: 1 GiB. A Python component of 20 MB takes 0.4 GB.
const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
/// The default time limit for one component: five minutes. A Python component of 20 MB takes 16 s
/// of processor time, or a minute on a busy host.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum number of threads of one child; memory use grows with it.
const MAX_THREADS: usize = 4;

/// The command that compiles large components in a process of its own: a program, its arguments,
/// and the limits of that process.
///
/// The program must only call [`compile_child`](crate::compile_child) with its standard input and
/// output, then exit. It must be built with the same version of this crate; replies of any other
/// program are rejected. Usually it is the host application itself:
///
/// ```no_run
/// use std::io::{stdin, stdout};
///
/// fn main() -> std::io::Result<()> {
///     if std::env::args_os().nth(1).is_some_and(|argument| argument == "compile-wasm") {
///         return skills_sandbox_wasm::compile_child(stdin().lock(), stdout().lock());
///     }
///     let program = std::env::current_exe()?;
///     let command = skills_sandbox_wasm::CompileCommand::new(program).arg("compile-wasm");
///     let sandbox = skills_sandbox_wasm::WasmSandbox::new("/var/tmp").compile_command(command);
///     # drop(sandbox);
///     Ok(())
/// }
/// ```
///
/// Defaults: no arguments, 1 GiB of memory, five minutes. The child gets no environment variables
/// of the host and runs in `/`. The kernel enforces the memory limit on Linux; on other systems
/// only the time limit is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileCommand {
    program: PathBuf,
    args: Vec<OsString>,
    memory_bytes: u64,
    timeout: Duration,
}

impl CompileCommand {
    /// Sets the program by absolute path; with a relative path nothing is compiled.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            memory_bytes: DEFAULT_MEMORY_BYTES,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Appends an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Sets the memory limit of one child, in bytes. Default: 1 GiB. At most two children run
    /// concurrently.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the time limit for compiling one component. Default: five minutes. It continues after
    /// the deadline of the run that waits for it, so that the next run finds the result.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    pub(crate) fn limits(&self) -> CompileLimits {
        let threads = std::thread::available_parallelism()
            .map_or(1, |threads| threads.get().min(MAX_THREADS));
        CompileLimits {
            memory_bytes: self.memory_bytes,
            timeout: self.timeout,
            threads,
        }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn args(&self) -> &[OsString] {
        &self.args
    }
}

/// The limits of one child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompileLimits {
    pub(crate) memory_bytes: u64,
    pub(crate) timeout: Duration,
    pub(crate) threads: usize,
}

impl CompileLimits {
    /// Returns the limit of processor time over all threads, in seconds.
    pub(super) fn cpu_seconds(&self) -> u64 {
        self.timeout
            .as_secs()
            // The kernel takes whole seconds, and the fraction was cut off.
            .saturating_add(1)
            .saturating_mul(self.threads as u64)
    }
}
