//! How a skill is run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skills_policy::{Access, Approver, Capability, HostPattern, ResourceLimits};
use skills_sandbox::CancellationToken;

use crate::error::{Repr, RuntimeError};
use crate::{HostCommand, InputProtocol, Secret, SessionDirectory};

/// How a skill is run.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExecutionOptions {
    /// The program's input: on its standard input as JSON and, up to 128 KiB, in `SKILL_INPUT`.
    /// Default `{}`.
    pub input: Value,
    /// The deadline in milliseconds; 0 or nothing for the default of 30,000. The rules' ceiling
    /// holds.
    pub timeout_ms: Option<u64>,
    /// The most memory in bytes; nothing for the default of 256 MiB. The rules' ceiling holds.
    pub memory_bytes: Option<u64>,
    /// The most that the program's scratch space may hold, and likewise its workspace where that is
    /// [private](Workspace::Private) or of a [session](Workspace::Session), in bytes; nothing for
    /// the default of 256 MiB. The rules' ceiling holds.
    pub scratch_bytes: Option<u64>,
    /// Runs this module of the skill instead of the one that would be found.
    pub wasm_module: Option<String>,
    /// Runs this script of the skill: `run.py`, `scripts/run.py` or `run`.
    pub script: Option<String>,
    /// Runs this command instead of a program of the skill. Default none.
    pub command: Option<HostCommand>,
    /// Arguments, passed as they are. Default none.
    pub args: Vec<String>,
    /// A directory for the program's input and output files. Default none.
    pub workspace: Workspace,
    /// Files and directories to read besides. Not beyond what the skill's `allowed-tools` name, if
    /// they name anything. Default none.
    pub readable_paths: Vec<PathBuf>,
    /// Files and directories to read and write besides, as with `read`; a rule or an answer has to
    /// allow it. Default none.
    pub writable_paths: Vec<PathBuf>,
    /// Directories that the program gets where that needs no answer: to read and write, else to
    /// read, else not at all; a skill that names what it needs gets none that it does not name. The
    /// paths are canonical: one that a symlink leads elsewhere by then stops the run. Default none.
    pub optional_mounts: Vec<(PathBuf, Access)>,
    /// Hosts that the program may reach besides those that the skill names; a rule or an answer has
    /// to allow it. Default none.
    pub hosts: Vec<HostPattern>,
    /// The directory that the program starts in, which it may read. Default the skill's own.
    pub current_dir: Option<PathBuf>,
    /// Other names under which a program that sees a file tree of its own finds what it may read,
    /// and what they stand for; both absolute. Default none.
    pub path_aliases: Vec<(PathBuf, PathBuf)>,
    /// What the program is told of itself. Default that of the OpenSkills flow.
    pub input_protocol: InputProtocol,
    /// Standard input, in place of what the convention puts there. Default nothing of it.
    pub stdin: Option<Vec<u8>>,
    /// How much of each output stream is kept, in bytes, a quarter of it from the end; nothing for
    /// the default. The rules' ceiling holds.
    pub captured_bytes: Option<usize>,
    /// Variables for the program. One that the skill does not declare has to be allowed. Default
    /// none.
    pub env: BTreeMap<String, Secret>,
    /// Capabilities to give up although the skill asks for them. Default none.
    pub dropped_capabilities: Vec<Capability>,
    /// Who is asked, instead of whom the runtime asks.
    pub approver: Option<Arc<dyn Approver>>,
    /// The conversation that the run is part of: what somebody answers for the session counts in it
    /// alone, until it is [forgotten](crate::SkillRuntime::clear_session_approvals). Default
    /// nothing, which is a session of its own: the host's.
    pub session: Option<String>,
    /// Stops the run, which then ends as [cancelled](crate::Ending::Cancelled) with what it wrote
    /// until then. Default nobody.
    pub cancellation: Option<CancellationToken>,
}

