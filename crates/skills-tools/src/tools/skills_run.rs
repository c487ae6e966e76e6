//! `skills_run`: runs a command of a skill.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::discovery::SkillFiles;
use skills_runtime::{
    ExecutionOptions, HostCommand, RunTarget, ScriptType, Secret, SkillPrograms, Workspace,
};

use crate::mount::{Access, OpenMount};
use crate::nearest_name::nearest_file_name;
use crate::run::command_line::CommandLine;
use crate::run::implicit_uses::ImplicitUses;
use crate::run::named_skills::NamedSkills;
use crate::run::skill_program::{find_in_skill, find_skill_program, without_launcher};
use crate::run::visible_dirs::VisibleDirs;
use crate::run::{
    Deadline, ProgramRunner, RunnableSkill, WorkingDirectory, command_properties, result_schema,
};
use crate::schema;
use crate::tool::{Call, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_path::escape_for_display;
use crate::{CallContext, ToolError, ToolErrorCode, ToolGroup, ToolOutput};

const DEFAULT_TIMEOUT: u64 = 120;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    name: String,
    command: String,
    timeout: Option<u64>,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    network: Vec<String>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_run",
    groups: &[ToolGroup::Core, ToolGroup::Workspace],
    title: "Run a skill's program",
    description: "Run a program of a skill, in a sandbox. Scripts start in the workspace, other commands in the directory of the skill, which is read-only. Programs that do more than read need permission of the user.",
    annotations: Annotations::EXECUTES,
    input_schema: || {
        let mut properties = command_properties(DEFAULT_TIMEOUT);
        properties["name"] = json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill."});
        properties["command"]["description"] = json!(
            "Such as `python scripts/convert.py /workspace/in.pdf`, or a module `wasm/skill.wasm` with JSON as `stdin`."
        );
        properties["env"] = json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 32768}, "maxProperties": 32,
                               "description": "Variables that the skill declares."});
        schema::input_schema(properties, &["name", "command"])
    },
    output_schema: result_schema,
    lists_skills: false,
    guide: &[(GuideStep::Run, "`skills_run` with a command")],
    // The argument `command` has the name that hooks expect.
    hooks: Some(HookView {
        skill: |programs, arguments| programs.files.find_active(text_argument(arguments, "name")),
        ..HookView::new("Bash")
    }),
    call: Call::SkillProgram(|programs, arguments, context| {
        Box::pin(call(programs, arguments, context))
    }),
};

async fn call(
    programs: &ProgramRunner,
    arguments: Value,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let arguments: RunArguments = parse_arguments(arguments)?;
    let deadline = Deadline::chosen(
        arguments.timeout.unwrap_or(DEFAULT_TIMEOUT),
        &programs.options,
    );
    let skill = programs.find_runnable(&arguments.name)?;
    let command_line = CommandLine::parse(&arguments.command)?;
    let named = NamedSkills::find(programs, &command_line, Some(&skill.entry));
    let visible_dirs = VisibleDirs::new(&programs.files, Some(&skill.entry), named.entries())?;
    let mut options =
        programs.command_options(context, &visible_dirs, arguments.stdin, &arguments.network)?;
    apply_declared_env(programs, &skill, &arguments.env, &mut options)?;
    let (target, args) = parse_run_command(command_line, &skill)?;
    programs.check_enabled(&skill, &target)?;
    let uses = match &target {
        RunTarget::Command(command) => {
            let start = skill.entry.directory();
            programs.inspect_command(command, &args, start, &visible_dirs, &mut options)
        }
        _ => ImplicitUses::default(),
    };
    (options.target, options.args) = (target, args);
    if let Some(workspace) = programs.files.mounts.workspace() {
        options.workspace = Workspace::Directory(workspace.path.clone());
        start_in_workspace(programs, &skill, workspace, &mut options);
    }
    let path_map = visible_dirs.path_map();
    let completed = programs
        .execute_skill(&skill, options, &deadline, &path_map)
        .await?;
    uses.record(&programs.files.runtime, context);
    Ok(completed.into_tool_output(&named, &path_map, "/workspace"))
}

/// Starts a script of the skill in a writable workspace, like the tool of the script, so that
/// relative paths of its arguments and its output files are there. A relative path that only the
/// skill has becomes that of the skill. Other commands start in the directory of the skill.
fn start_in_workspace(
    programs: &ProgramRunner,
    skill: &RunnableSkill,
    workspace: &OpenMount,
    options: &mut ExecutionOptions,
) {
    let is_script = matches!(options.target, RunTarget::Script(_));
    let is_selected = programs.options.working_directory == WorkingDirectory::Workspace
        && workspace.access == Access::ReadWrite;
    if !is_script || !is_selected {
        return;
    }
    options.current_dir = Some(workspace.path.clone());
    let name = skill.entry.name();
    for arg in &mut options.args {
        if workspace.directory.symlink_metadata(&arg).is_err()
            && let Some(path) = find_in_skill(&skill.files, name.as_str(), arg)
        {
            *arg = format!("/skills/{name}/{path}");
        }
    }
}

