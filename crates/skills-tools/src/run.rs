//! Runs programs for tools: preparation of runs and presentation of their results.

pub(crate) mod command_line;
mod deadline;
mod declared_packages;
pub(crate) mod file_lines;
pub(crate) mod hooks;
pub(crate) mod implicit_uses;
mod key_arguments;
pub(crate) mod line;
pub(crate) mod named_skills;
pub(crate) mod output;
mod program_options;
mod remedies;
mod runnable_skill;
pub(crate) mod script_tool;
pub(crate) mod session_dirs;
pub(crate) mod skill_program;
pub(crate) mod visible_dirs;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use skills_runtime::policy::{HostPattern, PolicyError, ResourceLimits};
use skills_runtime::{
    Entry, ErrorKind, Evidence, ExecutionArtifacts, ExecutionOptions, HostCommand, InputProtocol,
    OutputStream, RefusedOperation, Remedy, RunTarget, RuntimeError, SkillPrograms,
};

use self::implicit_uses::ImplicitUses;
use self::key_arguments::named_keys;
use self::line::{EndedPart, MAX_PASSED_BYTES, Part};
use self::named_skills::{NamedSkills, invisible_line};
use self::output::{ProgramOutput, reached_timeout_ms, run_error};
use self::visible_dirs::VisibleDirs;

use crate::overrides::{OverrideStore, ScriptId, ToolOverride};
use crate::path_map::PathMap;
use crate::sanitize::strip_terminal_escapes;
use crate::schema;
use crate::virtual_files::VirtualFiles;
use crate::{CallContext, DefaultScriptState, ToolError, ToolErrorCode};

pub(crate) use deadline::Deadline;
pub use hooks::HookMode;
pub(crate) use hooks::HookedCall;
pub use program_options::{ProgramOptions, WorkingDirectory};
pub(crate) use remedies::{Remedies, request_to_user};
pub(crate) use runnable_skill::RunnableSkill;
pub(crate) use session_dirs::SessionDirectories;

/// Maximum number of captured bytes per output stream.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;
/// Maximum size of standard input, in bytes.
pub(crate) const MAX_STDIN_BYTES: usize = 1 << 20;
/// Maximum timeout in seconds, unless the operator's is longer. A ceiling of the policy may be
/// lower.
pub(crate) const MAX_CHOSEN_SECONDS: u64 = ResourceLimits::MAX_CHOSEN_TIME.as_secs();
/// Maximum number of hosts that a call can request.
const MAX_HOSTS: usize = 16;

/// Runs the programs of tools.
#[derive(Clone)]
pub(crate) struct ProgramRunner {
    pub(crate) files: Arc<VirtualFiles>,
    pub(crate) overrides: Arc<OverrideStore>,
    pub(crate) default_script_state: DefaultScriptState,
    pub(crate) sessions: Arc<SessionDirectories>,
    pub(crate) options: ProgramOptions,
    pub(crate) remedies: Remedies,
}

/// The result of a run.
pub(crate) struct CompletedRun {
    pub(crate) artifacts: ExecutionArtifacts,
    pub(crate) output: ProgramOutput,
    /// The timeout in seconds, as messages show it.
    pub(crate) timeout_seconds: String,
}

impl ProgramRunner {
    /// Finds a skill that may run by exact name, in the catalog that the call started with.
    pub(crate) fn find_runnable(&self, name: &str) -> Result<RunnableSkill, ToolError> {
        let (entry, is_draft) = self.files.find_cached_skill(name)?;
        // Its content is whatever the model wrote. Only a user can make it a skill.
        if is_draft {
            let name = name.to_owned();
            let message = format!("skill `{name}` is a draft and cannot run");
            let remedy = self.remedies.describe(&Remedy::AcceptDraft { name });
            let remedy = remedy.as_deref().unwrap_or("accept it");
            let error = ToolErrorCode::ApprovalRequired.error(message);
            return Err(error.with_hint(request_to_user(remedy)));
        }
        RunnableSkill::try_new(entry)
    }

    /// Rejects a script that the operator disabled, whichever tool runs it.
    pub(crate) fn check_enabled(
        &self,
        skill: &RunnableSkill,
        target: &RunTarget,
    ) -> Result<(), ToolError> {
        let RunTarget::Script(script) = target else {
            return Ok(());
        };
        let script = SkillPrograms::short_name(script);
        let settings = self.script_settings(&skill.entry, script)?;
        let default = self.default_script_state == DefaultScriptState::Enabled;
        let message = match settings.enabled {
            enabled if enabled.unwrap_or(default) => return Ok(()),
            Some(_) => format!("script `{script}` is disabled by the operator"),
            None => format!("script `{script}` is not enabled by the operator"),
        };
        Err(ToolErrorCode::DeniedByPolicy.error(message))
    }

    /// Returns what the operator configured for a script.
    fn script_settings(&self, entry: &Entry, script: &str) -> Result<ToolOverride, ToolError> {
        // The error names a file of the host.
        let failed =
            |_| ToolErrorCode::Internal.error("cannot read the tool overrides; nothing ran");
        // Read on every call, so that an operator can disable a script at any time.
        let overrides = self.overrides.snapshot().map_err(failed)?;
        let catalog = self.files.runtime.library().catalog();
        Ok(overrides.get(&ScriptId::for_script(&catalog, entry, script)))
    }

