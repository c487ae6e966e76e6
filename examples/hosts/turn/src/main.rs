//! Host application that prepares each turn of a conversation: it injects the skills that the user
//! mentions, and asks for the MCP servers and variables that they require.
//!
//! `cargo run -p host-turn`
#![expect(
    clippy::disallowed_methods,
    reason = "an example creates its own skill and configuration"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skills_runtime::prompt::{
    CommandLine, InstalledServers, MissingServer, Prompter, SetupPrompt, UserInput,
};
use skills_runtime::{Root, Scope, SkillRuntime, TurnInput, TurnSession};

/// The configuration file of this client, with its MCP servers.
struct Config(PathBuf);

impl Config {
    fn read(&self) -> Value {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_else(|_| json!({}))
    }

    fn servers(&self) -> InstalledServers {
        let config = self.read();
        let entries = config["mcpServers"].as_object().into_iter().flatten();
        entries.fold(InstalledServers::default(), |servers, (_, entry)| {
            match (entry["url"].as_str(), entry["command"].as_str()) {
                (Some(url), _) => servers.url(url),
                (None, Some(command)) => servers.command(command),
                (None, None) => servers,
            }
        })
    }
}

/// Stands in for a dialog, which shows the text, the details and the options of each question.
struct Dialog<'a>(&'a Config);

impl Prompter for Dialog<'_> {
    fn ask(&mut self, prompt: &SetupPrompt) -> Option<String> {
        println!("{}\n  {}", prompt.header, prompt.text);
        for detail in &prompt.details {
            println!("  {detail}");
        }
        let answer = if prompt.is_secret {
            "s3cret"
        } else {
            "Install"
        };
        Some(answer.to_owned())
    }

    fn install(&mut self, missing: &MissingServer) -> Result<(), String> {
        let server = &missing.server;
        let mut config = self.0.read();
        let servers = &mut config["mcpServers"];
        // An existing entry of this name belongs to another server.
        if servers.get(&server.name).is_some() {
            return Err("the name is in use".to_owned());
        }
        let field = if server.is_program() {
            "command"
        } else {
            "url"
        };
        servers[&server.name] = json!({field: server.locator});
        fs::write(&self.0.0, config.to_string()).map_err(|error| error.to_string())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let skills = directory.path().canonicalize()?.join("skills");
    create_skill(&skills.join("ask-docs"))?;
    let config = Config(directory.path().join("config.json"));
    let runtime = SkillRuntime::builder()
        .root(Root::new(&skills, Scope::User))
        .build();

    let mut session = TurnSession::default();
    for (id, text) in [("1", "Use $ask-docs for this."), ("2", "$ask-docs again")] {
        let inputs = [UserInput::Text(text)];
        let input = TurnInput::new(id, &inputs).servers(&config.servers());
        let mut dialog = Dialog(&config);
        let turn = runtime
            .prompt()
            .prepare_turn(&input, &mut session, &mut dialog);
        println!(
            "turn {id}: {} injected, {} active, {} servers to connect, {} warnings",
            turn.injected.len(),
            turn.already_active.len(),
            turn.installed.len(),
            turn.warnings.len()
        );
        // Then the injections and the text go to the model. A secret is passed to runs of the skill.
        assert!(session.requirements.secret("DOCS_TOKEN").is_some());
    }

    // A skill that the model uses by itself is checked too; nothing is asked in the middle of a turn.
    let index = runtime.prompt().implicit_index();
    let uses = index.detect(CommandLine::Shell("cat ask-docs/SKILL.md"), &skills);
    let used = uses.iter().map(|found| found.entry);
    let missing =
        runtime
            .prompt()
            .servers_missing_for(used, &config.servers(), &mut TurnSession::default());
    println!("missing after an implicit use: {}", missing.servers.len());
    Ok(())
}

fn create_skill(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory.join("agents"))?;
    let text = "---\nname: ask-docs\ndescription: Answers from the documentation.\n---\n# Docs\n";
    fs::write(directory.join("SKILL.md"), text)?;
    let tools = "dependencies:\n  tools:\n    - {type: mcp, value: docs, url: 'https://docs.example/mcp'}\n    - {type: env_var, value: DOCS_TOKEN, description: token of the documentation}\n";
    fs::write(directory.join("agents/openai.yaml"), tools)
}
