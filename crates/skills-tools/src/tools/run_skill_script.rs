//! `run_skill_script`: passes one JSON object to a script and parses its JSON output.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use skills_runtime::{
    ExecutionOptions, InputProtocol, RunTarget, ScriptLanguage, SkillPrograms, Workspace,
    unusable_scripts,
};
use skills_script::file_stem;

use crate::path_map::PathMap;
use crate::run::hooks::command_text;
use crate::run::script_tool::{printed_text, script_error, script_workspace};
use crate::run::skill_program::find_in_skill;
use crate::run::visible_dirs::VisibleDirs;
use crate::run::{
    CompletedRun, Deadline, MAX_CHOSEN_SECONDS, MAX_STDIN_BYTES, ProgramRunner, RunnableSkill,
    WorkingDirectory, result_properties,
};
use crate::schema;
use crate::tool::{Call, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_path::invalid_part_reason;
use crate::{CallContext, ToolError, ToolErrorCode, ToolGroup, ToolOutput};

/// Default timeout of a script, in seconds.
const DEFAULT_TIMEOUT: u64 = 10;
/// Maximum length of a script's name or path, in characters.
const MAX_NAME_CHARS: usize = 256;
/// Maximum size of the JSON object, in bytes.
const MAX_ARGUMENT_BYTES: usize = 120 * 1024;

/// The data that a result has in common with those of the other tools.
const COMMON_DATA: [&str; 8] = [
    "stderr",
    "exit_code",
    "duration_ms",
    "timed_out",
    "files_changed",
    "notes",
    "refused",
    "explanation",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptArguments {
    skill_name: String,
    script_name: String,
    #[serde(default)]
    args: Map<String, Value>,
    timeout: Option<u64>,
    stdin: Option<String>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "run_skill_script",
    groups: &[ToolGroup::ScriptExecutor],
    title: "Run a script of a skill",
    description: "Run a script or WebAssembly module of a skill, sandboxed. It receives `args` as one JSON object and prints its result.",
    annotations: Annotations::EXECUTES,
    input_schema: || {
        schema::input_schema(
            json!({
                "skill_name": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill."},
                "script_name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS, "description": "Path of the script or module in the skill, or its file name."},
                "args": {"type": "object", "default": {}, "description": "Input of the script."},
                "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_CHOSEN_SECONDS, "default": DEFAULT_TIMEOUT, "description": "Timeout in seconds."},
                "stdin": {"type": "string", "maxLength": MAX_STDIN_BYTES, "description": "Standard input; `args` as JSON unless given."},
            }),
            &["skill_name", "script_name"],
        )
    },
    output_schema,
    lists_skills: false,
    guide: &[(GuideStep::Run, "`run_skill_script`")],
    hooks: Some(HookView {
        fields: |arguments| {
            let script = format!("scripts/{}", text_argument(arguments, "script_name"));
            let json = arguments
                .get("args")
                .map_or_else(String::new, Value::to_string);
            vec![("command", json!(command_text(&[script, json])))]
        },
        skill: |programs, arguments| {
            programs
                .files
                .find_active(text_argument(arguments, "skill_name"))
        },
        ..HookView::new("Bash")
    }),
    call: Call::SkillProgram(|programs, arguments, context| {
        Box::pin(call(programs, arguments, context))
    }),
};

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

/// Runs a script, and returns its output as JSON if it is.
async fn call(
    programs: &ProgramRunner,
    arguments: Value,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let arguments: ScriptArguments = parse_arguments(arguments)?;
    let deadline = Deadline::chosen(
        arguments.timeout.unwrap_or(DEFAULT_TIMEOUT),
        &programs.options,
    );
    let skill = programs.find_runnable(&arguments.skill_name)?;
    let target = find_program(&skill, &arguments.script_name)?;
    programs.check_enabled(&skill, &target)?;
    let visible_dirs = VisibleDirs::new(&programs.files, Some(&skill.entry), [])?;
    let mut options = programs.base_options(context);
    options.stdin = arguments.stdin.map(String::into_bytes);
    set_program(&mut options, target, arguments.args)?;
    let workspace = script_workspace(programs);
    let is_in_workspace = workspace.is_some();
    if let Some(workspace) = workspace {
        visible_dirs.add_to(&mut options);
        let starts_there = programs.options.working_directory == WorkingDirectory::Workspace;
        options.current_dir = starts_there.then(|| workspace.clone());
        options.workspace = Workspace::Directory(workspace);
    }
    let path_map = visible_dirs.path_map();
    let mut completed = programs
        .execute_skill(&skill, options, &deadline, &path_map)
        .await?;
    if is_in_workspace {
        completed.output = completed.output.with_file_prefix("/workspace");
    }
    Ok(tool_output(completed, &path_map))
}

/// Sets the program of a run and passes it the arguments.
fn set_program(
    options: &mut ExecutionOptions,
    target: RunTarget,
    args: Map<String, Value>,
) -> Result<(), ToolError> {
    if matches!(target, RunTarget::Module(_)) {
        // Modules read their input as the OpenSkills protocol defines.
        options.input_protocol = InputProtocol::OpenSkills;
        options.input = Value::Object(args);
    } else {
        let argument = json_argument(args)?;
        // Many scripts read JSON from standard input; the others do not read it.
        options
            .stdin
            .get_or_insert_with(|| argument.clone().into_bytes());
        options.args = vec![argument];
    }
    options.target = target;
    Ok(())
}

/// Converts the result, like that of a script tool.
fn tool_output(mut completed: CompletedRun, path_map: &PathMap) -> ToolOutput {
    let data = result_data(&mut completed, path_map);
    let mut output = completed.output;
    output.data = data;
    let error = script_error(&output, &completed.timeout_seconds);
    let own_text = match &error {
        None => output.own_text(None),
        Some(error) => format!("Error: {}", error.message),
    };
    let printed = printed_text(&output).trim().to_owned();
    output.into_result(own_text, printed, error)
}

/// Returns the structured result of a run.
fn result_data(completed: &mut CompletedRun, path_map: &PathMap) -> Map<String, Value> {
    let CompletedRun {
        artifacts, output, ..
    } = completed;
    // Truncated JSON can still be valid, for example a number without its last digits.
    let is_json =
        output.is_success() && !artifacts.stdout.is_truncated() && is_json(&output.stdout);
    // Parsed by the runtime, which has redacted secrets in whatever way JSON escapes them.
    let result = is_json.then(|| path_map.replace_in_json(&artifacts.output));
    let own = [
        ("success", json!(output.is_success())),
        ("result", json!(result)),
        ("raw", json!(output.stdout)),
    ];
    let common = COMMON_DATA.map(|key| (key, output.data[key].take()));
    own.into_iter()
        .chain(common)
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Finds a script or a WebAssembly module by its path in the skill, or by file name, not hidden:
/// a script in `scripts/`, else a module.
fn find_program(skill: &RunnableSkill, name: &str) -> Result<RunTarget, ToolError> {
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(invalid_name("longer than 256 characters"));
    }
    if let Some(target) = find_program_by_path(skill, name) {
        return Ok(target);
    }
    check_file_name(name)?;
    let programs = SkillPrograms::list(&skill.files);
    let script = find_script(&programs.scripts, name)
        .or_else(|| find_script(&programs.root_scripts, name))
        .cloned();
    script
        .map(RunTarget::Script)
        .or_else(|| find_module(&programs.modules, name).map(RunTarget::Module))
        .ok_or_else(|| script_not_found(skill, name, &programs))
}

/// Finds a script or module by its path, as the instructions name it.
fn find_program_by_path(skill: &RunnableSkill, name: &str) -> Option<RunTarget> {
    let path = find_in_skill(&skill.files, skill.entry.name().as_str(), name)?;
    if !name.contains('/') {
        return None;
    }
    let is_script = ScriptLanguage::of_file(&skill.files, &path).is_some();
    match path.ends_with(".wasm") {
        _ if is_script => Some(RunTarget::Script(path)),
        true => Some(RunTarget::Module(path)),
        false => None,
    }
}

fn script_not_found(skill: &RunnableSkill, name: &str, programs: &SkillPrograms) -> ToolError {
    let (skill, files) = (skill.entry.name(), &skill.files);
    let error =
        ToolErrorCode::ScriptNotFound.error(format!("skill `{skill}` has no script `{name}`"));
    let scripts = programs
        .scripts
        .iter()
        .map(|path| SkillPrograms::short_name(path));
    let modules = programs.modules.iter().map(|path| file_name(path));
    // Found by their path in the skill only.
    let nested = programs.nested_scripts.iter().map(String::as_str);
    let root = programs.root_scripts.iter().map(String::as_str);
    let names: Vec<&str> = scripts.chain(root).chain(nested).chain(modules).collect();
    let available = match names.is_empty() {
        true => "the skill has no scripts; read its SKILL.md".to_owned(),
        false => format!("available: {}", names.join(", ")),
    };
    let unusable = unusable_scripts(files, name).into_iter();
    let lines = std::iter::once(available).chain(unusable.map(|script| script.model_text()));
    error.with_hint(lines.collect::<Vec<_>>().join("; "))
}

/// Rejects a name that is not that of a visible file.
fn check_file_name(name: &str) -> Result<(), ToolError> {
    // Models often pass paths; rejecting them is clearer than not finding the script.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(invalid_name(
            "expected the file name of a script, such as `calculate.py`, or its path in the skill, such as `tools/calculate.py`",
        ));
    }
    match invalid_part_reason(name) {
        Some(reason) => Err(invalid_name(reason)),
        None => Ok(()),
    }
}

fn invalid_name(reason: &str) -> ToolError {
    ToolErrorCode::InvalidPath.error(format!("invalid script name: {reason}"))
}

/// Finds a script by file name, or without extension: the Python script, else the only one.
fn find_script<'a>(scripts: &'a [String], name: &str) -> Option<&'a String> {
    let exact = scripts
        .iter()
        .find(|path| SkillPrograms::short_name(path) == name);
    let named = scripts.iter().filter(|path| file_stem(path) == name);
    exact.or_else(|| match named.collect::<Vec<_>>().as_slice() {
        [only] => Some(*only),
        several => several.iter().copied().find(|path| path.ends_with(".py")),
    })
}

/// Finds a module by file name, with or without extension.
fn find_module(modules: &[String], name: &str) -> Option<String> {
    let is_named = |path: &&String| file_name(path) == name || file_stem(path) == name;
    modules.iter().find(is_named).cloned()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
