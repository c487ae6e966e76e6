//! Options of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use skills_discovery::is_source_path;
use skills_policy::{
    Access, Capability, HostPattern, Policy, ResourceLimits, SandboxChoice, Secret,
};
use skills_sandbox::{InputStream, OutputStream, ProgramTerminal};

use crate::error::{Repr, RuntimeError};
use crate::machine::default_memory_bytes;
use crate::{CallContext, HostCommand, InputProtocol, SessionDirectory};

/// Options of one run.
///
/// `ExecutionOptions::default()` runs the skill's own program with an empty JSON object as input,
/// the default limits, no workspace and no additional permissions. Options request permissions;
/// they never grant them. Limits can be raised up to the ceilings of the policy.
///
/// Set fields and take the others from the default; versions can add fields.
///
/// ```
/// use serde_json::json;
/// use skills_runtime::{ExecutionOptions, Secret, Workspace};
///
/// let options = ExecutionOptions {
///     timeout_ms: Some(5_000),
///     args: vec!["--verbose".to_owned()],
///     workspace: Workspace::Private(Vec::new()),
///     env: [("API_KEY".to_owned(), Secret::new("hunter2hunter2"))].into(),
///     ..ExecutionOptions::script("report.py", json!({"month": "2026-11"}))
/// };
/// assert!(!format!("{options:?}").contains("hunter2"), "values are not printed");
/// ```
#[derive(Debug, Clone)]
pub struct ExecutionOptions {
    /// Input of the program, passed as JSON on standard input and, up to 128 KiB, in `SKILL_INPUT`.
    /// Default: `{}`.
    pub input: Value,
    /// Deadline in milliseconds. 0 and `None` mean the default of 30,000. Limited by the policy.
    pub timeout_ms: Option<u64>,
    /// How long the program may go on after it was asked to end at its deadline. Programs in
    /// containers and WebAssembly have no grace. At most [`MAX_GRACE`](Self::MAX_GRACE). Default:
    /// zero.
    pub deadline_grace: Duration,
    /// Limit of the memory in use, in bytes. Default: 2 GiB, or a quarter of the memory of the
    /// machine if that is less. Limited by the policy.
    pub memory_bytes: Option<u64>,
    /// Limit in bytes of the scratch directory, and separately of a [private](Workspace::Private)
    /// or [session](Workspace::Session) workspace. Default: 256 MiB. Limited by the policy.
    pub scratch_bytes: Option<u64>,
    /// Limit in bytes of each file that a script writes, unless a file or directory is granted for
    /// writing: then only the policy limits it. Default: 64 MiB. Limited by the policy.
    pub file_bytes: Option<u64>,
    /// Number of open files per process. Default: 1,024. Limited by the policy, and by what the host
    /// allows this process.
    pub open_files: Option<u64>,
    /// Number of concurrent processes and threads of a script. Default: 1,024. Limited by the policy, and
    /// by what the host allows this process.
    pub processes: Option<u64>,
    /// What runs. Default: the program of the skill that
    /// [`detect_execution_mode`](crate::detect_execution_mode) selects.
    pub target: RunTarget,
    /// The preferred sandbox. Default: [`SandboxChoice::Auto`], which means that of the
    /// [runtime](field@crate::Backends::preferred).
    pub sandbox: SandboxChoice,
    /// Arguments, passed unmodified. Default: none.
    pub args: Vec<String>,
    /// Directory for the program's input and output files. Default: none.
    pub workspace: Workspace,
    /// Additional files and directories to read. Restricted by the skill's `allowed-tools`, if
    /// there are any. Default: none.
    pub readable_paths: Vec<PathBuf>,
    /// Additional files and directories to read and write, with the same restriction as
    /// `readable_paths`. A rule or an approval must allow it. A missing path is created as a file, or
    /// as a directory if it ends with a slash. Default: none.
    pub writable_paths: Vec<PathBuf>,
    /// Directories that are granted only if policy allows them without approval. Write access is
    /// reduced to read access if only that is allowed. A skill with `allowed-tools` gets only
    /// directories that these cover. Paths must be canonical; the run fails if one contains a
    /// symlink at that time. Default: none.
    pub optional_mounts: Vec<(PathBuf, Access)>,
    /// Directories of further skills whose files the program can read, at the paths of these
    /// directories. What it gets is a private copy of the current content, after the checks of a run
    /// of that skill: it is active, its restrictions can be parsed, and it has the content of its
    /// lock file. Like [`optional_mounts`](Self::optional_mounts) they cause no prompt and no
    /// failure: a skill that fails a check, or that policy does not let the program read, is in
    /// [`unreadable_skills`](crate::ExecutionArtifacts::unreadable_skills). A preview ignores them.
    /// Default: none.
    pub readable_skills: Vec<PathBuf>,
    /// Additional hosts that the program can connect to. A rule or an approval must allow it.
    /// Default: none.
    pub hosts: Vec<HostPattern>,
    /// Files with keys that the program can read, by their canonical paths, if an approver allows it:
    /// no program gets such a file of a directory that is granted as a whole. Without an approver the
    /// run goes on without them, unless a rule for the file itself allows it. Default: none.
    pub key_paths: Vec<PathBuf>,
    /// Working directory of the program, which must be readable. Default: the skill directory.
    pub current_dir: Option<PathBuf>,
    /// Whether a program without `current_dir` starts in its [private](Workspace::Private)
    /// workspace, so that relative paths of its arguments are files there. Default: false.
    pub starts_in_private_workspace: bool,
    /// Aliases for readable paths, as pairs of alias and path, both absolute. They are available to
    /// programs that run in a separate file system view. Default: none.
    pub path_aliases: Vec<(PathBuf, PathBuf)>,
    /// How the program receives its input. Default: the OpenSkills protocol.
    pub input_protocol: InputProtocol,
    /// Standard input, instead of what the input protocol passes. Default: none.
    pub stdin: Option<Vec<u8>>,
    /// Input that is read while the program runs, such as that of an [`InputSink`](skills_sandbox::InputSink).
    /// It replaces the JSON that the input protocol passes on standard input, but not `SKILL_INPUT`;
    /// WebAssembly ignores it, and for a container all of it is read before the program starts, at
    /// most 16 MiB. Default: none.
    pub input_stream: Option<InputStream>,
    /// A terminal of its own for the program, on backends that have one (native programs on Linux).
    /// Others ignore it. Default: none, so that the program has three pipes.
    pub terminal: Option<ProgramTerminal>,
    /// The output streams that are only shown to a person by their
    /// [events](skills_sandbox::RunEvent::Output), such as on a terminal. What is shown may come again
    /// with a further attempt; what went into a pipe or a file may not. Default: none.
    pub shown_output: Vec<OutputStream>,
    /// Number of bytes that are kept of each output stream, a quarter of them from the end. `None`
    /// means the default. Limited by the policy.
    pub captured_bytes: Option<usize>,
    /// Number of bytes of one output stream after which the program is killed. `None` means the
    /// default of 64 MiB. Limited by the policy.
    pub output_limit_bytes: Option<u64>,
    /// Environment variables for the program. A rule or an approval must allow variables that the
    /// skill does not declare. Default: none.
    pub env: BTreeMap<String, Secret>,
    /// Capabilities to drop although the skill requests them. Default: none.
    pub dropped_capabilities: Vec<Capability>,
    /// Maximum number of starts of the program, 1 to 3. A further attempt follows if the program failed,
    /// the runtime observed a refusal or a reached limit, an approver allows it, and the attempt had no
    /// [effects](skills_policy::RunEffects). After effects the approver is asked as well, for later runs.
    /// Limits are raised to ten times the time or four times the memory, up to the ceiling. Default: 1.
    pub max_attempts: u32,
    /// Session, cancellation and approver of the run. Default: the session and the approver of the
    /// runtime, and no cancellation.
    pub context: CallContext,
}

