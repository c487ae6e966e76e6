//! Environment variables of a script: `SKILL_NAME`, `SKILL_DIR`, `SKILL_INPUT` and others.
//!
//! Granted variables are added with the job; `HOME`, `PATH` and `TMPDIR` are set by the backend.

use std::borrow::Cow;

use skills_policy::FileGrant;
use skills_sandbox::Job;

use crate::authorize::Authorized;
use crate::execution_mode::ExecutionMode;
use crate::input_protocol::InputProtocol;
use crate::options::{ExecutionOptions, Workspace};
use crate::plan::Planned;
use crate::request::WORKSPACE_ALIAS;

/// Maximum length of `NAME=value` on Linux, with the final NUL. Longer input is passed on standard
/// input only.
const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// Maximum length of an input in `SKILL_INPUT`, in bytes.
pub(crate) const MAX_VARIABLE_INPUT_BYTES: usize = MAX_VARIABLE_BYTES - 1 - "SKILL_INPUT=".len();

/// Sets the environment variables of the input protocol.
pub(super) fn set_protocol_env(job: Job, run: &Authorized, stdin: &[u8]) -> Job {
    let planned = run.planned();
    let (mode, options) = (planned.mode(), planned.options());
    let is_wasm = matches!(mode, ExecutionMode::Wasm { .. });
    let mut job = job;
    if let Some(skill) = planned.skill() {
        let name = skill.entry.name().as_str();
        let directory = skill.entry.directory();
        job = job.env("SKILL_NAME", name);
        if !is_wasm {
            job = job.env("SKILL_DIR", directory.to_string_lossy());
            // As texts of skills for Claude Code name it.
            job = job.env("CLAUDE_SKILL_DIR", directory.to_string_lossy());
            job = job.env(
                "SKILL_ASSETS_DIR",
                directory.join("assets").to_string_lossy(),
            );
        }
        if run.checked().imports_from_top() {
            job = job.python_path(directory);
        }
        if options.input_protocol == InputProtocol::OpenSkills {
            let timeout_ms = job.grants().limits().wall_time.as_millis().to_string();
            job = job.env("SKILL_ID", name).env("TIMEOUT_MS", timeout_ms);
        }
    }
    let is_granted =
        job.grants().files().iter().any(is_in_workspace) && !is_workspace_current_dir(options);
    if let Some(path) = run.workspace().filter(|_| is_granted) {
        let path = if is_wasm {
            // WebAssembly sees no paths of the host.
            WORKSPACE_ALIAS.to_owned()
        } else {
            path.to_string_lossy().into_owned()
        };
        job = job.env("SKILL_WORKSPACE", path);
    }
    let input = input_variable(planned, stdin);
    // `execve` would fail with a longer value.
    match input.filter(|input| input.len() <= MAX_VARIABLE_INPUT_BYTES) {
        Some(input) => job.env("SKILL_INPUT", input),
        None => job,
    }
}

/// Returns the input of the OpenSkills protocol, also if standard input is a stream of the caller.
fn input_variable<'a>(planned: &Planned, stdin: &'a [u8]) -> Option<Cow<'a, str>> {
    let options = planned.options();
    if planned.has_protocol_input() {
        return std::str::from_utf8(stdin).ok().map(Cow::Borrowed);
    }
    let is_stream =
        options.input_stream.is_some() && options.input_protocol == InputProtocol::OpenSkills;
    is_stream.then(|| Cow::Owned(options.input.to_string()))
}

fn is_in_workspace(file: &FileGrant) -> bool {
    // With the separator, so that `/workspaces` is another directory.
    file.guest_path() == WORKSPACE_ALIAS || file.guest_path().starts_with("/workspace/")
}

/// Returns true for a script runner in a session directory: that directory is its working
/// directory, so `SKILL_WORKSPACE` is not set.
fn is_workspace_current_dir(options: &ExecutionOptions) -> bool {
    options.input_protocol == InputProtocol::ScriptRunner
        && matches!(options.workspace, Workspace::Session(_))
}
