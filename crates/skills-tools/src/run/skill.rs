//! `skills_run`: a command of a skill.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use skills_runtime::discovery::SkillFiles;
use skills_runtime::{Command, ExecutionOptions, ScriptType, Secret, Workspace};

use super::words::CommandLine;
use super::{
    Deadline, Programs, Target, Usable, command_properties, hosts, result_properties, stdin,
};
use crate::definition::{Annotations, Definition};
use crate::schema;
use crate::{CallContext, Code, Outcome, ToolError};

const DEFAULT_TIMEOUT: u64 = 120;

/// The arguments of `skills_run`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunArguments {
    name: String,
    command: String,
    #[serde(default = "default_timeout")]
    timeout: u64,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    network: Vec<String>,
}

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT
}

pub(crate) fn definition() -> Definition {
    let mut properties = command_properties(DEFAULT_TIMEOUT);
    properties["name"] =
        json!({"type": "string", "minLength": 1, "maxLength": 128, "description": "The skill."});
    properties["command"]["description"] = json!(
        "What to run in the skill's directory, such as `python scripts/convert.py /workspace/doc.pdf`. Plain words; a shell only where it is allowed."
    );
    properties["env"] = json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 32768}, "maxProperties": 32,
                               "description": "Variables that the skill declares."});
    Definition {
        name: "skills_run".to_owned(),
        title: "Run a skill's program".to_owned(),
        description: "Runs a command in a skill's directory, in a sandbox. The skill cannot be written; write results to /workspace."
            .to_owned(),
        input_schema: schema::input(properties, &["name", "command"]),
        output_schema: schema::output(result_properties(), &["exit_code", "stdout", "stderr", "timed_out"]),
        annotations: Annotations::RUNS,
    }
}

impl Programs {
    pub(crate) async fn run(
        &self,
        arguments: RunArguments,
        context: &CallContext,
    ) -> Result<Outcome, ToolError> {
        let deadline = Deadline::new(arguments.timeout);
        let skill = self.usable(&arguments.name)?;
        let line = CommandLine::read(&arguments.command)?;
        let around = self.surroundings(Some(&skill.entry))?;
        let mut options = self.options(context);
        around.add_to(&mut options);
        options.stdin = stdin(arguments.stdin.as_ref());
        options.hosts = hosts(&arguments.network)?;
        self.declared(&skill, &arguments.env, &mut options)?;
        let program = program(&line, &skill)?;
        if let Some(script) = program.script() {
            self.is_on(
                &skill.entry,
                script.strip_prefix("scripts/").unwrap_or(script),
            )?;
        }
        skill.is_set_up(program.script())?;
        program.choose(&mut options);
        if let Some(workspace) = self.files.workspace() {
            options.workspace = Workspace::Directory(workspace.path.clone());
        }
        let ran = self
            .execute(
                Target::Skill(&skill.entry),
                options,
                &deadline,
                &around.shown(),
            )
            .await?;
        Ok(ran
            .finished
            .in_directory("workspace")
            .outcome(&ran.seconds, |stdout, stderr| match (stdout, stderr) {
                ("", stderr) => stderr.to_owned(),
                (stdout, "") => stdout.to_owned(),
                (stdout, stderr) => format!("{stdout}\n{stderr}"),
            }))
    }

    /// Gives variables that the skill declares, and refuses all others.
    fn declared(
        &self,
        skill: &Usable,
        given: &BTreeMap<String, String>,
        options: &mut ExecutionOptions,
    ) -> Result<(), ToolError> {
        if given.is_empty() {
            return Ok(());
        }
        let directory = skill.entry.directory().to_string_lossy();
        let declared = self
            .runtime
            .declared_variables(&directory)
            .unwrap_or_default();
        if let Some(other) = given.keys().find(|name| !declared.contains(*name)) {
            let names: Vec<&str> = declared.iter().map(String::as_str).collect();
            let hint = if names.is_empty() {
                "it declares none".to_owned()
            } else {
                format!("it declares {}", names.join(", "))
            };
            let error = ToolError::new(
                Code::InvalidArguments,
                format!("the skill declares no variable {other:?}"),
            );
            return Err(error.hint(hint));
        }
        options.env.extend(
            given
                .iter()
                .map(|(name, value)| (name.clone(), Secret::new(value))),
        );
        Ok(())
    }
}

