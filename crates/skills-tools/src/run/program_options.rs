//! Options of the programs that the tools start.

use std::path::PathBuf;
use std::time::Duration;

use skills_runtime::ExecutionOptions;
use skills_runtime::policy::ResourceLimits;

/// Options of the programs that the tools start, as the operator sets them.
///
/// By default, programs have the limits of [`ExecutionOptions`], no additional paths, and script
/// tools start in the workspace. Policy limits all of it: it decides whether a program writes the
/// workspace.
///
/// ```
/// use std::time::Duration;
/// use skills_tools::{ProgramOptions, WorkingDirectory};
///
/// let options = ProgramOptions::default()
///     .memory_bytes(1 << 30)
///     .timeout(Duration::from_secs(120))
///     .working_directory(WorkingDirectory::Skill);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ProgramOptions {
    memory_bytes: Option<u64>,
    scratch_bytes: Option<u64>,
    file_bytes: Option<u64>,
    open_files: Option<u64>,
    processes: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    deadline_grace: Duration,
    readable_paths: Vec<PathBuf>,
    writable_paths: Vec<PathBuf>,
    pub(crate) working_directory: WorkingDirectory,
}

/// The working directory of script tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WorkingDirectory {
    /// The workspace if it is writable, else the private directory of the session.
    #[default]
    Workspace,
    /// The directory of the skill, which is read-only.
    Skill,
    /// The private directory of the session. Scripts then see no workspace and no mounts.
    Session,
}

impl ProgramOptions {
    /// Sets the limit of the memory in use, in bytes. Default: 2 GiB, or a quarter of the memory of
    /// the machine if that is less.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Sets the limit of scratch and session directories, in bytes. Default: 256 MiB.
    pub fn scratch_bytes(mut self, bytes: u64) -> Self {
        self.scratch_bytes = Some(bytes);
        self
    }

    /// Sets the limit of each file that a script writes, in bytes; see
    /// [`ExecutionOptions::file_bytes`]. Default: 64 MiB.
    pub fn file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    /// Sets the number of open files per process. Default: 1,024.
    pub fn open_files(mut self, count: u64) -> Self {
        self.open_files = Some(count);
        self
    }

    /// Sets the number of concurrent processes and threads of a script. Default: 1,024.
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = Some(count);
        self
    }

    /// Sets the timeout of scripts with a tool that has none. Default: 30 seconds. One of more
    /// than 10 minutes is additionally the longest that a call can choose, which is 10 minutes by
    /// default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long programs may go on after they were asked to end at their deadline; see
    /// [`ExecutionOptions::deadline_grace`]. Default: zero.
    pub fn deadline_grace(mut self, grace: Duration) -> Self {
        self.deadline_grace = grace;
        self
    }

    /// Adds a file or directory that programs can read.
    pub fn readable_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable_paths.push(path.into());
        self
    }

    /// Adds a file or directory that programs can read and write, if policy allows it.
    pub fn writable_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable_paths.push(path.into());
        self
    }

    /// Sets the working directory of script tools. Default: the workspace.
    pub fn working_directory(mut self, directory: WorkingDirectory) -> Self {
        self.working_directory = directory;
        self
    }

    /// Returns the longest deadline that a call can choose.
    pub(crate) fn max_chosen_time(&self) -> Duration {
        let timeout = self.timeout.unwrap_or_default();
        timeout.max(ResourceLimits::MAX_CHOSEN_TIME)
    }

    /// Sets the options of one run.
    pub(crate) fn apply_to(&self, options: &mut ExecutionOptions) {
        options.deadline_grace = self.deadline_grace;
        options.memory_bytes = self.memory_bytes;
        options.scratch_bytes = self.scratch_bytes;
        options.file_bytes = self.file_bytes;
        options.open_files = self.open_files;
        options.processes = self.processes;
        options.readable_paths.clone_from(&self.readable_paths);
        options.writable_paths.clone_from(&self.writable_paths);
    }
}
