//! `skills compat`: the commands of skills-ref, with identical output. There are two differences:
//! the message for a missing path, and files over 1 MiB are rejected.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::reference_output::{print_error, print_plain};
use super::validate::check_like_reference;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::skill_path::SkillPath;

/// Check and print skills exactly like skills-ref
///
/// skills-ref is the reference tool of the specification. The output equals that of its commands.
#[derive(Debug, Args)]
pub(crate) struct Compat {
    #[command(subcommand)]
    command: CompatCommand,
}

#[derive(Debug, Subcommand)]
enum CompatCommand {
    Validate(ReferenceValidate),
    ReadProperties(ReadProperties),
    ToPrompt(ToPrompt),
}

/// Check skills against the specification
#[derive(Debug, Args)]
struct ReferenceValidate {
    /// Skill directories or SKILL.md files
    #[arg(required = true, value_name = "PATH", conflicts_with = "profile")]
    paths: Vec<PathBuf>,
}

/// Print a skill's manifest as JSON
#[derive(Debug, Args)]
pub(crate) struct ReadProperties {
    /// Skill directory or SKILL.md file
    path: PathBuf,
}

/// Print skills as XML for a prompt
#[derive(Debug, Args)]
pub(crate) struct ToPrompt {
    /// Skill directories or SKILL.md files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl Compat {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            CompatCommand::Validate(validate) => check_like_reference(&validate.paths, context),
            CompatCommand::ReadProperties(read) => read.run(context),
            CompatCommand::ToPrompt(prompt) => prompt.run(context),
        }
    }
}

impl ReadProperties {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match SkillPath::from_path(&self.path)?.properties() {
            Ok(properties) => {
                print_plain(&format!("{}\n", properties.to_json()), context.output)?;
                Ok(Exit::Success)
            }
            Err(message) => print_failure(&message, context.output),
        }
    }
}

impl ToPrompt {
    /// Prints skills as XML. A skill that cannot be read fails the whole command.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let mut text = String::from("<available_skills>\n");
        for path in &self.paths {
            // The reference tool prints resolved paths in this command only.
            let skill = SkillPath::from_path(path)?.resolve()?;
            let properties = match skill.properties() {
                Ok(properties) => properties,
                Err(message) => return print_failure(&message, context.output),
            };
            let (Some(name), Some(description)) =
                (properties.prompt_name(), properties.prompt_description())
            else {
                let message = "cannot print the name or description: unpaired surrogate";
                return print_failure(message, context.output);
            };
            let (name, description) = (escape_html(name), escape_html(description));
            let location = skill.reference_file();
            let location = location.display();
            text.push_str(&format!(
                "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n<location>\n{location}\n</location>\n</skill>\n"
            ));
        }
        text.push_str("</available_skills>\n");
        if context.output.is_json() {
            return context.output.json(&json!({"text": text}));
        }
        print_plain(&text, context.output)?;
        Ok(Exit::Success)
    }
}

fn print_failure(message: &str, output: Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.print_json(&json!({"error": {"code": "skill", "message": message}}))?;
    } else {
        print_error(&format!("Error: {message}\n"));
    }
    Ok(Exit::Failed)
}

/// Escapes text as Python's `html.escape` does.
fn escape_html(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#x27;")
}