/// A directory for a program's input and output files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Workspace {
    /// None.
    #[default]
    None,
    /// This one: readable when the skill asks to read, writable when it asks to write and a rule or
    /// an answer allows it. Symlinks and `..` in its path are resolved before anything is decided.
    /// Files that the program makes or changes are named in the artifacts and stay where they are.
    Directory(PathBuf),
    /// One that is made for this run with these files in it, may be written without asking, and is
    /// gone afterwards. Files that the program makes or changes are in the artifacts with their
    /// content. It holds at most [`scratch_bytes`](ExecutionOptions::scratch_bytes) and 20,000
    /// entries.
    Private(Vec<InputFile>),
    /// One that was made for several runs, may be written without asking, and is gone with the last
    /// of its handles. Each run ends when more than its
    /// [`scratch_bytes`](ExecutionOptions::scratch_bytes) or 20,000 entries lie in it, those of
    /// earlier runs included.
    Session(SessionDirectory),
}

/// A file for a private workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Its name in the workspace: one part, not a path.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self {
            input: json!({}),
            timeout_ms: None,
            memory_bytes: None,
            scratch_bytes: None,
            wasm_module: None,
            script: None,
            command: None,
            args: Vec::new(),
            workspace: Workspace::None,
            readable_paths: Vec::new(),
            writable_paths: Vec::new(),
            optional_mounts: Vec::new(),
            hosts: Vec::new(),
            current_dir: None,
            path_aliases: Vec::new(),
            input_protocol: InputProtocol::default(),
            stdin: None,
            captured_bytes: None,
            env: BTreeMap::new(),
            dropped_capabilities: Vec::new(),
            approver: None,
            session: None,
            cancellation: None,
        }
    }
}

impl ExecutionOptions {
    /// Sets the input.
    #[must_use]
    pub fn input(mut self, input: Value) -> Self {
        self.input = input;
        self
    }

    /// Sets the deadline.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Chooses a script.
    #[must_use]
    pub fn script(mut self, script: impl Into<String>) -> Self {
        self.script = Some(script.into());
        self
    }

    /// Chooses a workspace.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = workspace;
        self
    }

    /// Gives a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Chooses who is asked.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Lets `cancellation` stop the run.
    #[must_use]
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    pub(crate) fn limits(&self) -> ResourceLimits {
        let mut limits = ResourceLimits::default();
        if let Some(timeout_ms) = self.timeout_ms.filter(|timeout_ms| *timeout_ms > 0) {
            limits.wall_time = Duration::from_millis(timeout_ms);
        }
        if let Some(memory_bytes) = self.memory_bytes {
            limits.memory_bytes = memory_bytes;
        }
        if let Some(scratch_bytes) = self.scratch_bytes {
            limits.scratch_bytes = scratch_bytes;
        }
        if let Some(output_bytes) = self.captured_bytes {
            limits.captured_bytes = output_bytes;
        }
        limits
    }

    /// Resolves all paths, so that what the policy compares is what the sandbox opens.
    pub(crate) fn resolve_paths(&self) -> Result<Self, RuntimeError> {
        let mut options = self.clone();
        if let Workspace::Directory(directory) = &mut options.workspace {
            *directory = resolve(directory)?;
        }
        let more = options.path_aliases.iter_mut().map(|(_, path)| path);
        for path in options
            .readable_paths
            .iter_mut()
            .chain(&mut options.writable_paths)
            .chain(&mut options.current_dir)
            .chain(more)
        {
            *path = resolve(path)?;
        }
        Ok(options)
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

/// Variables show their names, and whoever is asked nothing.
impl fmt::Debug for ExecutionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionOptions")
            .field("input", &self.input)
            .field("timeout_ms", &self.timeout_ms)
            .field("memory_bytes", &self.memory_bytes)
            .field("scratch_bytes", &self.scratch_bytes)
            .field("wasm_module", &self.wasm_module)
            .field("script", &self.script)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("workspace", &self.workspace)
            .field("read", &self.readable_paths)
            .field("write", &self.writable_paths)
            .field("offer", &self.optional_mounts)
            .field("hosts", &self.hosts)
            .field("directory", &self.current_dir)
            .field("convention", &self.input_protocol)
            .field("env", &self.env)
            .field("without", &self.dropped_capabilities)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
