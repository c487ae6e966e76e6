//! `skills prompt detect -- COMMAND…`: finds implicit invocations of skills.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::prompt::{CommandLine, SkillUse};

use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::output::line;

/// Find skills used by a shell command
#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Working directory of the command [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Command after --; a single word is parsed as a shell command
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Detect {
    /// Finds the skills that a shell command reads or runs.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let directory = match &self.cwd {
            Some(directory) => input::resolve_directory(directory)?,
            None => context.environment.current_dir()?.to_owned(),
        };
        let command = match self.command.as_slice() {
            [text] => CommandLine::Shell(text),
            words => CommandLine::Argv(words),
        };
        let index = runtime.prompt().implicit_index();
        let uses = index.detect(command, &directory);
        for found in &uses {
            let usage = runtime.library().usage();
            usage.record_implicit(found.entry, found.kind, None);
        }
        if output.is_json() {
            let uses: Vec<Value> = uses.iter().map(to_json).collect();
            return output.json(&json!({"uses": uses}));
        }
        output.lines(uses.iter().map(|found| {
            let path = line(&found.path.to_string_lossy());
            format!("{} {}  {path}", found.kind.as_str(), found.entry.name())
        }))?;
        if uses.is_empty() {
            output.status("the command uses no skill");
        }
        Ok(Exit::Success)
    }
}

fn to_json(found: &SkillUse<'_>) -> Value {
    json!({
        "skill": found.entry.name(),
        "scope": found.entry.scope().as_str(),
        "path": found.entry.location().to_string_lossy(),
        "kind": found.kind.as_str(),
        "file": found.path.to_string_lossy(),
    })
}
