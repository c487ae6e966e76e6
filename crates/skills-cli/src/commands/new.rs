//! `skills new NAME`: creates a skill from a template.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::build::{language_parser, template_files};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Instructions of the template for its program.
const PROGRAM_USAGE: &str = "Run the skill with `{\"text\": \"…\"}`. It counts the words of [references/words.txt](references/words.txt)
   and prints `{\"counts\": {\"please\": 1, …}}`.";

/// Create a skill from a template
#[derive(Debug, Args)]
pub(crate) struct New {
    /// Skill name: lowercase letters, digits and hyphens
    name: String,

    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Add a program in this language, for `skills build`
    #[arg(long, value_name = "LANGUAGE", value_parser = language_parser())]
    lang: Option<String>,

    /// Parent directory
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

impl New {
    /// Creates a skill directory with a `SKILL.md` that every client accepts.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let name = &self.name;
        let first_step = self
            .lang
            .as_ref()
            .map_or("Say what to do first.", |_| PROGRAM_USAGE);
        let text = render_template(name, self.description.as_deref(), first_step);
        // Validated before anything is created, by the strictest reader: every client then accepts
        // it.
        if let Some(error) = skills_ref_compat::validate(text.as_bytes(), name).first() {
            let nearest = suggest_name(name);
            let error = CommandError::input(error.message());
            anyhow::bail!(if nearest.is_empty() {
                error
            } else {
                error.with_help(format!("did you mean `{nearest}`?"))
            });
        }
        let files = self.lang.as_deref().map(template_files).transpose()?;
        let directory = self.directory.join(name);
        create_skill_dir(&directory)?;
        let mut files = files.unwrap_or_default();
        files.insert(0, ("SKILL.md", &text));
        if let Err(error) = add_files(&directory, &files) {
            // The directory is new, so all that is in it is an incomplete skill.
            let _ = std::fs::remove_dir_all(&directory);
            return Err(error);
        }
        let (output, path) = (context.output, directory.join("SKILL.md"));
        if output.is_json() {
            return output.json(&json!({"name": name, "directory": directory.to_string_lossy(), "path": path.to_string_lossy()}));
        }
        output.lines([path.display().to_string()])?;
        let then = if self.lang.is_some() {
            "build"
        } else {
            "validate"
        };
        output.status(&format!(
            "next: describe in `description` what it does and when to use it, then run `skills {then} {}`",
            directory.display()
        ));
        Ok(Exit::Success)
    }
}

fn create_skill_dir(directory: &Path) -> anyhow::Result<()> {
    let failed = || format!("cannot create `{}`", directory.display());
    // Fails if the directory exists, so that no skill is overwritten.
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("`{}` already exists", directory.display());
            anyhow::bail!(CommandError::input(message));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = directory.parent().unwrap_or(directory);
            let message = format!("directory `{}` not found", parent.display());
            anyhow::bail!(CommandError::input(message));
        }
        created => created.with_context(failed),
    }
}

/// Adds files to a new skill.
fn add_files(directory: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    files
        .iter()
        .try_for_each(|(path, text)| add_file(&directory.join(path), text))
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

fn render_template(name: &str, description: Option<&str>, first_step: &str) -> String {
    let description =
        description.unwrap_or("Does one kind of task. Use when the user asks for it.");
    let description: Vec<&str> = description.split_whitespace().collect();
    // Quoted, so that colons and number signs are not YAML syntax.
    let description = description.join(" ").replace('\'', "''");
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
    format!(
        "---\nname: {name}\ndescription: '{description}'\n---\n\n# {title}\n\n## Steps\n\n1. {first_step}\n2. Say how to check the result.\n"
    )
}

/// Returns the closest name that the specification allows.
fn suggest_name(name: &str) -> String {
    let name = name.to_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(64).collect();
    name.trim_end_matches('-').to_owned()
}
