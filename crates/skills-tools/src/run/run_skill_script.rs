//! `run_skill_script`: passes one JSON object to a script and parses its JSON output.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use skills_runtime::{
    ExecutionArtifacts, InputProtocol, RunTarget, ScriptType, SkillPrograms, Workspace,
};

use super::output::ProgramOutput;
use super::script_tool::script_error;
use super::skills_run::find_in_skill;
use super::{
    CompletedRun, Deadline, MAX_STDIN_BYTES, MAX_TIMEOUT_SECONDS, ProgramTools, RunSubject,
    RunnableSkill, WorkingDirectory, result_properties, short_name,
};
use crate::path_map::PathMap;
use crate::sanitize::strip_terminal_escapes;
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::virtual_path::invalid_part_reason;
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

/// Default timeout of a script, in seconds.
const DEFAULT_TIMEOUT: u64 = 10;
/// Maximum length of a script's name, in characters.
const MAX_NAME_CHARS: usize = 64;
/// Maximum size of the JSON object, in bytes.
const MAX_ARGUMENT_BYTES: usize = 120 * 1024;

/// The data that a result has in common with those of the other tools.
const COMMON_DATA: [&str; 6] = [
    "exit_code",
    "duration_ms",
    "timed_out",
    "files_changed",
    "notes",
    "refused",
];

/// Arguments of `run_skill_script`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptArguments {
    skill_name: String,
    script_name: String,
    #[serde(default)]
    args: Map<String, Value>,
    timeout: Option<u64>,
    stdin: Option<String>,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "run_skill_script".to_owned(),
        title: "Run a script of a skill".to_owned(),
        description:
            "Run a script or WebAssembly module of a skill, sandboxed. It receives `args` as one JSON object and prints its result."
                .to_owned(),
        input_schema: schema::input_schema(
            json!({
                "skill_name": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill."},
                "script_name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS, "description": "File name of the script, with or without extension; its path in the skill if it is not in `scripts/`."},
                "args": {"type": "object", "default": {}, "description": "Input of the script."},
                "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECONDS, "default": DEFAULT_TIMEOUT, "description": "Timeout in seconds."},
                "stdin": {"type": "string", "maxLength": MAX_STDIN_BYTES, "description": "Standard input; empty unless given."},
            }),
            &["skill_name", "script_name"],
        ),
        output_schema: output_schema(),
        annotations: Annotations::EXECUTES,
    }
}

fn output_schema() -> Value {
    let mut properties = json!({
        "success": {"type": "boolean"},
        "result": {"description": "Standard output, if it is JSON."},
        "raw": {"type": "string"},
    });
    let common = result_properties();
    for key in COMMON_DATA {
        properties[key] = common[key].clone();
    }
    let required = [
        "success",
        "result",
        "raw",
        "exit_code",
        "duration_ms",
        "timed_out",
    ];
    schema::output_schema(properties, &required)
}

impl ProgramTools {
    /// Runs a script, and returns its output as JSON if it is.
    pub(crate) async fn run_skill_script(
        &self,
        arguments: ScriptArguments,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let deadline = Deadline::from_secs(arguments.timeout.unwrap_or(DEFAULT_TIMEOUT));
        let skill = self.find_runnable(&arguments.skill_name)?;
        let target = skill.find_program(&arguments.script_name)?;
        // Also here, since an operator who disables a script tool means the script and not only one
        // way to call it.
        if let RunTarget::Script(script) = &target {
            self.check_enabled(&skill.entry, short_name(script))?;
        }
        let visible_dirs = self.visible_dirs(Some(&skill.entry))?;
        let mut options = self.base_options(context);
        options.stdin = arguments.stdin.map(String::into_bytes);
        if let RunTarget::Module(_) = &target {
            // Modules read their input as the OpenSkills protocol defines.
            options.input_protocol = InputProtocol::OpenSkills;
            options.input = Value::Object(arguments.args);
        } else {
            options.args = vec![json_argument(arguments.args)?];
        }
        options.target = target;
        let workspace = self.script_workspace();
        let is_in_workspace = workspace.is_some();
        if let Some(workspace) = workspace {
            visible_dirs.add_to(&mut options);
            let starts_there = self.options.working_directory == WorkingDirectory::Workspace;
            options.current_dir = starts_there.then(|| workspace.clone());
            options.workspace = Workspace::Directory(workspace);
        }
        let path_map = visible_dirs.path_map();
        let subject = RunSubject::Skill(&skill);
        let CompletedRun {
            artifacts,
            mut output,
            timeout_seconds,
        } = self.execute(subject, options, &deadline, &path_map).await?;
        if is_in_workspace {
            output = output.with_file_prefix("/workspace");
        }
        let data = result_data(&artifacts, &mut output, &path_map);
        Ok(match (script_error(&output, &timeout_seconds), data) {
            (Some(error), Value::Object(data)) => {
                ToolOutput::error_with_data(format!("Error: {}", error.message), data, &error)
            }
            (_, data) => {
                let text = strip_terminal_escapes(output.stdout.trim());
                ToolOutput {
                    files: output.files.clone(),
                    ..ToolOutput::new(output.with_explanation(&text), data)
                }
            }
        })
    }
}

