//! `skills_bash`: a command in the workspace.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use skills_runtime::{Command, Workspace};

use super::words::CommandLine;
use super::{Deadline, Programs, command_properties, hosts, result_properties, stdin};
use crate::definition::{Annotations, Definition};
use crate::file_tools::Target;
use crate::path::{VirtualPath, shown};
use crate::schema;
use crate::{CallContext, Code, Outcome, ToolError};

const DEFAULT_TIMEOUT: u64 = 60;

/// The arguments of `skills_bash`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    command: String,
    #[serde(default = "default_timeout")]
    timeout: u64,
    #[serde(default)]
    cwd: String,
    stdin: Option<String>,
    #[serde(default)]
    network: Vec<String>,
}

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT
}

/// Where a command works.
struct Ground {
    /// The directory that it works on.
    base: PathBuf,
    /// The one that it starts in.
    start: PathBuf,
    /// The skill that it lies in.
    skill: Option<String>,
}

pub(crate) fn definition() -> Definition {
    let mut properties = command_properties(DEFAULT_TIMEOUT);
    properties["command"]["description"] = json!(
        "Plain words, or text for a POSIX shell. Each program that it starts has to be allowed."
    );
    properties["cwd"] = json!({"type": "string", "maxLength": 4096, "default": "", "description": "Directory to start in, which has to be there; the workspace unless given."});
    Definition {
        name: "skills_bash".to_owned(),
        title: "Run a command".to_owned(),
        description: "Runs a command in the workspace, in a sandbox.".to_owned(),
        input_schema: schema::input(properties, &["command"]),
        output_schema: schema::output(
            result_properties(),
            &["exit_code", "stdout", "stderr", "timed_out"],
        ),
        annotations: Annotations::RUNS,
    }
}

impl Programs {
    pub(crate) async fn bash(
        &self,
        arguments: BashArguments,
        context: &CallContext,
    ) -> Result<Outcome, ToolError> {
        let deadline = Deadline::new(arguments.timeout);
        let line = CommandLine::read(&arguments.command)?;
        let ground = self.ground(&arguments.cwd)?;
        let skill = ground
            .skill
            .as_deref()
            .map(|name| self.usable(name))
            .transpose()?;
        let around = self.surroundings(skill.as_ref().map(|skill| &skill.entry))?;
        let mut options = self.options(context);
        around.add_to(&mut options);
        options.stdin = stdin(arguments.stdin.as_ref());
        options.hosts = hosts(&arguments.network)?;
        options.directory = Some(ground.start);
        let mut worked_on = around.name_of(&ground.base).unwrap_or("workspace");
        // In a skill, which cannot be written, it works on the workspace as the skill's own
        // programs do.
        if let Some(workspace) = self.files.workspace().filter(|_| skill.is_some()) {
            options.workspace = Workspace::Directory(workspace.path.clone());
            worked_on = "workspace";
        }
        match line {
            CommandLine::Shell(text) => options.command = Some(Command::Shell(text)),
            CommandLine::Words(words) => {
                let mut words = words.into_iter();
                options.command = words.next().map(named).transpose()?.map(Command::Program);
                options.args = words.collect();
            }
        }
        let target = match &skill {
            Some(skill) => {
                skill.is_set_up(None)?;
                super::Target::Skill(&skill.entry)
            }
            None => super::Target::Directory(&ground.base),
        };
        let ran = self
            .execute(target, options, &deadline, &around.shown())
            .await?;
        Ok(ran.finished.in_directory(worked_on).outcome(
            &ran.seconds,
            |stdout, stderr| match stderr {
                "" => stdout.to_owned(),
                stderr => format!("{stdout}\n[stderr]\n{stderr}"),
            },
        ))
    }

    fn ground(&self, cwd: &str) -> Result<Ground, ToolError> {
        let place = match self.files.locate(&VirtualPath::parse(cwd)?)? {
            Target::Place(place) => place,
            Target::Catalogue => {
                let error = ToolError::new(
                    Code::PathOutsideMounts,
                    "there is no directory to start in: there is no workspace",
                );
                return Err(
                    error.hint("name a directory as `cwd`, such as that of a skill: `skills/NAME`")
                );
            }
        };
        let (_, real) = self
            .files
            .directory(&place)
            .map_err(|error| match error.code {
                Code::NotFound => {
                    error.hint("`cwd` has to be there; make it with skills_write or with mkdir")
                }
                _ => error,
            })?;
        let base = place.base();
        let start = real.iter().fold(base.clone(), |path, part| path.join(part));
        Ok(Ground {
            base,
            start,
            skill: place.skill.map(|skill| skill.entry.name().to_string()),
        })
    }
}

/// A program of the machine is named without a path.
fn named(program: String) -> Result<String, ToolError> {
    if !program.contains('/') {
        return Ok(program);
    }
    let error = ToolError::new(
        Code::InvalidArguments,
        format!(
            "'{}' is a path, and programs are named without one",
            shown(&program)
        ),
    );
    Err(error.hint(format!(
        "run a script by its interpreter: `sh {program}`, `python3 {program}`"
    )))
}
