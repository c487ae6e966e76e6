//! `skills_run`: runs a command of a skill.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::discovery::SkillFiles;
use skills_runtime::{
    ExecutionOptions, HostCommand, RunTarget, ScriptType, Secret, SkillPrograms, Workspace,
    unusable_scripts, without_launcher,
};

use crate::mount::{Access, OpenMount};
use crate::nearest_name::nearest_file_name;
use crate::run::command_line::CommandLine;
use crate::run::implicit_uses::ImplicitUses;
use crate::run::line::{EndedPart, Part, PartFuture, PartRunner, find_line, run_line};
use crate::run::named_skills::NamedSkills;
use crate::run::skill_program::{find_in_skill, find_skill_program};
use crate::run::visible_dirs::VisibleDirs;
use crate::run::{
    Deadline, ProgramRunner, RunnableSkill, WorkingDirectory, command_properties, result_schema,
};
use crate::schema;
use crate::tool::{Call, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_path::{VirtualPath, escape_for_display};
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
    description: "Run a program of a skill, in a sandbox. It starts in the workspace, if there is a writable one; the skill is at `/skills/NAME`, read-only. Programs that do more than read need permission of the user.",
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
    let call = RunCall {
        programs,
        context,
        skill: programs.find_runnable(&arguments.name)?,
        env: arguments.env,
        network: arguments.network,
        deadline: Deadline::chosen(
            arguments.timeout.unwrap_or(DEFAULT_TIMEOUT),
            &programs.options,
        ),
    };
    let directory = format!("/skills/{}", call.skill.entry.name());
    let directory = Some(directory.as_str());
    let command = CommandLine::parse_in_skill(&arguments.command, directory)?;
    let (files, stdin) = (&programs.files, arguments.stdin);
    let name = Some(arguments.name.as_str());
    let line = find_line(files, &command, name, directory, "", stdin.is_some()).await?;
    let line = line.filter(|_| call.start().is_some());
    match line {
        Some(line) => {
            let stdin = stdin.map(String::into_bytes);
            run_line(&call, files, &line, "", stdin).await
        }
        None => Ok(call
            .run(Part::whole(command, "", stdin))
            .await?
            .into_tool_output()),
    }
}

/// A call, which is one command or a line of them.
struct RunCall<'a> {
    programs: &'a ProgramRunner,
    context: &'a CallContext,
    skill: RunnableSkill,
    env: BTreeMap<String, String>,
    network: Vec<String>,
    deadline: Deadline,
}

impl PartRunner for RunCall<'_> {
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

impl RunCall<'_> {
    /// Runs a program of the skill, or a command for it.
    async fn run(&self, mut part: Part) -> Result<EndedPart, ToolError> {
        let (programs, skill) = (self.programs, &self.skill);
        let named = NamedSkills::find(programs, &part.command, Some(&skill.entry));
        let visible_dirs = VisibleDirs::new(&programs.files, Some(&skill.entry), named.entries())?;
        let mut options =
            programs.command_options(self.context, &visible_dirs, &mut part, &self.network)?;
        if !part.is_free {
            apply_declared_env(programs, skill, &self.env, &mut options)?;
        }
        let (target, args) = parse_run_command(part.command, skill)?;
        programs.check_enabled(skill, &target)?;
        (options.target, options.args) = (target, args);
        self.set_start(&part.current_dir, &mut options)?;
        let uses = match options.target.clone() {
            RunTarget::Command(command) => {
                let start = options.current_dir.clone();
                let start = start.unwrap_or_else(|| skill.entry.directory().to_owned());
                let args = options.args.clone();
                programs.inspect_command(&command, &args, &start, &visible_dirs, &mut options)
            }
            _ => ImplicitUses::default(),
        };
        if let Some(workspace) = programs.files.mounts.workspace() {
            options.workspace = Workspace::Directory(workspace.path.clone());
        }
        let path_map = visible_dirs.path_map();
        let completed = programs
            .execute_skill(skill, options, &self.deadline, &path_map)
            .await?;
        uses.record(&programs.files.runtime, self.context);
        Ok(completed.into_part(&named, &path_map, "/workspace"))
    }

    /// Returns the workspace if commands start there. Scripts start only in a writable one.
    fn start(&self) -> Option<&OpenMount> {
        let is_selected = self.programs.options.working_directory == WorkingDirectory::Workspace;
        let workspace = self.programs.files.mounts.workspace();
        workspace.filter(|_| is_selected)
    }

    /// Sets the working directory: the one that a line changed to, else the workspace, like the tool of
    /// a script, so that relative paths of arguments and output files are there. A relative path that
    /// only the skill has becomes that of the skill.
    fn set_start(
        &self,
        current_dir: &str,
        options: &mut ExecutionOptions,
    ) -> Result<(), ToolError> {
        let files = &self.programs.files;
        if !current_dir.is_empty() {
            let resolved = files.resolve(&VirtualPath::parse(current_dir)?)?;
            let (_, canonical) = files.open_directory(&resolved)?;
            let start = resolved
                .base_path()
                .join(canonical.iter().collect::<PathBuf>());
            options.current_dir = Some(start);
            return Ok(());
        }
        let is_script = matches!(options.target, RunTarget::Script(_));
        let is_command = matches!(options.target, RunTarget::Command(_));
        let is_start = |workspace: &&OpenMount| {
            is_command || is_script && workspace.access == Access::ReadWrite
        };
        let Some(workspace) = self.start().filter(is_start) else {
            return Ok(());
        };
        options.current_dir = Some(workspace.path.clone());
        let name = self.skill.entry.name();
        for arg in &mut options.args {
            if workspace.directory.symlink_metadata(&arg).is_err()
                && let Some(path) = find_in_skill(&self.skill.files, name.as_str(), arg)
            {
                *arg = format!("/skills/{name}/{path}");
            }
        }
        Ok(())
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
        ScriptType::from_interpreter(first).is_some_and(|script_type| {
            names_script(name, word, script_type)
                || lacks_extension(&skill.files, word, script_type)
        })
    });
    if let Some(missing) = script.or(Some(first).filter(|first| first.contains('/'))) {
        let error = ToolErrorCode::ScriptNotFound
            .error(format!("skill `{name}` has no script `{missing}`"));
        return Err(error.with_hint(match nearest_program(&skill.files, missing) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if let [script, ..] = unusable_scripts(&skill.files, missing).as_slice() => {
                script.model_text()
            }
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
        scripts,
        root_scripts,
        modules,
        ..
    } = SkillPrograms::list(files);
    let programs = scripts.into_iter().chain(root_scripts).chain(modules);
    let programs: Vec<String> = programs.collect();
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