/// Returns the structured result of a run.
fn result_data(
    artifacts: &ExecutionArtifacts,
    output: &mut ProgramOutput,
    path_map: &PathMap,
) -> Value {
    // Truncated JSON can still be valid, for example a number without its last digits.
    let is_json =
        output.is_success() && !artifacts.stdout.is_truncated() && is_json(&output.stdout);
    let mut data = json!({
        "success": output.is_success(),
        // Parsed by the runtime, which has redacted secrets in whatever way JSON escapes them.
        "result": is_json.then(|| path_map.replace_in_json(&artifacts.output)),
        "raw": output.stdout,
    });
    for key in COMMON_DATA {
        data[key] = output.data[key].take();
    }
    data
}

impl RunnableSkill {
    /// Finds a script by its path in the skill, or by file name, not hidden, in `scripts/`; else a
    /// WebAssembly module.
    fn find_program(&self, name: &str) -> Result<RunTarget, ToolError> {
        let invalid = |reason: &str| {
            ToolErrorCode::InvalidPath.error(format!("invalid script name: {reason}"))
        };
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(invalid("longer than 64 characters"));
        }
        // A script that is not in `scripts/`, as the instructions name it.
        if let Some(path) = find_in_skill(&self.files, self.entry.name().as_str(), name)
            && name.contains('/')
            && ScriptType::from_path(path.as_ref()).is_some()
        {
            return Ok(RunTarget::Script(path));
        }
        // Models often pass paths; rejecting them is clearer than not finding the script.
        if name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(invalid(
                "expected the file name of a script, such as `calculate.py`, or its path in the skill, such as `tools/calculate.py`",
            ));
        }
        if let Some(reason) = invalid_part_reason(name) {
            return Err(invalid(reason));
        }
        let SkillPrograms {
            scripts, modules, ..
        } = SkillPrograms::list(&self.files);
        let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
        let exact = format!("scripts/{name}");
        let is_stem = |path: &&&str| stem(path) == name;
        let stems: Vec<&str> = scripts.iter().filter(is_stem).copied().collect();
        let python = stems.iter().find(|path| path.ends_with(".py"));
        match scripts
            .iter()
            .find(|path| **path == exact)
            .or(python)
            .or(if stems.len() == 1 {
                stems.first()
            } else {
                None
            }) {
            Some(path) => Ok(RunTarget::Script((*path).to_owned())),
            None => {
                let is_named = |path: &&String| file_name(path) == name || stem(path) == name;
                if let Some(module) = modules.iter().find(is_named) {
                    return Ok(RunTarget::Module(module.clone()));
                }
                let modules = modules.iter().map(|path| file_name(path));
                let names: Vec<&str> = scripts
                    .iter()
                    .map(|path| short_name(path))
                    .chain(modules)
                    .collect();
                let error = ToolErrorCode::ScriptNotFound.error(format!(
                    "skill `{}` has no script `{name}`",
                    self.entry.name()
                ));
                Err(match names.as_slice() {
                    [] => error.with_hint("the skill has no scripts; read its SKILL.md"),
                    names => error.with_hint(format!("available: {}", names.join(", "))),
                })
            }
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem(path: &str) -> &str {
    skills_script::stem(file_name(path))
}

/// Returns the arguments as the only command line argument of the script.
fn json_argument(args: Map<String, Value>) -> Result<String, ToolError> {
    let text = Value::Object(args).to_string();
    // Linux limits one argument to 128 KiB and fails with an error that does not name it.
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(ToolErrorCode::TooLarge
            .error(format!(
                "`args` is {} bytes, limit {MAX_ARGUMENT_BYTES}",
                text.len()
            ))
            .with_hint("write the data to a file, or pass it as `stdin`"));
    }
    Ok(text)
}

/// Returns true if standard output is one JSON value. Output with numbers of more digits than are
/// preserved is treated as text.
fn is_json(stdout: &str) -> bool {
    // Some programs on Windows write a byte order mark.
    let text = stdout.trim_start_matches('\u{feff}').trim();
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() && !has_inexact_integer(text)
}

/// Returns true if the text has an integer of 19 digits or more outside of strings, which may not
/// fit into 64 bits.
fn has_inexact_integer(text: &str) -> bool {
    let (mut is_text, mut is_escaped, mut digits, mut is_fraction) = (false, false, 0_usize, false);
    for c in text.chars() {
        match (is_text, c) {
            (true, _) if is_escaped => is_escaped = false,
            (true, '\\') => is_escaped = true,
            (_, '"') => is_text = !is_text,
            (true, _) => {}
            (false, '0'..='9') => digits += 1,
            (false, '.' | 'e' | 'E') if digits > 0 => is_fraction = true,
            (false, '+' | '-') if is_fraction => {}
            (false, _) => {
                // 64 bits hold every integer of up to 19 digits, and not all of 20.
                if digits > 19 && !is_fraction {
                    return true;
                }
                (digits, is_fraction) = (0, false);
            }
        }
    }
    digits > 19 && !is_fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_json_when_all_of_it_is() {
        for text in [
            "\u{feff} {\"duty\": 0}\n",
            "[1, 2.5, \"12345678901234567890123\", 1e30]",
            "null",
        ] {
            assert!(is_json(text), "{text}");
        }
        for text in [
            "",
            "log\n{}",
            "{}\n{}",
            "{\"a\": NaN}",
            "Infinity",
            "{'a': 1}",
            "{\"a\": 12345678901234567890123}",
            "{} x",
        ] {
            assert!(!is_json(text), "{text}");
        }
    }
}
