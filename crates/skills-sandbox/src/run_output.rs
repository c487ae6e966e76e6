//! The result of a run.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{CapturedOutput, ChangedEntries, EnforcementReport, QuotaExceeded, Refusals};

/// The result of a run that started. A failing program is not an error: it has an output with a
/// [`Termination`] like any other.
///
/// ```
/// use std::time::Duration;
/// use skills_sandbox::{CapturedOutput, EnforcementReport, RunOutput, Termination};
///
/// let mut stderr = CapturedOutput::default();
/// stderr.push(b"no such file", 1_000);
/// let output = RunOutput::new(
///     Termination::Exited { code: 1 },
///     CapturedOutput::default(),
///     stderr,
///     Duration::from_millis(12),
///     EnforcementReport::new("example"),
/// );
/// assert!(!output.termination.is_success());
/// assert_eq!(output.termination.to_string(), "exit code 1");
/// assert_eq!(output.stderr.text(), "no such file");
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct RunOutput {
    /// How the program ended.
    pub termination: Termination,
    /// Captured standard output.
    pub stdout: CapturedOutput,
    /// Captured standard error.
    pub stderr: CapturedOutput,
    /// The time from before the program was started until all of its processes were gone.
    pub duration: Duration,
    /// The restrictions that were in effect.
    pub enforcement: EnforcementReport,
    /// Notes for the caller, such as protected paths that the program created or changed. One line
    /// each.
    pub notes: Vec<String>,
    /// Operations that restrictions stopped, as far as the backend observed them.
    pub refusals: Refusals,
    /// The hosts that it connected to, in order of their first connection. The list is bounded.
    pub connections: Vec<HostConnections>,
    /// The number of connections to hosts that are not in [`connections`](Self::connections).
    pub connections_omitted: u64,
    /// The hosts whose names it tried to resolve by itself, without the proxy, as far as the backend
    /// observed them. The list is bounded.
    pub lookups: Vec<HostConnections>,
    /// Existing protected paths in writable directories that the program could not change.
    pub read_only_paths: Vec<PathBuf>,
    /// Existing files and directories in granted directories that may hold keys, and that the program
    /// could not open.
    pub withheld_keys: Vec<PathBuf>,
    /// Symlinks with names of files with keys that were changed or removed during the run.
    pub changed_key_links: Vec<ChangedKeyLink>,
    /// Files in writable directories that other programs execute, and that were created or changed
    /// during the run. Protected paths are in [`notes`](Self::notes) instead.
    pub executed_files: ExecutedFiles,
    /// What changed in the writable directories, if the backend
    /// [reports it](crate::Sandbox::reports_changes).
    pub changed_entries: Option<ChangedEntries>,
    /// The home directory of the program, if it was private to the run.
    pub private_home: Option<PrivateHome>,
    /// What the program wrote in the [layer](crate::Job::layer) over its own directory.
    pub discarded: Option<PrivateHome>,
}

/// A symlink with the name of a file with keys that was removed, renamed or changed during a run, by
/// its program or by another process. Nothing else marks its target as a file with keys, so later runs
/// can read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[non_exhaustive]
pub struct ChangedKeyLink {
    /// The path of the symlink on the host, absolute.
    pub link: PathBuf,
    /// Where it led before the run, absolute and without symlinks.
    pub target: PathBuf,
}

impl ChangedKeyLink {
    /// Describes a symlink that does not lead to `target` anymore.
    pub fn new(link: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self {
            link: link.into(),
            target: target.into(),
        }
    }
}

/// The files that other programs execute, and that were created or changed during a run: by its
/// program or by another process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutedFiles {
    /// The files, in no particular order.
    pub files: Vec<ExecutedFile>,
    /// Whether all writable directories were searched for them.
    pub is_complete: bool,
}

/// A file that another program executes, and that was created or changed during a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ExecutedFile {
    /// The path on the host, absolute.
    pub path: PathBuf,
    /// The program that executes it, for users.
    pub program: &'static str,
    /// Whether it did not exist before the run.
    pub is_created: bool,
}

