//! `skills show NAME`: prints a skill's manifest, files and instructions, or its availability.

pub(crate) mod explanation;

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::prompt::MissingServer;
use skills_runtime::{Entry, LoadedSkill, Manifest, check_scripts};

use super::list::warnings_to_json;
use crate::context::Context;
use crate::exit::Exit;
use crate::lint;
use crate::lookup;
use crate::output::line;
use crate::requirements::server_to_json;

/// Show a skill's manifest, files and instructions
///
/// With --why, explains instead why the skill is or is not available: where it was found, and what
/// disabled, hid or rejected it.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Skill name, directory or SKILL.md file
    #[arg(value_name = "NAME|PATH")]
    name: String,

    /// Explain why the skill is or is not available
    #[arg(long)]
    why: bool,
}

impl Show {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if self.why {
            return explanation::explain(&self.name, context);
        }
        let name = context.name_skill(&self.name);
        let (runtime, output) = (context.runtime()?, context.output);
        let skill = lookup::get_skill(&runtime, &name)?;
        let catalog = runtime.library().catalog();
        let entry = lookup::find_entry(&catalog, &skill);
        // A runtime has no servers, so all that the skill declares are missing.
        let servers = runtime.library().missing_requirements(entry).servers;
        if output.is_json() {
            return output.json(&to_json(&skill, entry, &servers));
        }
        output.text(&render_text(&skill, &servers)?)?;
        for warning in entry.map(Entry::warnings).unwrap_or_default() {
            output.status(&format!("warning: {warning}"));
        }
        let files = entry.and_then(|entry| entry.open().ok());
        let finder = runtime.library().finder(&skill.id);
        let problems = files.map(|files| check_scripts(&files, Some(finder)));
        for problem in problems.iter().flatten() {
            output.status(&format!("warning: {}", lint::script_line(problem)));
        }
        if !servers.is_empty() {
            let help = "`skills mcp add-servers` adds the MCP servers of a skill to a client";
            output.status(&format!("help: {help}"));
        }
        Ok(Exit::Success)
    }
}

fn to_json(skill: &LoadedSkill, entry: Option<&Entry>, servers: &[MissingServer]) -> Value {
    let manifest = &skill.manifest;
    let (resources, outline) = (&skill.resources, &skill.outline);
    let files = resources.resources.iter();
    let files: Vec<Value> = files
        .map(|file| json!({"path": file.path, "bytes": file.bytes}))
        .collect();
    let headings: Vec<Value> = outline.headings().iter().map(|heading| json!({"level": heading.level, "text": heading.text, "line": heading.line, "last_line": heading.last_line})).collect();
    let links: Vec<Value> = outline
        .links()
        .iter()
        .map(|link| json!({"target": link.target, "line": link.line, "kind": link.kind.as_str()}))
        .collect();
    json!({
        "name": skill.id,
        "description": manifest.description(),
        "scope": skill.location.as_str(),
        "directory": skill.directory.to_string_lossy(),
        "path": entry.map(|entry| entry.location().to_string_lossy().into_owned()),
        "license": manifest.license(),
        "compatibility": manifest.compatibility(),
        "allowed_tools": manifest.allowed_tools().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "user_invocable": manifest.user_invocable(),
        "model_invocable": manifest.model_invocable(),
        "mcp_servers": servers.iter().map(server_to_json).collect::<Vec<_>>(),
        "metadata": manifest.metadata(),
        "extra": manifest.extra(),
        "resources": files,
        "resources_truncated": resources.truncated,
        "resources_omitted": resources.omitted,
        "headings": headings,
        "links": links,
        "warnings": entry.map(warnings_to_json).unwrap_or_default(),
        "instructions": skill.instructions,
    })
}

fn render_text(skill: &LoadedSkill, servers: &[MissingServer]) -> Result<String, std::fmt::Error> {
    let manifest = &skill.manifest;
    let mut text = String::new();
    let description: Vec<&str> = manifest.description().split_whitespace().collect();
    writeln!(
        text,
        "{}\n  {}\n",
        line(&skill.id),
        line(&description.join(" "))
    )?;
    let directory = skill.directory.to_string_lossy();
    writeln!(text, "directory       {}", line(&directory))?;
    writeln!(text, "scope           {}", skill.location)?;
    for (name, value) in manifest_fields(manifest) {
        writeln!(text, "{:<15} {}", line(&name), line(&value))?;
    }
    for required in servers {
        let server = &required.server;
        let place = format!("({} {})", server.transport, server.locator);
        writeln!(
            text,
            "MCP server      {} {}",
            line(&server.name),
            line(&place)
        )?;
    }
    for file in &skill.resources.resources {
        let (path, bytes) = (line(&file.path), file.bytes);
        writeln!(text, "file            {path} ({bytes} bytes)")?;
    }
    if skill.resources.truncated {
        writeln!(text, "                … and more")?;
    }
    for omitted in &skill.resources.omitted {
        writeln!(text, "omitted         {}", line(&omitted.to_string()))?;
    }
    writeln!(text, "\n{}", skill.instructions.trim_matches('\n'))?;
    Ok(text)
}

/// Returns the fields that are set, except name and description.
fn manifest_fields(manifest: &Manifest) -> Vec<(String, String)> {
    let tools: Vec<String> = manifest
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect();
    let tools = tools.join(", ");
    let metadata = Value::Object(manifest.metadata().clone()).to_string();
    let known = [
        ("license", manifest.license()),
        ("compatibility", manifest.compatibility()),
        (
            "allowed-tools",
            Some(&*tools).filter(|tools| !tools.is_empty()),
        ),
        (
            "user-invocable",
            Some("no").filter(|_| !manifest.user_invocable()),
        ),
        (
            "model-invocable",
            Some("no").filter(|_| !manifest.model_invocable()),
        ),
        (
            "metadata",
            Some(&*metadata).filter(|_| !manifest.metadata().is_empty()),
        ),
    ];
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in known {
        fields.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }
    for (name, value) in manifest.extra() {
        // These fields are shown above by their effect.
        if !matches!(name.as_str(), "user-invocable" | "disable-model-invocation") {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            fields.push((name.clone(), text));
        }
    }
    fields
}