/// The longest time that timers of all systems can count, more than 30 years.
const MAX_TIME: Duration = Duration::from_secs(1_000_000_000);
/// How often a run starts its program at most, whatever its caller wants.
const MAX_ATTEMPTS: u32 = 3;

/// What a run starts: one program of the skill, or a command of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunTarget {
    /// The program of the skill, detected from its files and the input.
    #[default]
    Automatic,
    /// A script of the skill: `run.py`, `scripts/run.py` or `run`.
    Script(String),
    /// A WebAssembly module of the skill, by its path.
    Module(String),
    /// A command of the host, for the skill.
    Command(HostCommand),
}

impl RunTarget {
    pub(crate) fn command(&self) -> Option<&HostCommand> {
        match self {
            Self::Command(command) => Some(command),
            _ => None,
        }
    }
}

/// Directory for a program's input and output files.
///
/// A private or session workspace is writable without approval; writing to an existing directory
/// takes a rule or an approval. In all cases the files that a program created or changed are listed
/// in the [artifacts](crate::ExecutionArtifacts::output_files).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Workspace {
    /// No workspace.
    #[default]
    None,
    /// An existing directory. Readable unless a rule denies it; writable if a rule allows
    /// `write`, or if the skill requests it and it is approved. Symlinks and `..` in its path are
    /// resolved before authorization. Output files stay in the directory and are listed without
    /// content.
    Directory(PathBuf),
    /// A temporary directory for this run, with these files in it. It is writable without approval
    /// and removed afterwards. Output files are returned with their content. The limits are
    /// [`scratch_bytes`](ExecutionOptions::scratch_bytes) and 20,000 entries.
    Private(Vec<InputFile>),
    /// A temporary directory for several runs. It is writable without approval and removed with its
    /// last handle. A run is stopped if the directory exceeds the run's
    /// [`scratch_bytes`](ExecutionOptions::scratch_bytes) or 20,000 entries, including files of
    /// earlier runs.
    Session(SessionDirectory),
}

