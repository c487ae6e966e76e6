//! `skills_run`: runs a command of a skill.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use skills_runtime::discovery::SkillFiles;
use skills_runtime::{
    ExecutionOptions, HostCommand, RunTarget, ScriptType, Secret, SkillPrograms, Workspace,
};

use super::command_line::CommandLine;
use super::implicit_uses::ImplicitUses;
use super::key_arguments::named_keys;
use super::skill_program::{find_in_skill, find_skill_program, without_launcher};
use super::{
    Deadline, ProgramTools, RunnableSkill, WorkingDirectory, command_properties, parse_hosts,
    result_schema,
};
use crate::mount::{Access, OpenMount};
use crate::nearest_name::nearest_file_name;
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::virtual_path::escape_for_display;
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

const DEFAULT_TIMEOUT: u64 = 120;

/// Arguments of `skills_run`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunArguments {
    name: String,
    command: String,
    timeout: Option<u64>,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    network: Vec<String>,
}

pub(crate) fn definition() -> ToolDefinition {
    let mut properties = command_properties(DEFAULT_TIMEOUT);
    properties["name"] = json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the skill."});
    properties["command"]["description"] = json!(
        "Such as `python scripts/convert.py /workspace/in.pdf`, or a module `wasm/skill.wasm` with JSON as `stdin`."
    );
    properties["env"] = json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 32768}, "maxProperties": 32,
                               "description": "Variables that the skill declares."});
    ToolDefinition {
        name: "skills_run".to_owned(),
        title: "Run a skill's program".to_owned(),
        description: "Run a program of a skill, in a sandbox. Scripts start in the workspace, other commands in the directory of the skill, which is read-only. Programs that do more than read need permission of the user."
            .to_owned(),
        input_schema: schema::input_schema(properties, &["name", "command"]),
        output_schema: result_schema(),
        annotations: Annotations::EXECUTES,
    }
}

impl ProgramTools {
    pub(crate) async fn run(
        &self,
        arguments: RunArguments,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let deadline = Deadline::from_secs(arguments.timeout.unwrap_or(DEFAULT_TIMEOUT));
        let skill = self.find_runnable(&arguments.name)?;
        let command_line = CommandLine::parse(&arguments.command)?;
        let named = self.find_named_skills(&command_line, Some(&skill.entry));
        let visible_dirs = self.visible_dirs(Some(&skill.entry), &named)?;
        let mut options = self.base_options(context);
        visible_dirs.add_to(&mut options);
        options.stdin = arguments.stdin.map(String::into_bytes);
        options.hosts = parse_hosts(&arguments.network)?;
        self.apply_declared_env(&skill, &arguments.env, &mut options)?;
        let (target, args) = parse_run_command(command_line, &skill)?;
        self.check_enabled(&skill, &target)?;
        let uses = match &target {
            RunTarget::Command(command) => {
                let start = skill.entry.directory();
                options.key_paths = named_keys(command, &args, start, &visible_dirs);
                self.implicit_uses(command, &args, start, &visible_dirs)
            }
            _ => ImplicitUses::default(),
        };
        (options.target, options.args) = (target, args);
        if let Some(workspace) = self.files.workspace() {
            options.workspace = Workspace::Directory(workspace.path.clone());
            self.start_in_workspace(&skill, workspace, &mut options);
        }
        let path_map = visible_dirs.path_map();
        let mut completed = self
            .execute_skill(&skill, options, &deadline, &path_map)
            .await?;
        completed.explain_invisible(&named, &path_map);
        self.record_implicit_uses(&uses, context);
        let output = completed.output.with_file_prefix("/workspace");
        Ok(output.into_tool_output(&completed.timeout_seconds))
    }

    /// Starts a script of the skill in a writable workspace, like the tool of the script, so that
    /// relative paths of its arguments and its output files are there. A relative path that only the
    /// skill has becomes that of the skill. Other commands start in the directory of the skill.
    fn start_in_workspace(
        &self,
        skill: &RunnableSkill,
        workspace: &OpenMount,
        options: &mut ExecutionOptions,
    ) {
        let is_script = matches!(options.target, RunTarget::Script(_));
        let is_selected = self.options.working_directory == WorkingDirectory::Workspace
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
        &self,
        skill: &RunnableSkill,
        requested: &BTreeMap<String, String>,
        options: &mut ExecutionOptions,
    ) -> Result<(), ToolError> {
        if requested.is_empty() {
            return Ok(());
        }
        let directory = skill.entry.directory().to_string_lossy();
        let declared = self
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
