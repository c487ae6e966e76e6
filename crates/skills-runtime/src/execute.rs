//! The way from a chosen program to a job.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skills_discovery::{Entry, SkillFiles};
use skills_manifest::Manifest;
use skills_policy::{Capability, Grants, Limits, Request};
use skills_sandbox::{Job, Program, SandboxError};

use crate::ExecutionMode;
use crate::error::{Repr, RuntimeError};

/// The largest module that is read, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;
/// The longest `NAME=value` that Linux passes to a program, with its final NUL; longer input comes by standard input alone.
const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// How a skill is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExecutionOptions {
    /// The program's input: on its standard input as JSON and, up to 128 KiB, in `SKILL_INPUT`. Default `{}`.
    pub input: Value,
    /// The deadline in milliseconds; 0 or nothing for the default of 30,000. The rules' ceiling holds.
    pub timeout_ms: Option<u64>,
    /// Runs this module of the skill instead of the one that would be found.
    pub wasm_module: Option<String>,
    /// Runs this script of the skill: `run.py`, `scripts/run.py` or `run`.
    pub script: Option<String>,
    /// Arguments, passed as they are. Default none.
    pub args: Vec<String>,
    /// A directory for the program's input and output files: readable when the skill asks to read, writable when it asks to write and the
    /// rules allow it. Symlinks and `..` in its path are resolved before anything is decided. Default none.
    pub workspace: Option<PathBuf>,
    /// Capabilities to give up although the skill asks for them. Default none.
    pub without: Vec<Capability>,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self { input: json!({}), timeout_ms: None, wasm_module: None, script: None, args: Vec::new(), workspace: None, without: Vec::new() }
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

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let Some(timeout_ms) = self.timeout_ms.filter(|timeout_ms| *timeout_ms > 0) {
            limits.wall_time = Duration::from_millis(timeout_ms);
        }
        limits
    }

    /// Resolves the workspace, so that what the policy compares is what the sandbox opens.
    pub(crate) fn resolved(mut self) -> Result<Self, SandboxError> {
        if let Some(directory) = &mut self.workspace {
            *directory = directory.canonicalize().map_err(|error| SandboxError::setup("opening the workspace", error))?;
        }
        Ok(self)
    }

    /// Makes the request: what the skill declares, less what is given up.
    pub(crate) fn request(&self, entry: &Entry, manifest: &Manifest) -> Request {
        let request = Request::new(entry.directory()).limits(self.limits());
        let request = match &self.workspace {
            Some(directory) => request.workspace(directory),
            None => request,
        };
        let request = manifest.allowed_tools().iter().fold(request, |request, rule| request.tool(rule.tool(), rule.pattern()));
        self.without.iter().fold(request, |request, capability| request.without(*capability))
    }
}

/// Makes the job for a program of the skill.
pub(crate) fn job(
    entry: &Entry,
    files: &SkillFiles,
    mode: &ExecutionMode,
    grants: Grants,
    options: &ExecutionOptions,
) -> Result<Job, RuntimeError> {
    let (name, timeout_ms) = (entry.name().as_str(), grants.limits().wall_time.as_millis().to_string());
    let input = options.input.to_string();
    let job = match mode {
        ExecutionMode::Wasm { wasm_module } => {
            let bytes = files.read(wasm_module, MAX_MODULE_BYTES);
            let bytes = bytes.map_err(|source| Repr::Files { path: entry.directory().join(wasm_module), source })?;
            Job::new(grants, Program::Wasm(Arc::from(bytes)))
        }
        ExecutionMode::Native { script_path, script_type } => {
            let directory = entry.directory();
            Job::new(grants, Program::script(*script_type, directory.join(script_path)))
                .environment("SKILL_DIR", directory.to_string_lossy())
                .environment("SKILL_ASSETS_DIR", directory.join("assets").to_string_lossy())
        }
    };
    let job = job.environment("SKILL_ID", name).environment("SKILL_NAME", name).environment("TIMEOUT_MS", timeout_ms);
    let fits = "SKILL_INPUT=".len() + input.len() < MAX_VARIABLE_BYTES;
    let job = if fits { job.environment("SKILL_INPUT", input.as_str()) } else { job };
    let job = job.input(input.into_bytes());
    Ok(options.args.iter().fold(job, |job, argument| job.argument(argument.as_str())))
}
