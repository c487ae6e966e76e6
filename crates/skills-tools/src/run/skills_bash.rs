//! `skills_bash`: runs a command in the workspace.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use skills_runtime::{HostCommand, RunTarget, Workspace};

use super::command_line::CommandLine;
use super::implicit_uses::ImplicitUses;
use super::key_arguments::named_keys;
use super::{
    Deadline, ProgramTools, RunnableSkill, command_properties, parse_hosts, result_schema,
};
use crate::file_tools::{PathTarget, ResolvedPath};
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::virtual_path::{VirtualPath, escape_for_display};
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

const DEFAULT_TIMEOUT: u64 = 60;

/// Arguments of `skills_bash`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    command: String,
    timeout: Option<u64>,
    #[serde(default)]
    cwd: String,
    stdin: Option<String>,
    #[serde(default)]
    network: Vec<String>,
}

/// What a command line starts.
enum Started {
    /// A program of a skill, or a command for it.
    ForSkill(Box<RunnableSkill>, RunTarget),
    /// A command without a skill.
    Command(HostCommand),
}

pub(crate) fn definition() -> ToolDefinition {
    let mut properties = command_properties(DEFAULT_TIMEOUT);
    properties["command"]["description"] = json!("Command line, or text for a POSIX shell.");
    properties["cwd"] =
        json!({"type": "string", "maxLength": 4096, "description": "Working directory."});
    ToolDefinition {
        name: "skills_bash".to_owned(),
        title: "Run a command".to_owned(),
        description: "Run a command in the workspace, in a sandbox. The user is asked for permission where needed.".to_owned(),
        input_schema: schema::input_schema(properties, &["command"]),
        output_schema: result_schema(),
        annotations: Annotations::EXECUTES,
    }
}

impl ProgramTools {
    pub(crate) async fn bash(
        &self,
        arguments: BashArguments,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let deadline = Deadline::from_secs(arguments.timeout.unwrap_or(DEFAULT_TIMEOUT));
        let command_line = CommandLine::parse(&arguments.command)?;
        let command_line = self.with_absolute_program(command_line);
        let (start_dir, canonical) = self.open_start_directory(&arguments.cwd)?;
        let base = start_dir.base_path();
        // A working directory inside a skill gives the command the permissions of that skill, so a
        // draft is rejected here.
        let skill = start_dir
            .skill
            .map(|skill| self.find_runnable(skill.entry.name().as_str()))
            .transpose()?;
        let own = skill.as_ref().map(|skill| &skill.entry);
        let mut named = self.find_named_skills(&command_line, own);
        let visible_dirs = self.visible_dirs(own, &named)?;
        let path_map = visible_dirs.path_map();
        let mut options = self.base_options(context);
        visible_dirs.add_to(&mut options);
        options.stdin = arguments.stdin.map(String::into_bytes);
        options.hosts = parse_hosts(&arguments.network)?;
        // From the canonical names, so that a symlink that changes later does not move the working
        // directory.
        let start = base.join(canonical.iter().collect::<PathBuf>());
        options.current_dir = Some(start.clone());
        let program = match skill {
            Some(_) => None,
            None => named.take_program(&command_line, &path_map),
        };
        let (started, uses) = match program {
            Some((skill, target, args)) => {
                self.check_enabled(&skill, &target)?;
                options.args = args;
                (
                    Started::ForSkill(Box::new(skill), target),
                    ImplicitUses::default(),
                )
            }
            None => {
                let (command, args) = host_command(command_line)?;
                let uses = self.implicit_uses(&command, &args, &start, &visible_dirs);
                options.key_paths = named_keys(&command, &args, &start, &visible_dirs);
                options.args = args;
                let started = match skill {
                    Some(skill) => Started::ForSkill(Box::new(skill), RunTarget::Command(command)),
                    None => Started::Command(command),
                };
                (started, uses)
            }
        };
        let (mut completed, output_dir) = match started {
            Started::Command(command) => {
                let completed = self.execute_command(&base, command, options, &deadline, &path_map);
                let output_dir = visible_dirs.display_name(&base).unwrap_or("/workspace");
                (completed.await?, output_dir)
            }
            Started::ForSkill(skill, target) => {
                options.target = target;
                // A skill is read-only, so the program works on the workspace.
                let workspace = self.files.workspace().map(|mount| mount.path.clone());
                let work_dir = workspace.as_deref().unwrap_or(&base);
                let output_dir = visible_dirs.display_name(work_dir).unwrap_or("/workspace");
                options.workspace = workspace
                    .clone()
                    .map_or(Workspace::None, Workspace::Directory);
                let completed = self.execute_skill(&skill, options, &deadline, &path_map);
                (completed.await?, output_dir)
            }
        };
        completed.explain_invisible(&named, &path_map);
        self.record_implicit_uses(&uses, context);
        // Changed files are reported relative to the directory that the program worked on.
        let output = completed.output.with_file_prefix(output_dir);
        Ok(output.into_tool_output(&completed.timeout_seconds))
    }

    /// Returns the directory in which a command starts, with its canonical names.
    fn open_start_directory(&self, cwd: &str) -> Result<(ResolvedPath, Vec<OsString>), ToolError> {
        let PathTarget::Path(resolved) = self.files.locate(&VirtualPath::parse(cwd)?)? else {
            return Err(ToolErrorCode::PathOutsideMounts
                .error("no working directory: there is no workspace")
                .with_hint("pass a directory as `cwd`, such as `/skills/NAME`"));
        };
        match self.files.open_directory(&resolved) {
            Ok((_, canonical)) => Ok((*resolved, canonical)),
            Err(error) if error.code == ToolErrorCode::NotFound && error.hint.is_none() => {
                Err(error.with_hint("create the directory with mkdir, or pass an existing one"))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the command of a command line and its arguments.
fn host_command(command_line: CommandLine) -> Result<(HostCommand, Vec<String>), ToolError> {
    match command_line {
        CommandLine::Shell(text) => Ok((HostCommand::Shell(text), Vec::new())),
        CommandLine::Argv(words) => {
            let mut words = words.into_iter();
            // A parsed command line has at least one word.
            let program = check_program_name(words.next().unwrap_or_default())?;
            Ok((HostCommand::Program(program), words.collect()))
        }
    }
}

/// Rejects paths: programs of the host are named without one.
fn check_program_name(program: String) -> Result<String, ToolError> {
    // Rules name programs without a path; a path could name another file.
    if !program.contains('/') {
        return Ok(program);
    }
    let error = ToolErrorCode::InvalidArguments.error(format!(
        "invalid program name `{}`: must not contain a path",
        escape_for_display(&program)
    ));
    Err(error.with_hint(format!(
        "run a script with its interpreter: `sh {program}`, `python3 {program}`"
    )))
}