    /// Runs a program of a skill, or a command for it, in the remaining time.
    ///
    /// # Errors
    /// Fails if the program did not run.
    pub(crate) async fn execute_skill(
        &self,
        skill: &RunnableSkill,
        mut options: ExecutionOptions,
        deadline: &Deadline,
        path_map: &PathMap,
    ) -> Result<CompletedRun, ToolError> {
        let timeout_ms = deadline.remaining_ms();
        options.timeout_ms = Some(timeout_ms);
        options.context = with_virtual_lines(options.context, path_map);
        let directory = skill.entry.directory().to_string_lossy();
        let artifacts = self.files.runtime.execute_skill(&directory, options).await;
        let artifacts = artifacts.map_err(|error| {
            self.start_error(&error, Some(skill.entry.name().as_str()), path_map)
        })?;
        let mut completed = self.complete(artifacts, deadline, timeout_ms, path_map)?;
        let output = &mut completed.output;
        output.explain_missing_package(&completed.artifacts);
        output.explain_missing_requirements(&completed.artifacts);
        Ok(completed)
    }

    /// Runs a command on a directory that belongs to no skill, in the remaining time.
    ///
    /// # Errors
    /// Fails if the program did not run.
    pub(crate) async fn execute_command(
        &self,
        directory: &Path,
        command: HostCommand,
        mut options: ExecutionOptions,
        deadline: &Deadline,
        path_map: &PathMap,
    ) -> Result<CompletedRun, ToolError> {
        let timeout_ms = deadline.remaining_ms();
        options.timeout_ms = Some(timeout_ms);
        options.context = with_virtual_lines(options.context, path_map);
        let executor = self.files.runtime.executor();
        let artifacts = executor.execute_command(directory, command, options).await;
        let artifacts = artifacts.map_err(|error| self.start_error(&error, None, path_map))?;
        self.complete(artifacts, deadline, timeout_ms, path_map)
    }

    /// Converts the result of a run, whose paths become virtual.
    fn complete(
        &self,
        mut artifacts: ExecutionArtifacts,
        deadline: &Deadline,
        timeout_ms: u64,
        path_map: &PathMap,
    ) -> Result<CompletedRun, ToolError> {
        // No rule makes such a path exist: it stands for nothing that the program sees.
        artifacts.explanation.remove_refused(is_of_virtual_path);
        // A program can print the path of a copy that it got in the place of a directory.
        let path_map = artifacts
            .copies
            .iter()
            .fold(path_map.clone(), |map, (copy, directory)| {
                let directory = path_map.replace_in(&directory.to_string_lossy());
                map.add(copy, directory)
            });
        let output = ProgramOutput::from_artifacts(&artifacts, &path_map, &self.remedies)?;
        Ok(CompletedRun {
            timeout_seconds: deadline.timeout_seconds(reached_timeout_ms(&artifacts), timeout_ms),
            artifacts,
            output,
        })
    }

    /// Returns the error of a run that did not start, with the remedy for a missing requirement or
    /// host.
    fn start_error(
        &self,
        error: &RuntimeError,
        skill: Option<&str>,
        path_map: &PathMap,
    ) -> ToolError {
        let remedy = match error.sandbox() {
            // Nothing that the operator passes changes a refusal of the policy.
            _ if error.kind() == ErrorKind::MissingRequirements => {
                (!error.is_refused_by_policy()).then_some(Remedy::IgnoreRequirements)
            }
            Some(sandbox) if sandbox.needs_host() => Some(Remedy::AllowHost),
            _ => None,
        };
        let described = remedy.and_then(|remedy| self.remedies.describe(&remedy));
        let tool_error = run_error(error, skill, path_map);
        described.into_iter().fold(tool_error, ToolError::with_hint)
    }

    /// Returns the options of a command that sees these directories. A part of a line that needs no
    /// permission gets no hosts.
    ///
    /// # Errors
    /// Fails if a host is invalid.
    pub(crate) fn command_options(
        &self,
        context: &CallContext,
        visible_dirs: &VisibleDirs,
        part: &mut Part,
        hosts: &[String],
    ) -> Result<ExecutionOptions, ToolError> {
        let mut options = self.base_options(context);
        visible_dirs.add_to(&mut options);
        options.stdin = part.stdin.take();
        if part.passes_output {
            options.captured_bytes = Some(MAX_PASSED_BYTES);
        }
        let hosts = parse_hosts(hosts)?;
        if !part.is_free {
            options.hosts = hosts;
        }
        Ok(options)
    }

    /// Adds the key files that a command of the host names, and returns the skills that it uses.
    /// `start` is its working directory.
    pub(crate) fn inspect_command(
        &self,
        command: &HostCommand,
        args: &[String],
        start: &Path,
        visible_dirs: &VisibleDirs,
        options: &mut ExecutionOptions,
    ) -> ImplicitUses {
        options.key_paths = named_keys(command, args, start, visible_dirs);
        ImplicitUses::detect(&self.files.runtime, command, args, start, visible_dirs)
    }

