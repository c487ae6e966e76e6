//! `skills_bash`: runs a command in the workspace.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::{HostCommand, RunTarget, Workspace};

use crate::run::command_line::CommandLine;
use crate::run::implicit_uses::ImplicitUses;
use crate::run::line::{EndedPart, Part, PartFuture, PartRunner, find_line, run_line};
use crate::run::named_skills::{NamedSkills, skill_of_command, with_absolute_program};
use crate::run::visible_dirs::VisibleDirs;
use crate::run::{Deadline, ProgramRunner, RunnableSkill, command_properties, result_schema};
use crate::schema;
use crate::tool::{Call, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_files::{PathTarget, ResolvedPath, VirtualFiles};
use crate::virtual_path::{VirtualPath, escape_for_display};
use crate::{CallContext, ToolError, ToolErrorCode, ToolGroup, ToolOutput};

const DEFAULT_TIMEOUT: u64 = 60;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArguments {
    command: String,
    timeout: Option<u64>,
    #[serde(default)]
    cwd: String,
    stdin: Option<String>,
    #[serde(default)]
    network: Vec<String>,
}

/// The program or command that a command line starts.
enum Started {
    /// A program of a skill, or a command for it.
    ForSkill(Box<RunnableSkill>, RunTarget),
    /// A command without a skill.
    Command(HostCommand),
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_bash",
    groups: &[ToolGroup::Core, ToolGroup::Workspace],
    title: "Run a command",
    description: "Run a command in the workspace, in a sandbox. The user is asked for permission where needed.",
    annotations: Annotations::EXECUTES,
    input_schema: || {
        let mut properties = command_properties(DEFAULT_TIMEOUT);
        properties["command"]["description"] = json!("Command line, or text for a POSIX shell.");
        properties["cwd"] =
            json!({"type": "string", "maxLength": 4096, "description": "Working directory."});
        schema::input_schema(properties, &["command"])
    },
    output_schema: result_schema,
    lists_skills: false,
    guide: &[(GuideStep::KeepResults, "`skills_bash`")],
    // A command that starts a program of a skill is a run of the skill, wherever it starts.
    hooks: Some(HookView {
        skill: |programs, arguments| {
            skill_of_command(programs, text_argument(arguments, "command"))
        },
        ..HookView::new("Bash")
    }),
    call: Call::Command(|programs, arguments, context| {
        Box::pin(call(programs, arguments, context))
    }),
};

async fn call(
    programs: &ProgramRunner,
    arguments: Value,
    context: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let arguments: BashArguments = parse_arguments(arguments)?;
    let call = BashCall {
        programs,
        context,
        network: &arguments.network,
        deadline: Deadline::chosen(
            arguments.timeout.unwrap_or(DEFAULT_TIMEOUT),
            &programs.options,
        ),
    };
    let (files, cwd, stdin) = (&programs.files, &arguments.cwd, arguments.stdin);
    let skill_directory = skill_directory(cwd);
    let skill_directory = skill_directory.as_deref();
    let command = CommandLine::parse_in_skill(&arguments.command, skill_directory)?;
    match find_line(files, &command, None, skill_directory, cwd, stdin.is_some()).await? {
        Some(line) => {
            let stdin = stdin.map(String::into_bytes);
            run_line(&call, files, &line, cwd, stdin).await
        }
        None => Ok(call
            .run(Part::whole(command, cwd, stdin))
            .await?
            .into_tool_output()),
    }
}

/// Returns the virtual directory of the skill in which a command starts, and for which it runs.
fn skill_directory(cwd: &str) -> Option<String> {
    let name = cwd.strip_prefix("/skills/")?.split('/').next()?;
    (!name.is_empty()).then(|| format!("/skills/{name}"))
}

/// A call, which is one command or a line of them.
struct BashCall<'a> {
    programs: &'a ProgramRunner,
    context: &'a CallContext,
    network: &'a [String],
    deadline: Deadline,
}

impl PartRunner for BashCall<'_> {
    fn run_part(&self, part: Part) -> PartFuture<'_> {
        Box::pin(self.run(part))
    }

    fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    fn context(&self) -> &CallContext {
        self.context
    }
}

