//! The three commands of skills-ref, byte for byte: `validate --strict`, `read-properties`,
//! `to-prompt`. Only what that tool's command line says of a missing path is said otherwise, and a
//! file over 1 MiB is refused.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Component, Path, PathBuf};

use serde_json::json;
use skills_runtime::discovery::SkillFiles;
use skills_runtime::manifest::strict::{self, Properties, StrictError};

use crate::exit::Exit;
use crate::output::{Output, escape_terminal};
use crate::validate::check_exists;

/// A skill that is named by its directory or its `SKILL.md`.
pub(crate) struct SkillPath {
    directory: PathBuf,
}

impl SkillPath {
    /// Takes what was typed; a file called `skill.md`, in whatever case, stands for its directory.
    pub(crate) fn from_path(path: &Path) -> anyhow::Result<Self> {
        let path = normalize_path(&check_exists(path)?);
        let is_skill_file = path.is_file()
            && path
                .file_name()
                .is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
        let directory = if is_skill_file { parent(&path) } else { path };
        Ok(Self { directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The last part of the path as it was typed; `.` has none, which the reference tool holds
    /// against a skill.
    fn typed_name(&self) -> String {
        match self.directory.components().next_back() {
            Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
            Some(Component::ParentDir) => "..".to_owned(),
            _ => String::new(),
        }
    }

    /// The name of the directory, whatever was typed.
    pub(crate) fn directory_name(&self) -> String {
        let resolved = self
            .directory
            .canonicalize()
            .unwrap_or_else(|_| self.directory.clone());
        resolved
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// The name of the skill file as it is spelled.
    pub(crate) fn file_name(&self) -> String {
        SkillFiles::open_directory(&self.directory)
            .map(|files| files.file_name().to_owned())
            .unwrap_or_else(|_| "SKILL.md".to_owned())
    }

    pub(crate) fn check_directory(&self) -> Result<(), String> {
        if self.directory.is_dir() {
            Ok(())
        } else {
            Err(format!("Not a directory: {self}"))
        }
    }

    /// Lists what the reference tool finds wrong; an error is the one line that it prints instead.
    pub(crate) fn validate(&self) -> Result<Vec<StrictError>, String> {
        self.check_directory()?;
        let bytes = self.bytes()?.ok_or("Missing required file: SKILL.md")?;
        Ok(strict::validate(&bytes, &self.typed_name()))
    }

    fn properties(&self) -> Result<Properties, String> {
        let bytes = self
            .bytes()?
            .ok_or_else(|| format!("SKILL.md not found in {self}"))?;
        strict::read_properties(&bytes).map_err(|error| error.message().to_owned())
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, String> {
        let Ok(files) = SkillFiles::open_like_skills_ref(&self.directory) else {
            return Ok(None);
        };
        files
            .read_skill_file()
            .map(Some)
            .map_err(|error| format!("{}: {error}", files.file_name()))
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.directory.display().fmt(f)
    }
}

/// `skills read-properties PATH`.
pub(crate) fn read_properties(path: &Path, output: &Output) -> anyhow::Result<Exit> {
    match SkillPath::from_path(path)?.properties() {
        Ok(properties) => print_plain(&format!("{}\n", properties.to_json()), output)?,
        Err(message) => return print_failure(&message, output),
    }
    Ok(Exit::Success)
}

/// `skills to-prompt PATH…`: one skill that cannot be read fails all.
pub(crate) fn to_prompt(paths: &[PathBuf], output: &Output) -> anyhow::Result<Exit> {
    let mut text = String::from("<available_skills>\n");
    for path in paths {
        let target = SkillPath::from_path(path)?;
        let directory = target.directory.canonicalize()?;
        let properties = match (SkillPath {
            directory: directory.clone(),
        })
        .properties()
        {
            Ok(properties) => properties,
            Err(message) => return print_failure(&message, output),
        };
        let (Some(name), Some(description)) =
            (properties.prompt_name(), properties.prompt_description())
        else {
            return print_failure(
                "name or description hold half a character, which cannot be printed",
                output,
            );
        };
        let file = SkillFiles::open_like_skills_ref(&directory)
            .map(|files| files.file_name().to_owned())
            .unwrap_or_default();
        let location = directory.join(file);
        let (name, description) = (escape_html(name), escape_html(description));
        let location = location.display();
        text.push_str(&format!(
            "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n<location>\n{location}\n</location>\n</skill>\n"
        ));
    }
    text.push_str("</available_skills>\n");
    if output.is_json() {
        output.print_json(&json!({"text": text}))?;
    } else {
        print_plain(&text, output)?;
    }
    Ok(Exit::Success)
}

fn print_failure(message: &str, output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.print_json(&json!({"error": {"code": "skill", "message": message}}))?;
    } else {
        print_error(&format!("Error: {message}\n"));
    }
    Ok(Exit::Failed)
}

/// Escapes text as Python's `html.escape` does.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

/// Prints as the reference tool does: without terminal sequences, and else as it is; on a terminal
/// nothing stays hidden.
pub(crate) fn print_plain(text: &str, output: &Output) -> anyhow::Result<()> {
    let text = strip_terminal_sequences(text);
    if io::stdout().is_terminal() {
        output.text(&text)
    } else {
        output.bytes(text.as_bytes())
    }
}

/// As [`echo`], to standard error.
pub(crate) fn print_error(text: &str) {
    let text = strip_terminal_sequences(text);
    let text = if io::stderr().is_terminal() {
        escape_terminal(&text)
    } else {
        text
    };
    // When standard error is closed nobody is left to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Takes out what terminals act on: escape, bracket, numbers, one letter.
fn strip_terminal_sequences(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| matches!(c, ';' | '?' | '0'..='9'));
        match rest.strip_prefix(|c: char| c.is_ascii_alphabetic()) {
            Some(rest) => out.push_str(rest),
            None => out.extend(["\u{1b}[", part]),
        }
    }
    out
}

/// Writes a path as Python's `Path` does: without `.`, doubled and trailing separators.
fn normalize_path(path: &Path) -> PathBuf {
    let tidy: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if tidy.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        tidy
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
