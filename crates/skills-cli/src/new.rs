//! `skills new NAME`: creates a skill from a template.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use serde_json::json;
use skills_build::Language;

use crate::arguments::New;
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// Instructions of the template for its program.
const PROGRAM_USAGE: &str = "Run the skill with `{\"text\": \"…\"}`. It counts the words of [references/words.txt](references/words.txt)
   and prints `{\"counts\": {\"please\": 1, …}}`.";

/// Creates a skill directory with a `SKILL.md` that every client accepts.
pub(crate) fn new(arguments: &New, output: &Output) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    let text = render_template(name, arguments.description.as_deref(), arguments.lang);
    // Validated before anything is created, by the strictest reader: every client then accepts it.
    if let Some(error) = skills_ref_compat::validate(text.as_bytes(), name).first() {
        let nearest = suggest_name(name);
        let error = InputError::new(error.message());
        return Err(anyhow!(if nearest.is_empty() {
            error
        } else {
            error.with_help(format!("did you mean `{nearest}`?"))
        }));
    }
    let directory = arguments.directory.join(name);
    create_skill_dir(&directory, &text)?;
    for file in arguments
        .lang
        .map(skills_build::template)
        .unwrap_or_default()
    {
        add_file(&directory.join(file.path), file.text)?;
    }
    if output.is_json() {
        output.print_json(
            &json!({"name": name, "directory": directory.to_string_lossy(), "path": directory.join("SKILL.md").to_string_lossy()}),
        )?;
    } else {
        output.text(&format!("{}\n", directory.join("SKILL.md").display()))?;
        let then = if arguments.lang.is_some() {
            "build"
        } else {
            "validate"
        };
        output.status(&format!(
            "next: describe in `description` what it does and when to use it, then run `skills {then} {}`",
            directory.display()
        ));
    }
    Ok(Exit::Success)
}

fn create_skill_dir(directory: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot create `{}`", directory.display());
    // Fails if the directory exists, so that no skill is overwritten.
    if let Err(error) = std::fs::create_dir(directory) {
        return match error.kind() {
            std::io::ErrorKind::AlreadyExists => Err(anyhow!(InputError::new(format!(
                "`{}` already exists",
                directory.display()
            )))),
            std::io::ErrorKind::NotFound => {
                let parent = directory.parent().unwrap_or(directory);
                Err(anyhow!(InputError::new(format!(
                    "directory `{}` not found",
                    parent.display()
                ))))
            }
            _ => Err(error).with_context(failed),
        };
    }
    let mut file = File::create_new(directory.join("SKILL.md")).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)
}

/// Adds a file to a new skill.
fn add_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot create `{}`", path.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(failed)?;
    }
    File::create_new(path)
        .with_context(failed)?
        .write_all(text.as_bytes())
        .with_context(failed)
}

fn render_template(name: &str, description: Option<&str>, language: Option<Language>) -> String {
    let description =
        description.unwrap_or("Does one kind of task. Use when the user asks for it.");
    // Quoted, so that colons and number signs are not YAML syntax.
    let description = description
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('\'', "''");
    let title = name.replace('-', " ");
    // `true` and `123` are not strings in YAML unless they are quoted.
    let is_text = name.chars().any(char::is_alphabetic)
        && !matches!(
            name,
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    let looks_like_number = name.starts_with(|c: char| c.is_ascii_digit());
    let name = if is_text && !looks_like_number {
        name.to_owned()
    } else {
        format!("'{name}'")
    };
    let first = language.map_or("Say what to do first.", |_| PROGRAM_USAGE);
    format!(
        "---\nname: {name}\ndescription: '{description}'\n---\n\n# {title}\n\n## Steps\n\n1. {first}\n2. Say how to check the result.\n"
    )
}

/// Returns the closest name that the specification allows.
fn suggest_name(name: &str) -> String {
    let plain = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect::<String>();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    words
        .join("-")
        .chars()
        .take(64)
        .collect::<String>()
        .trim_end_matches('-')
        .to_owned()
}