/// Input file for a private workspace.
///
/// Written before the program starts. A name with a directory, or two files of one name, make the
/// run fail. Input files count toward the limit of the workspace, and are listed as output only if
/// the program changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// File name in the workspace, without directories.
    pub name: String,
    /// Content of the file.
    pub content: Vec<u8>,
}

impl InputFile {
    /// Creates an input file from its name and its content.
    pub fn new(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            content: content.into(),
        }
    }
}

impl ExecutionOptions {
    /// The longest grace after a deadline: the policy limits the deadline, and a caller must not
    /// extend it without a limit.
    pub const MAX_GRACE: Duration = Duration::from_secs(60);

    /// Returns the defaults with this input, for the program that the runtime selects.
    #[must_use]
    pub fn with_input(input: Value) -> Self {
        Self {
            input,
            ..Self::default()
        }
    }

    /// Returns the defaults with this input, for a script of the skill: `run.py`, `scripts/run.py`
    /// or `run`.
    #[must_use]
    pub fn script(script: impl Into<String>, input: Value) -> Self {
        Self {
            target: RunTarget::Script(script.into()),
            ..Self::with_input(input)
        }
    }
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self {
            input: json!({}),
            timeout_ms: None,
            deadline_grace: Duration::ZERO,
            memory_bytes: None,
            scratch_bytes: None,
            file_bytes: None,
            open_files: None,
            processes: None,
            target: RunTarget::default(),
            sandbox: SandboxChoice::Auto,
            args: Vec::new(),
            workspace: Workspace::None,
            readable_paths: Vec::new(),
            writable_paths: Vec::new(),
            optional_mounts: Vec::new(),
            readable_skills: Vec::new(),
            hosts: Vec::new(),
            key_paths: Vec::new(),
            current_dir: None,
            starts_in_private_workspace: false,
            path_aliases: Vec::new(),
            input_protocol: InputProtocol::default(),
            stdin: None,
            input_stream: None,
            terminal: None,
            shown_output: Vec::new(),
            captured_bytes: None,
            output_limit_bytes: None,
            env: BTreeMap::new(),
            dropped_capabilities: Vec::new(),
            max_attempts: 1,
            context: CallContext::default(),
        }
    }
}

