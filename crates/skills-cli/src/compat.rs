//! The three commands of skills-ref, with identical output: `validate --strict`, `read-properties`,
//! `to-prompt`. There are two differences: the message for a missing path, and files over 1 MiB are
//! rejected.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;
use serde_json::json;
use skills_ref_compat::{Properties, StrictError};
use skills_runtime::discovery::SkillFiles;

use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, escape_terminal};

/// A skill given by its directory or its `SKILL.md`.
pub(crate) struct SkillPath {
    directory: PathBuf,
}

impl SkillPath {
    /// Creates it from a command-line argument. A file named `skill.md`, in any case, refers to its
    /// directory.
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

    /// Returns the last component of the path as typed. It is empty for `.`, which the reference
    /// tool reports as a name mismatch.
    fn typed_name(&self) -> String {
        match self.directory.components().next_back() {
            Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
            Some(Component::ParentDir) => "..".to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the name of the resolved directory.
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

    /// Returns the name of the skill file as spelled on disk.
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

    /// Lists the errors that the reference tool reports. The error variant is the single line that
    /// it prints instead.
    pub(crate) fn validate(&self) -> Result<Vec<StrictError>, String> {
        self.check_directory()?;
        let bytes = self.bytes()?.ok_or("Missing required file: SKILL.md")?;
        Ok(skills_ref_compat::validate(&bytes, &self.typed_name()))
    }

    fn properties(&self) -> Result<Properties, String> {
        let bytes = self
            .bytes()?
            .ok_or_else(|| format!("SKILL.md not found in {self}"))?;
        skills_ref_compat::read_properties(&bytes).map_err(|error| error.message().to_owned())
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

/// `skills read-properties PATH`: prints the manifest as JSON.
pub(crate) fn read_properties(path: &Path, output: &Output) -> anyhow::Result<Exit> {
    match SkillPath::from_path(path)?.properties() {
        Ok(properties) => print_plain(&format!("{}\n", properties.to_json()), output)?,
        Err(message) => return print_failure(&message, output),
    }
    Ok(Exit::Success)
}

/// `skills to-prompt PATH…`: prints skills as XML. A skill that cannot be read fails the whole
/// command.
pub(crate) fn to_prompt(paths: &[PathBuf], output: &Output) -> anyhow::Result<Exit> {
    let mut text = String::from("<available_skills>\n");
    for path in paths {
        let target = SkillPath::from_path(path)?;
        // The reference tool prints resolved paths in this command only.
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
                "cannot print the name or description: unpaired surrogate",
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

/// Prints text like the reference tool, without terminal escape sequences. On a terminal, invisible
/// characters are also escaped.
pub(crate) fn print_plain(text: &str, output: &Output) -> anyhow::Result<()> {
    let text = strip_terminal_sequences(text);
    if io::stdout().is_terminal() {
        output.text(&text)
    } else {
        output.bytes(text.as_bytes())
    }
}

/// Prints text like [`print_plain`], to standard error.
pub(crate) fn print_error(text: &str) {
    let text = strip_terminal_sequences(text);
    let text = if io::stderr().is_terminal() {
        escape_terminal(&text)
    } else {
        text
    };
    // A closed standard error is ignored.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Removes terminal escape sequences: escape, bracket, numbers, one letter.
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

/// Normalizes a path like Python's `Path`: without `.`, doubled and trailing separators.
fn normalize_path(path: &Path) -> PathBuf {
    let normalized: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if normalized.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        normalized
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns the path as typed if it exists.
pub(crate) fn check_exists(path: &Path) -> anyhow::Result<PathBuf> {
    if path.exists() {
        Ok(path.to_owned())
    } else {
        Err(anyhow!(InputError::new(format!(
            "`{}` not found",
            path.display()
        ))))
    }
}