impl BashCall<'_> {
    /// Runs a command.
    async fn run(&self, mut part: Part) -> Result<EndedPart, ToolError> {
        let (programs, files) = (self.programs, &self.programs.files);
        let literal = with_absolute_program(files, part.literal_command());
        let command_line = with_absolute_program(files, part.command.clone());
        let (start_dir, canonical) = open_start_directory(files, &part.current_dir)?;
        let base = start_dir.base_path();
        // A working directory inside a skill gives the command the permissions of that skill, so a
        // draft is rejected here.
        let skill = start_dir
            .skill
            .map(|skill| programs.find_runnable(skill.entry.name().as_str()))
            .transpose()?;
        let own = skill.as_ref().map(|skill| &skill.entry);
        let mut named = NamedSkills::find(programs, &command_line, own);
        let visible_dirs = VisibleDirs::new(files, own, named.entries())?;
        let path_map = visible_dirs.path_map();
        let mut options =
            programs.command_options(self.context, &visible_dirs, &mut part, self.network)?;
        // From the canonical names, so that a symlink that changes later does not move the working
        // directory.
        let start = base.join(canonical.iter().collect::<PathBuf>());
        options.current_dir = Some(start.clone());
        let is_of_skill = skill.is_none()
            && NamedSkills::find(programs, &literal, None)
                .take_program(&literal, &path_map)
                .is_some();
        let program = match is_of_skill {
            true => named.take_program(&command_line, &path_map),
            false => None,
        };
        let (started, uses) = match program {
            Some((skill, target, args)) => {
                programs.check_enabled(&skill, &target)?;
                options.args = args;
                (
                    Started::ForSkill(Box::new(skill), target),
                    ImplicitUses::default(),
                )
            }
            None => {
                let (command, args) = host_command(command_line)?;
                let uses =
                    programs.inspect_command(&command, &args, &start, &visible_dirs, &mut options);
                options.args = args;
                let started = match skill {
                    Some(skill) => Started::ForSkill(Box::new(skill), RunTarget::Command(command)),
                    None => Started::Command(command),
                };
                (started, uses)
            }
        };
        let deadline = &self.deadline;
        let (completed, output_dir) = match started {
            Started::Command(command) => {
                let completed =
                    programs.execute_command(&base, command, options, deadline, &path_map);
                let output_dir = visible_dirs.display_name(&base).unwrap_or("/workspace");
                (completed.await?, output_dir)
            }
            Started::ForSkill(skill, target) => {
                options.target = target;
                // A skill is read-only, so the program works on the workspace.
                let workspace = files.mounts.workspace().map(|mount| mount.path.clone());
                let work_dir = workspace.as_deref().unwrap_or(&base);
                let output_dir = visible_dirs.display_name(work_dir).unwrap_or("/workspace");
                options.workspace = workspace
                    .clone()
                    .map_or(Workspace::None, Workspace::Directory);
                let completed = programs.execute_skill(&skill, options, deadline, &path_map);
                (completed.await?, output_dir)
            }
        };
        uses.record(&files.runtime, self.context);
        Ok(completed.into_part(&named, &path_map, output_dir))
    }
}

/// Returns the directory in which a command starts, with its canonical names.
fn open_start_directory(
    files: &VirtualFiles,
    cwd: &str,
) -> Result<(ResolvedPath, Vec<OsString>), ToolError> {
    let PathTarget::Path(resolved) = files.locate(&VirtualPath::parse(cwd)?)? else {
        return Err(ToolErrorCode::PathOutsideMounts
            .error("no working directory: there is no workspace")
            .with_hint("pass a directory as `cwd`, such as `/skills/NAME`"));
    };
    match files.open_directory(&resolved) {
        Ok((_, canonical)) => Ok((*resolved, canonical)),
        Err(error) if error.code == ToolErrorCode::NotFound && error.hint.is_none() => {
            Err(error.with_hint("create the directory with mkdir, or pass an existing one"))
        }
        Err(error) => Err(error),
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