/// What a command line runs.
enum Program {
    /// A script of the skill, by the interpreter for its kind.
    Script {
        path: String,
        arguments: Vec<String>,
    },
    /// A module of the skill.
    Module {
        path: String,
        arguments: Vec<String>,
    },
    /// A program of the machine.
    Command {
        command: Command,
        arguments: Vec<String>,
    },
}

impl Program {
    fn script(&self) -> Option<&str> {
        match self {
            Self::Script { path, .. } => Some(path),
            _ => None,
        }
    }

    fn choose(self, options: &mut ExecutionOptions) {
        match self {
            Self::Script { path, arguments } => {
                (options.script, options.args) = (Some(path), arguments)
            }
            Self::Module { path, arguments } => {
                (options.wasm_module, options.args) = (Some(path), arguments)
            }
            Self::Command { command, arguments } => {
                (options.command, options.args) = (Some(command), arguments)
            }
        }
    }
}

/// Finds out what a command line runs: a script of the skill, named alone or behind its
/// interpreter, needs no more leave than the skill itself; anything else is a program of the
/// machine.
fn program(line: &CommandLine, skill: &Usable) -> Result<Program, ToolError> {
    let words = match line {
        CommandLine::Words(words) => words,
        CommandLine::Shell(text) => {
            return Ok(Program::Command {
                command: Command::Shell(text.clone()),
                arguments: Vec::new(),
            });
        }
    };
    let Some((first, rest)) = words.split_first() else {
        return Err(ToolError::new(
            Code::InvalidArguments,
            "the command is empty",
        ));
    };
    let name = skill.entry.name().as_str();
    if let (Some(kind), Some((script, arguments))) = (kind_of(first), rest.split_first())
        && let Some(path) = inside(&skill.files, name, script)
            .filter(|path| ScriptType::of_path(path.as_ref()) == Some(kind))
    {
        return Ok(Program::Script {
            path,
            arguments: arguments.to_vec(),
        });
    }
    if let Some(path) = inside(&skill.files, name, first) {
        if ScriptType::of_path(path.as_ref()).is_some() {
            return Ok(Program::Script {
                path,
                arguments: rest.to_vec(),
            });
        }
        if path.ends_with(".wasm") {
            return Ok(Program::Module {
                path,
                arguments: rest.to_vec(),
            });
        }
    }
    // Behind an interpreter too: to ask for leave to start it would help nobody.
    let script = rest
        .first()
        .filter(|word| kind_of(first).is_some_and(|kind| is_script_of(name, word, kind)));
    if let Some(missing) = script.or(Some(first).filter(|first| first.contains('/'))) {
        let error = ToolError::new(
            Code::ScriptNotFound,
            format!("'{missing}' is no script of the skill '{name}'"),
        );
        return Err(error.hint(format!(
            "list the files with skills_ls of `skills/{name}`, or name a program without a path"
        )));
    }
    Ok(Program::Command {
        command: Command::Program(first.clone()),
        arguments: rest.to_vec(),
    })
}

/// The kind of scripts that a program runs.
fn kind_of(program: &str) -> Option<ScriptType> {
    Some(match program {
        "python" | "python3" => ScriptType::Python,
        "bash" | "sh" => ScriptType::Shell,
        "node" => ScriptType::Node,
        "ruby" => ScriptType::Ruby,
        "perl" => ScriptType::Perl,
        _ => return None,
    })
}

/// Whether a word can only mean a script of this kind in the skill, where commands start.
fn is_script_of(skill: &str, word: &str, kind: ScriptType) -> bool {
    let is_here = !word.starts_with(['/', '-']) || word.starts_with(&format!("/skills/{skill}/"));
    is_here && ScriptType::of_path(word.as_ref()) == Some(kind)
}

/// Returns the path in the skill of a file of it, as the directory spells it. Links and hidden
/// files are none: what they lead to has a name of its own.
fn inside(files: &SkillFiles, skill: &str, word: &str) -> Option<String> {
    let path = word
        .strip_prefix(&format!("/skills/{skill}/"))
        .or_else(|| word.strip_prefix(&format!("skills/{skill}/")));
    let path = path.unwrap_or_else(|| word.strip_prefix("./").unwrap_or(word));
    let is_plain = path.contains(['/', '.'])
        && !path.starts_with('/')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let listed = if is_plain {
        files.files_in(directory).unwrap_or_default()
    } else {
        Vec::new()
    };
    listed
        .into_iter()
        .map(|file| file.path)
        .find(|known| known == path)
}
