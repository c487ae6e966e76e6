//! `skills prompt turn TEXT`: what an agent does before a turn, as data.

use clap::Args;
use serde_json::{Value, json};
use skills_client_config::{ConfigScope, ServerClient, configured_servers};
use skills_runtime::prompt::{InstalledServers, RequirementSession};
use skills_runtime::{InjectionFormat, PreparedTurn, TurnInput, TurnMention, TurnSession};

use super::mentions::MentionArgs;
use crate::client_config::{client_environment, client_parser};
use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::requirements;

/// Print what an agent needs before a turn
///
/// Finds the skills that the input mentions, and prints their texts, what they require and the
/// client lacks, and the questions to its user. Nothing is asked and nothing is installed: `skills
/// mcp add-servers` installs servers. The state of the session is an argument: pass the keys in
/// `asked` of the last turn with --asked.
#[derive(Debug, Args)]
pub(crate) struct Turn {
    #[command(flatten)]
    input: MentionArgs,

    /// Print only the body of skills, in tags that it cannot close
    #[arg(long)]
    fenced: bool,

    /// Maximum bytes of each text, truncated at a line end [default: 98304]
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<usize>,

    /// Client whose MCP servers count as installed: those of its user and of the project
    #[arg(long, value_parser = client_parser(), value_name = "CLIENT")]
    client: Option<ServerClient>,

    /// Key of an installed MCP server, mcp__TRANSPORT__LOCATOR (repeatable)
    #[arg(long, value_name = "KEY")]
    installed: Vec<String>,

    /// Environment variable that programs of skills can get (repeatable)
    #[arg(long, value_name = "NAME")]
    variable: Vec<String>,

    /// What the user was asked for before in this session (repeatable)
    #[arg(long, value_name = "KEY")]
    asked: Vec<String>,

    /// Turn, which is a part of the ids of questions
    #[arg(long, value_name = "ID", default_value = "1")]
    turn: String,
}

impl Turn {
    /// Prints the plan of a turn.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let text = input::read_text(&self.input.text)?;
        let inputs = self.input.inputs(&text)?;
        let format = if self.fenced {
            InjectionFormat::Fenced
        } else {
            InjectionFormat::Codex
        };
        let turn = TurnInput::new(&self.turn, &inputs)
            .mentions(self.input.options(context)?)
            .format(format)
            .servers(&self.servers(context))
            .variables(&self.variable);
        let turn = match self.max_bytes {
            Some(max_bytes) => turn.max_bytes(max_bytes),
            None => turn,
        };
        let mut session = TurnSession::default();
        session.requirements = RequirementSession::with_asked(&self.asked);
        let prepared = runtime.prompt().plan_turn(&turn, &mut session);
        if output.is_json() {
            return output.json(&to_json(&prepared, &session.requirements));
        }
        print(&prepared, output)
    }

    /// Returns the servers of the client, and those that are named.
    fn servers(&self, context: &Context) -> InstalledServers {
        let mut servers: InstalledServers = self.installed.iter().collect();
        if let Some(client) = self.client {
            let environment = client_environment(client, &context.environment);
            for scope in [ConfigScope::User, ConfigScope::Project] {
                let configured = configured_servers(client, scope, &environment);
                servers.extend(configured.into_iter().collect());
            }
        }
        servers
    }
}

/// Prints the texts of skills, and everything else as status.
fn print(turn: &PreparedTurn, output: Output) -> anyhow::Result<Exit> {
    let texts = turn.injected.iter();
    output.lines(texts.map(|injected| injected.text.trim_end().to_owned()))?;
    for mention in &turn.mentions {
        output.status(&format!("{:?}: {}", mention.name, mention.message));
    }
    for warning in &turn.warnings {
        output.status(&format!("warning: {warning}"));
    }
    for requirement in turn.missing.to_lines() {
        output.status(&format!("missing requirement: {requirement}"));
    }
    for prompt in &turn.prompts {
        output.status(&format!("question: {}", prompt.text));
        for detail in &prompt.details {
            output.status(&format!("  {detail}"));
        }
    }
    Ok(Exit::Success)
}

fn to_json(turn: &PreparedTurn, session: &RequirementSession) -> Value {
    let selected = turn.selected.iter();
    let selected = selected.map(|skill| json!({"name": skill.id, "path": skill.path}));
    let injections = turn.injected.iter();
    let injections =
        injections.map(|injected| json!({"role": injected.role.as_str(), "text": injected.text}));
    json!({
        "mentions": turn.mentions.iter().map(mention_to_json).collect::<Vec<_>>(),
        "selected": selected.collect::<Vec<_>>(),
        "injections": injections.collect::<Vec<_>>(),
        "missing": requirements::to_json_with_questions(&turn.missing, &turn.prompts),
        "asked": session.asked().collect::<Vec<_>>(),
        "warnings": turn.warnings,
    })
}

fn mention_to_json(mention: &TurnMention) -> Value {
    json!({
        "input": mention.input,
        "start": mention.span.start,
        "end": mention.span.end,
        "name": mention.name,
        "kind": mention.kind.as_str(),
        "confidence": mention.confidence.as_str(),
        "decision": mention.decision.as_str(),
        "resolution": mention.resolution,
        "message": mention.message,
        "paths": mention.paths,
    })
}