impl ExecutedFiles {
    /// Creates a list from the files that a search of all writable directories found.
    pub fn of_search(files: impl IntoIterator<Item = ExecutedFile>) -> Self {
        Self {
            files: files.into_iter().collect(),
            is_complete: true,
        }
    }

    /// Marks a list as one that may lack files, since the search ended at a limit.
    pub fn incomplete(mut self) -> Self {
        self.is_complete = false;
        self
    }
}

impl ExecutedFile {
    /// Describes a file that did not exist before the run.
    pub fn created(path: impl Into<PathBuf>, program: &'static str) -> Self {
        Self {
            path: path.into(),
            program,
            is_created: true,
        }
    }

    /// Describes a file that existed before the run.
    pub fn changed(path: impl Into<PathBuf>, program: &'static str) -> Self {
        Self {
            is_created: false,
            ..Self::created(path, program)
        }
    }
}

/// A directory that a program has to itself, and that is removed after the run: its home directory, or
/// the layer over its own directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrivateHome {
    /// Its path, as the program knows it.
    pub path: PathBuf,
    /// The files that the program left in it, relative to it. The list is bounded.
    pub files: Vec<String>,
}

impl PrivateHome {
    /// Describes an empty directory.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}

/// A host, and how often a program connected to it or looked it up.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct HostConnections {
    /// Its name or address.
    pub host: String,
    /// The number of connections.
    pub count: u64,
}

impl From<(String, u64)> for HostConnections {
    fn from((host, count): (String, u64)) -> Self {
        Self { host, count }
    }
}

impl RunOutput {
    /// Creates an output from its parts.
    pub fn new(
        termination: Termination,
        stdout: CapturedOutput,
        stderr: CapturedOutput,
        duration: Duration,
        enforcement: EnforcementReport,
    ) -> Self {
        Self {
            termination,
            stdout,
            stderr,
            duration,
            enforcement,
            notes: Vec::new(),
            refusals: Refusals::default(),
            connections: Vec::new(),
            connections_omitted: 0,
            lookups: Vec::new(),
            read_only_paths: Vec::new(),
            withheld_keys: Vec::new(),
            changed_key_links: Vec::new(),
            executed_files: ExecutedFiles::default(),
            changed_entries: None,
            private_home: None,
            discarded: None,
        }
    }

