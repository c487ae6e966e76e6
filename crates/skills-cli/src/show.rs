//! `skills show NAME`: prints a skill's manifest, files and instructions.

use std::fmt::Write;

use serde_json::{Value, json};
use skills_runtime::{Entry, LoadedSkill, Manifest, SkillRuntime};

use crate::arguments::Show;
use crate::exit::Exit;
use crate::input;
use crate::list::warnings_to_json;
use crate::lookup;
use crate::output::{Output, line};

pub(crate) fn show(
    runtime: &SkillRuntime,
    arguments: &Show,
    output: &Output,
) -> anyhow::Result<Exit> {
    let name = input::resolve_skill_name(&arguments.name);
    let skill = runtime
        .get_skill(&name)
        .map_err(|error| lookup::explain_error(runtime, &name, error))?;
    let catalog = runtime.library().catalog();
    let entry = catalog
        .entries()
        .iter()
        .find(|entry| entry.directory() == skill.directory);
    if output.is_json() {
        output.print_json(&to_json(&skill, entry))?;
        return Ok(Exit::Success);
    }
    output.text(&render_text(&skill)?)?;
    for warning in entry.map(Entry::warnings).unwrap_or_default() {
        output.status(&format!("warning: {warning}"));
    }
    Ok(Exit::Success)
}

fn to_json(skill: &LoadedSkill, entry: Option<&Entry>) -> Value {
    let manifest = &skill.manifest;
    let resources: Vec<Value> = skill
        .resources
        .resources
        .iter()
        .map(|file| json!({"path": file.path, "bytes": file.bytes}))
        .collect();
    let headings: Vec<Value> = skill
        .outline
        .headings()
        .iter()
        .map(|heading| json!({"level": heading.level, "text": heading.text, "line": heading.line, "last_line": heading.last_line}))
        .collect();
    let links: Vec<Value> = skill
        .outline
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
        "metadata": manifest.metadata(),
        "extra": manifest.extra(),
        "resources": resources,
        "resources_truncated": skill.resources.truncated,
        "headings": headings,
        "links": links,
        "warnings": entry.map(warnings_to_json).unwrap_or_default(),
        "instructions": skill.instructions,
    })
}

fn render_text(skill: &LoadedSkill) -> Result<String, std::fmt::Error> {
    let manifest = &skill.manifest;
    let mut text = String::new();
    let description = manifest
        .description()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    writeln!(text, "{}\n  {}\n", line(&skill.id), line(&description))?;
    writeln!(
        text,
        "directory       {}",
        line(&skill.directory.to_string_lossy())
    )?;
    writeln!(text, "scope           {}", skill.location)?;
    for (name, value) in manifest_fields(manifest) {
        writeln!(text, "{:<15} {}", line(&name), line(&value))?;
    }
    for file in &skill.resources.resources {
        writeln!(
            text,
            "file            {} ({} bytes)",
            line(&file.path),
            file.bytes
        )?;
    }
    if skill.resources.truncated {
        writeln!(text, "                … and more")?;
    }
    writeln!(text, "\n{}", skill.instructions.trim_matches('\n'))?;
    Ok(text)
}

/// Returns the fields that are set, except name and description.
fn manifest_fields(manifest: &Manifest) -> Vec<(String, String)> {
    let tools = manifest
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let set = |text: Option<&str>| text.map(str::to_owned);
    let known = [
        ("license", set(manifest.license())),
        ("compatibility", set(manifest.compatibility())),
        (
            "allowed-tools",
            Some(tools).filter(|tools| !tools.is_empty()),
        ),
        (
            "user-invocable",
            Some("no".to_owned()).filter(|_| !manifest.user_invocable()),
        ),
        (
            "model-invocable",
            Some("no".to_owned()).filter(|_| !manifest.model_invocable()),
        ),
        (
            "metadata",
            Some(Value::Object(manifest.metadata().clone()).to_string())
                .filter(|_| !manifest.metadata().is_empty()),
        ),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    // These fields are shown above by their effect.
    let is_shown = |name: &str| matches!(name, "user-invocable" | "disable-model-invocation");
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let extra = manifest
        .extra()
        .iter()
        .filter(|(name, _)| !is_shown(name))
        .map(|(name, value)| (name.clone(), text(value)));
    known.chain(extra).collect()
}
