//! `skills tools`: lists, configures and calls the tools offered to a model.

use clap::{Args, Subcommand};
use serde_json::json;
use skills_tools::{ToolFormat, ToolGroup, ToolOverride, ToolSet};

use super::call::Call;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, line};
use crate::program_args::parse_seconds;
use crate::tool_host::{HostArgs, ToolGroupArgs};
use crate::words::{widest, word_parser};

/// List and configure the tools offered to a model
///
/// Without a subcommand, lists the tools that `skills mcp` offers with the same options.
#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    host: HostArgs,

    #[command(flatten)]
    groups: ToolGroupArgs,

    /// Print the definitions in the format of this API
    #[arg(long = "for", value_name = "API", value_parser = word_parser(&FORMATS))]
    format: Option<ToolFormat>,

    #[command(subcommand)]
    command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// Call a tool, like `skills call`
    Call(Box<Call>),
    Change(Change),
    /// Remove all overrides of a tool
    Reset {
        /// Tool name
        tool: String,
    },
}

/// Configure the tool of a script
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// Tool name
    tool: String,

    /// Disable the tool
    #[arg(long, conflicts_with = "on")]
    off: bool,

    /// Enable the tool
    #[arg(long)]
    on: bool,

    /// Description for models
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Deadline in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<u64>,
}

/// The formats of definitions, by the APIs that read them.
const FORMATS: [(&str, &str, ToolFormat); 3] = [
    (
        "mcp",
        "Clients of the Model Context Protocol",
        ToolFormat::Mcp,
    ),
    ("openai", "APIs like OpenAI's", ToolFormat::OpenAi),
    ("anthropic", "Anthropic's API", ToolFormat::Anthropic),
];

impl Tools {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let set = |groups| {
            let interpreters = &self.host.programs.interpreter;
            self.host
                .tools(context.builder(interpreters)?, groups, context)
        };
        let all = || set(ToolGroup::ALL.to_vec());
        match &self.command {
            None => self.list(&set(self.groups.groups())?, context.output),
            Some(ToolsCommand::Call(call)) => call.run(context),
            Some(ToolsCommand::Change(change)) => change.run(&all()?, context.output),
            Some(ToolsCommand::Reset { tool }) => reset(&all()?, tool, context.output),
        }
    }

    fn list(&self, set: &ToolSet, output: Output) -> anyhow::Result<Exit> {
        for note in set.warnings()? {
            output.status(&format!("note: {note}"));
        }
        if let Some(format) = self.format {
            return output.json(&set.render(format)?);
        }
        if output.is_json() {
            return output.json(&json!({"tools": set.render(ToolFormat::Mcp)?}));
        }
        let definitions = set.definitions()?;
        let width = widest(definitions.iter().map(|definition| &definition.name));
        output.lines(definitions.iter().map(|definition| {
            format!(
                "{:width$}  {}",
                definition.name,
                line(&definition.description)
            )
        }))?;
        Ok(Exit::Success)
    }
}

impl Change {
    fn run(&self, set: &ToolSet, output: Output) -> anyhow::Result<Exit> {
        let mut changes = ToolOverride::default();
        // `None` keeps the current state; clap has rejected both options together.
        changes.enabled = (self.on || self.off).then_some(self.on);
        changes.description.clone_from(&self.description);
        changes.timeout_ms = self.timeout;
        if changes == ToolOverride::default() {
            return Err(CommandError::input("nothing to change")
                .with_help("pass `--off`, `--on`, `--description` or `--timeout`, or run `skills tools reset`")
                .into());
        }
        set.set_override(&self.tool, changes)?;
        print_override(set, &self.tool, output)
    }
}

fn reset(set: &ToolSet, tool: &str, output: Output) -> anyhow::Result<Exit> {
    if !set.clear_override(tool)? {
        output.status(&format!("`{tool}` has no overrides"));
    }
    print_override(set, tool, output)
}

fn print_override(set: &ToolSet, tool: &str, output: Output) -> anyhow::Result<Exit> {
    let definitions = set.definitions()?;
    let is_enabled = definitions.iter().any(|definition| definition.name == tool);
    if output.is_json() {
        return output.json(&json!({"tool": tool, "enabled": is_enabled}));
    }
    let state = if is_enabled { "enabled" } else { "disabled" };
    output.status(&format!(
        "{tool} is {state}, also after changes of the skill"
    ));
    Ok(Exit::Success)
}