    /// Returns the options that all runs have in common.
    pub(crate) fn base_options(&self, context: &CallContext) -> ExecutionOptions {
        let mut options = ExecutionOptions {
            // Standard input stays empty unless the caller sets it; scripts get their arguments on
            // the command line.
            input_protocol: InputProtocol::ScriptRunner,
            // Models cannot use more, and concurrent runs must not fill the memory.
            captured_bytes: Some(MAX_OUTPUT_BYTES),
            // Progress is shown; the result contains the output of the last attempt alone.
            shown_output: vec![OutputStream::Stdout, OutputStream::Stderr],
            max_attempts: u32::MAX,
            context: context.clone(),
            ..ExecutionOptions::default()
        };
        self.options.apply_to(&mut options);
        options
    }
}

impl CompletedRun {
    /// Returns the result of a command, alone or as part of a line. Changed files are reported
    /// relative to the directory that the program worked on.
    pub(crate) fn into_part(
        mut self,
        named: &NamedSkills,
        path_map: &PathMap,
        directory: &str,
    ) -> EndedPart {
        self.explain_invisible(named, path_map);
        EndedPart {
            output: self.output.with_file_prefix(directory),
            stdout: self.artifacts.stdout,
            stderr: self.artifacts.stderr,
            timeout_seconds: self.timeout_seconds,
        }
    }

    /// Adds which skills the command names and did not see, and why.
    fn explain_invisible(&mut self, named: &NamedSkills, path_map: &PathMap) {
        let unreadable = self.artifacts.unreadable_skills.iter();
        let refused = unreadable.map(|skill| {
            let path = skill.directory.to_string_lossy();
            path_map.replace_in(&invisible_line(&path, &skill.reason))
        });
        let is_success = self.output.is_success();
        let hints: Vec<String> = refused.chain(named.hints(is_success)).collect();
        self.output.add_hints(hints);
    }
}

/// Makes the lines that a program writes texts of a tool: virtual paths, and no escape sequences.
fn with_virtual_lines(context: CallContext, path_map: &PathMap) -> CallContext {
    let path_map = path_map.clone();
    context.map_output_lines(move |line| path_map.replace_in(&strip_terminal_escapes(line)))
}

/// Returns true if a program reports that a virtual path is missing, which is not refused.
fn is_of_virtual_path(operation: &RefusedOperation, observer: Evidence) -> bool {
    let (RefusedOperation::Read { path } | RefusedOperation::Write { path }) = operation else {
        return false;
    };
    let is_virtual = |top: &str| Path::new(path).starts_with(top);
    !observer.is_observed() && (is_virtual("/skills") || is_virtual("/workspace"))
}

/// Parses the hosts that a call requests.
fn parse_hosts(names: &[String]) -> Result<Vec<HostPattern>, ToolError> {
    // The syntax of rules, so that a user can allow exactly what was requested.
    let hosts = names.iter().map(|name| name.parse());
    hosts.collect::<Result<_, PolicyError>>().map_err(|error| {
        ToolErrorCode::InvalidArguments.error(format!("invalid `network`: {error}"))
    })
}

/// Returns the parameters that all tools with commands have.
pub(crate) fn command_properties(timeout: u64) -> Value {
    json!({
        "command": {"type": "string", "minLength": 1, "maxLength": command_line::MAX_COMMAND_BYTES},
        "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_CHOSEN_SECONDS, "default": timeout, "description": "Seconds."},
        "stdin": {"type": "string", "maxLength": MAX_STDIN_BYTES, "description": "Standard input."},
        "network": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_HOSTS,
                    "description": "Hosts to contact; the user may be asked."},
    })
}

/// Returns the schema of the result data.
pub(crate) fn result_schema() -> Value {
    let required = ["exit_code", "stdout", "stderr", "timed_out"];
    schema::output_schema(result_properties(), &required)
}

pub(crate) fn result_properties() -> Value {
    json!({
        "exit_code": {"type": ["integer", "null"]},
        "signal": {"type": ["integer", "null"]},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "stdout_truncated": {"type": "boolean"},
        "stderr_truncated": {"type": "boolean"},
        "timed_out": {"type": "boolean"},
        "duration_ms": {"type": "integer"},
        "sandbox": {"type": "object", "properties": {
            "backend": {"type": ["string", "null"]},
            "restrictions": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "enforced": {"type": "boolean"}}}},
        }},
        "files_changed": {"type": "array", "items": {"type": "object", "properties": {
            "path": {"type": "string"}, "size": {"type": "integer"}, "created": {"type": "boolean"},
        }, "required": ["path"]}},
        "notes": {"type": "array", "items": {"type": "string"}},
        "help": {"type": "array", "items": {"type": "string"}},
        "refused": {"type": "array", "items": {"type": "object", "properties": {
            "operation": {"type": "string"}, "observed": {"type": "boolean"}, "count": {"type": "integer"}, "allow": {"type": ["string", "null"]},
        }, "required": ["operation", "observed", "count", "allow"]}},
        "explanation": {"type": ["object", "null"]},
    })
}
