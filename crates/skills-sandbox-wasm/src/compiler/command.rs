//! The command that compiles.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much memory the compiler may use unless the host says otherwise: 1 GiB. A Python component
/// of 20 MB takes 0.4 GB.
const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
/// How long one component may take unless the host says otherwise: five minutes. A Python component
/// of 20 MB takes 16 s of processor time, which was a minute on a busy machine.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// The most threads that one child uses; memory grows with their number.
const MAX_THREADS: usize = 4;

/// The command that compiles large components in a process of its own: a program, its arguments,
/// and the limits of that process.
///
/// The program must do nothing but call [`compile_child`](crate::compile_child) with its standard
/// input and output and end. It must be built with the same version of this crate; answers of any
/// other program are refused. Usually it is the host itself:
///
/// ```no_run
/// use std::io::{stdin, stdout};
///
/// fn main() -> std::io::Result<()> {
///     if std::env::args_os().nth(1).is_some_and(|argument| argument == "compile-wasm") {
///         return skills_sandbox_wasm::compile_child(stdin().lock(), stdout().lock());
///     }
///     let command = skills_sandbox_wasm::CompileCommand::new(std::env::current_exe()?).argument("compile-wasm");
///     let sandbox = skills_sandbox_wasm::WasmSandbox::new("/var/tmp").compile_command(command);
///     # drop(sandbox);
///     Ok(())
/// }
/// ```
///
/// Defaults: no arguments, 1 GiB of memory, five minutes. The child gets no variables of the host
/// and works in `/`. The kernel enforces the memory limit on Linux; elsewhere only the time limit
/// holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileCommand {
    program: PathBuf,
    args: Vec<OsString>,
    memory_bytes: u64,
    timeout: Duration,
}

impl CompileCommand {
    /// Names the program by an absolute path; with any other path nothing is compiled.
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

    /// Limits the memory of one child, in bytes. Default: 1 GiB. At most two children run at a
    /// time.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Limits the time that compiling one component may take. Default: five minutes. The deadline
    /// of a run that waits for it applies as well.
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
    /// Returns the processor time that all threads together may use, in seconds.
    pub(super) fn cpu_seconds(&self) -> u64 {
        self.timeout
            .as_secs()
            .saturating_add(1)
            .saturating_mul(self.threads as u64)
    }
}