    /// Sets the hosts whose names it tried to resolve by itself, each with the number of attempts.
    /// Default: none.
    pub fn lookups(
        mut self,
        lookups: impl IntoIterator<Item = impl Into<HostConnections>>,
    ) -> Self {
        self.lookups = lookups.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the existing protected paths that the program could not change. Default: none.
    pub fn read_only_paths(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read_only_paths = paths.into_iter().collect();
        self
    }

    /// Sets the files and directories that may hold keys and that the program could not open. Default:
    /// none.
    pub fn withheld_keys(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.withheld_keys = paths.into_iter().collect();
        self
    }

    /// Sets the symlinks with names of files with keys that were changed or removed. Default: none.
    pub fn changed_key_links(mut self, links: Vec<ChangedKeyLink>) -> Self {
        self.changed_key_links = links;
        self
    }

    /// Sets the files that other programs execute and that were created or changed during the run.
    /// Default: none, and no search for them.
    pub fn executed_files(mut self, files: ExecutedFiles) -> Self {
        self.executed_files = files;
        self
    }

    /// Sets what changed in the writable directories. Default: unknown.
    pub fn changed_entries(mut self, changed: ChangedEntries) -> Self {
        self.changed_entries = Some(changed);
        self
    }

    /// Sets the private home directory of the program. Default: none.
    pub fn private_home(mut self, home: impl Into<Option<PrivateHome>>) -> Self {
        self.private_home = home.into();
        self
    }

    /// Sets what the program wrote in its own directory, which ended with the run. Default: nothing.
    pub fn discarded(mut self, layer: impl Into<Option<PrivateHome>>) -> Self {
        self.discarded = layer.into();
        self
    }

    /// Sets the hosts that it connected to, each with the number of connections, and the number of
    /// connections to further ones. Default: none.
    pub fn connections(
        mut self,
        connections: impl IntoIterator<Item = impl Into<HostConnections>>,
        omitted: u64,
    ) -> Self {
        self.connections = connections.into_iter().map(Into::into).collect();
        self.connections_omitted = omitted;
        self
    }

    /// Sets the operations that restrictions stopped. Default: none.
    pub fn refusals(mut self, refusals: Refusals) -> Self {
        self.refusals = refusals;
        self
    }

    /// Adds notes for the caller.
    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

/// How a program ended. Serialized with its name in kebab-case as `kind`; new kinds may be added.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Termination {
    /// It exited with this code; 0 is success.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// It was killed by a signal that the sandbox did not send for one of the reasons below.
    Signaled {
        /// The signal number.
        signal: i32,
    },
    /// The exit status is unknown: the host reaped the child first.
    Unknown,
    /// It exceeded its deadline, and the whole process tree was killed.
    TimedOut {
        /// The deadline, in milliseconds.
        limit_ms: u64,
    },
    /// It exceeded its memory limit.
    MemoryLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// It exceeded its output limit and was stopped.
    OutputLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// A writable directory exceeded its [quota](crate::Quota), or its disk is almost full, and the
    /// program was stopped.
    DiskLimit(QuotaExceeded),
    /// It exceeded its limit of open files, streams and other handles, and was stopped.
    HandleLimit {
        /// The limit.
        limit: u64,
    },
    /// The caller [cancelled](crate::CancellationToken) it.
    Cancelled,
    /// The WebAssembly program exceeded its stack.
    StackOverflow,
    /// The WebAssembly program trapped.
    Trapped {
        /// The reason of the trap.
        reason: String,
        /// The function names of the stack, the innermost first, if the program contains them. At
        /// most 16.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        frames: Vec<String>,
    },
    /// A part of the host that served the program panicked. Other runs continue.
    HostPanic {
        /// The panic message.
        message: String,
    },
}

impl Termination {
    /// Returns true if a directory exceeded its [quota](crate::Quota).
    #[must_use]
    pub fn exceeded_quota(&self) -> bool {
        use crate::QuotaPart::{DiskEntries, DiskSpace, DiskUnreadable};
        matches!(self, Self::DiskLimit(exceeded) if !matches!(exceeded.part, DiskSpace | DiskEntries | DiskUnreadable))
    }

    /// Returns true if the program exited with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exited { code: 0 }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signaled { signal } => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("exited with an unknown status"),
            Self::TimedOut { limit_ms } if limit_ms % 1000 == 0 => {
                write!(f, "timed out after {} s", limit_ms / 1000)
            }
            // What remains of a deadline is a second less some milliseconds, not a value that a caller set.
            Self::TimedOut { limit_ms } if *limit_ms > 10_000 => {
                write!(
                    f,
                    "timed out after {} s",
                    limit_ms.saturating_add(500) / 1000
                )
            }
            Self::TimedOut { limit_ms } => write!(f, "timed out after {limit_ms} ms"),
            Self::MemoryLimit { limit_bytes } => {
                write!(f, "exceeded its memory limit of {limit_bytes} bytes")
            }
            Self::OutputLimit { limit_bytes } => {
                write!(f, "exceeded its output limit of {limit_bytes} bytes")
            }
            Self::DiskLimit(exceeded) => write!(f, "stopped: {exceeded}"),
            Self::HandleLimit { limit } => write!(
                f,
                "exceeded its limit of {limit} open files and other handles"
            ),
            Self::Cancelled => f.write_str("cancelled"),
            Self::StackOverflow => f.write_str("trapped: stack overflow"),
            Self::Trapped { reason, frames } if frames.is_empty() => write!(f, "trapped: {reason}"),
            Self::Trapped { reason, frames } => {
                write!(f, "trapped: {reason}, in {}", frames.join(" < "))
            }
            Self::HostPanic { message } => {
                write!(f, "stopped because the host panicked: {message}")
            }
        }
    }
}