impl ExecutionOptions {
    /// Returns how often the program is started at most.
    pub(crate) fn attempts(&self) -> u32 {
        self.max_attempts.clamp(1, MAX_ATTEMPTS)
    }

    /// Returns the limits: those of the options, else of the user's policy, else the defaults.
    pub(crate) fn limits(&self, policy: &Policy) -> ResourceLimits {
        let mut defaults = ResourceLimits::default();
        defaults.memory_bytes = default_memory_bytes();
        let mut limits = policy.limits_of_runs(&defaults);
        if let Some(timeout_ms) = self.timeout_ms.filter(|timeout_ms| *timeout_ms > 0) {
            limits.wall_time = Duration::from_millis(timeout_ms);
        }
        for (limit, chosen) in [
            (&mut limits.memory_bytes, self.memory_bytes),
            (&mut limits.scratch_bytes, self.scratch_bytes),
            (&mut limits.file_bytes, self.file_bytes),
            (&mut limits.open_files, self.open_files),
            (&mut limits.processes, self.processes),
        ] {
            *limit = chosen.unwrap_or(*limit);
        }
        if let Some(captured_bytes) = self.captured_bytes {
            limits.captured_bytes = captured_bytes;
        }
        if let Some(output_limit_bytes) = self.output_limit_bytes {
            limits.output_limit_bytes = output_limit_bytes;
        }
        // Of the options or of a policy, which both can be too large to add to a point in time.
        limits.wall_time = limits.wall_time.min(MAX_TIME);
        limits
    }

    /// Canonicalizes all paths, so that policy and sandbox use the same paths.
    pub(crate) fn resolve_paths(mut self) -> Result<Self, RuntimeError> {
        if let Workspace::Directory(directory) = &mut self.workspace {
            *directory = resolve(directory)?;
        }
        // Optional mounts are missing here: they must be canonical already, or the run fails.
        for path in &mut self.readable_paths {
            *path = resolve(path)?;
        }
        let aliased = self.path_aliases.iter_mut().map(|(_, path)| path);
        // They may be in a skill of a source, of which the run gets a copy.
        for path in self.current_dir.iter_mut().chain(aliased) {
            if !is_source_path(path) {
                *path = resolve(path)?;
            }
        }
        for path in &mut self.writable_paths {
            *path = resolve_writable(path)?;
        }
        Ok(self)
    }
}

/// Resolves a path that may be missing in an existing directory. A slash at its end stays, which
/// says that a directory is created.
fn resolve_writable(path: &Path) -> Result<PathBuf, RuntimeError> {
    if path.symlink_metadata().is_ok() {
        return resolve(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            let mut resolved = resolve(parent)?.join(name);
            if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                resolved.push("");
            }
            Ok(resolved)
        }
        _ => resolve(path),
    }
}

fn resolve(path: &Path) -> Result<PathBuf, RuntimeError> {
    path.canonicalize().map_err(|source| {
        Repr::OptionalPath {
            path: path.to_owned(),
            source,
        }
        .into()
    })
}

#[cfg(test)]
mod tests {
    use skills_policy::{PolicyFile, RuleSource};

    use super::*;

    #[test]
    fn the_time_of_a_policy_and_of_options_is_one_that_timers_count() {
        let text = format!("[limits]\ntime-seconds = {}", i64::MAX);
        let file = PolicyFile::parse(&text, RuleSource::User, "policy.toml").unwrap();
        let policy = Policy::from_files(&[file]);
        let mut options = ExecutionOptions::default();
        assert_eq!(options.limits(&policy).wall_time, MAX_TIME);
        options.timeout_ms = Some(u64::MAX);
        assert_eq!(options.limits(&policy).wall_time, MAX_TIME);
    }
}