/// Sets environment variables that the skill declares, and rejects all others.
fn apply_declared_env(
    programs: &ProgramRunner,
    skill: &RunnableSkill,
    requested: &BTreeMap<String, String>,
    options: &mut ExecutionOptions,
) -> Result<(), ToolError> {
    if requested.is_empty() {
        return Ok(());
    }
    let directory = skill.entry.directory().to_string_lossy();
    let declared = programs
        .files
        .runtime
        .library()
        .declared_variables(&directory)
        .unwrap_or_default();
    // Undeclared variables could change how programs behave without a declaration that a user
    // has seen.
    if let Some(undeclared) = requested.keys().find(|name| !declared.contains(*name)) {
        let names: Vec<&str> = declared.iter().map(String::as_str).collect();
        let hint = if names.is_empty() {
            "the skill declares no variables".to_owned()
        } else {
            format!("declared variables: {}", names.join(", "))
        };
        return Err(ToolErrorCode::InvalidArguments
            .error(format!(
                "undeclared environment variable `{}`",
                escape_for_display(undeclared)
            ))
            .with_hint(hint));
    }
    options.env.extend(
        requested
            .iter()
            .map(|(name, value)| (name.clone(), Secret::new(value))),
    );
    Ok(())
}

/// Determines the program of a command line. Scripts of the skill, named alone or after their
/// interpreter, need no extra permission; any other program is a program of the host and needs
/// `spawn`.
fn parse_run_command(
    command_line: CommandLine,
    skill: &RunnableSkill,
) -> Result<(RunTarget, Vec<String>), ToolError> {
    let words = match command_line {
        CommandLine::Argv(words) => words,
        CommandLine::Shell(text) => {
            return Ok((RunTarget::Command(HostCommand::Shell(text)), Vec::new()));
        }
    };
    if let Some((target, args)) = find_skill_program(skill, &words) {
        return Ok((target, args.to_vec()));
    }
    // Instructions often name a script without its directory.
    if let Some(named) = with_scripts_directory(&words)
        && let Some((target, args)) = find_skill_program(skill, &named)
    {
        return Ok((target, args.to_vec()));
    }
    let Some((first, rest)) = without_launcher(&words).split_first() else {
        return Err(ToolErrorCode::InvalidArguments.error("empty command"));
    };
    let name = skill.entry.name().as_str();
    // Also after an interpreter: asking for permission to start it would not help.
    let script = rest.first().filter(|word| {
        ScriptType::from_program(first).is_some_and(|script_type| {
            names_script(name, word, script_type)
                || lacks_extension(&skill.files, word, script_type)
        })
    });
    if let Some(missing) = script.or(Some(first).filter(|first| first.contains('/'))) {
        let error = ToolErrorCode::ScriptNotFound
            .error(format!("skill `{name}` has no script `{missing}`"));
        return Err(error.with_hint(match nearest_program(&skill.files, missing) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!(
                "list the files with skills_ls of `/skills/{name}`, or pass a program name without a path"
            ),
        }));
    }
    let mut words = words.into_iter();
    let command = HostCommand::Program(words.next().unwrap_or_default());
    Ok((RunTarget::Command(command), words.collect()))
}

/// Returns a command line that begins with the name of a script, with the path that it has in the
/// directory of scripts.
fn with_scripts_directory(words: &[String]) -> Option<Vec<String>> {
    let (first, rest) = words.split_first()?;
    let is_name = !first.contains('/') && ScriptType::from_path(first.as_ref()).is_some();
    is_name.then(|| {
        let script = format!("scripts/{first}");
        std::iter::once(script)
            .chain(rest.iter().cloned())
            .collect()
    })
}

/// Returns the script or module of a skill that was probably meant by a word.
fn nearest_program(files: &SkillFiles, word: &str) -> Option<String> {
    let SkillPrograms {
        scripts, modules, ..
    } = SkillPrograms::list(files);
    let programs: Vec<String> = scripts.into_iter().chain(modules).collect();
    let names: Vec<&str> = programs.iter().map(|path| file_name(path)).collect();
    let nearest = nearest_file_name(file_name(word), &names)?;
    let found = programs.iter().find(|path| file_name(path) == nearest);
    found.cloned()
}

/// Returns true if a word names a script of this type in the skill without its extension.
fn lacks_extension(files: &SkillFiles, word: &str, script_type: ScriptType) -> bool {
    !word.starts_with(['/', '-'])
        && !file_name(word).contains('.')
        && nearest_program(files, word).is_some_and(|path| {
            ScriptType::from_path(path.as_ref()) == Some(script_type)
                && path
                    .rsplit_once('.')
                    .is_some_and(|(stem, _)| stem.ends_with(word))
        })
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns true if a word can only refer to a script of this type in the skill, where commands
/// start.
fn names_script(skill: &str, word: &str, script_type: ScriptType) -> bool {
    let is_in_skill =
        !word.starts_with(['/', '-']) || word.starts_with(&format!("/skills/{skill}/"));
    is_in_skill && ScriptType::from_path(word.as_ref()) == Some(script_type)
}
