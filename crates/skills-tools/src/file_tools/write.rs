//! `skills_write`: puts content into a file.

use std::borrow::Cow;
use std::sync::PoisonError;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use skills_runtime::manifest::Document;

use super::{FileTools, Place};
use crate::definition::{Annotations, Definition};
use crate::files::guard;
use crate::files::write::{self, Mode, Writing, Written};
use crate::mount::Access;
use crate::path::VirtualPath;
use crate::schema;
use crate::{Code, Outcome, ToolError};
use skills_runtime::policy::folded;

/// The most that one call writes: 1 MiB.
const MAX_BYTES: usize = 1 << 20;

/// The arguments of `skills_write`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    path: String,
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    mode: WriteMode,
    if_match: Option<String>,
    executable: Option<bool>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WriteMode {
    #[default]
    Overwrite,
    Create,
    Append,
}

pub(crate) fn definition() -> Definition {
    Definition {
        name: "skills_write".to_owned(),
        title: "Write a file".to_owned(),
        description:
            "Writes at most 1 MiB into a file and makes the directories above it. With `overwrite` and `create` the file is the old one or \
                      the new one, never half of it; an `append` that fails may have added a part. Of skills only drafts are written to, \
                      unless the host allows more."
                .to_owned(),
        input_schema: schema::input(
            json!({
                "path": schema::path("The file."),
                "content": {"type": "string", "description": "What is to be in it; of `append`, what is added. At most 1048576 bytes."},
                "encoding": {"enum": ["utf-8", "base64"], "default": "utf-8", "description": "How `content` is written."},
                "mode": {"enum": ["overwrite", "create", "append"], "default": "overwrite",
                         "description": "`create` fails when the file is there."},
                "if_match": {"type": "string", "pattern": "^[0-9a-fA-F]{64}$",
                             "description": "The `sha256` that skills_read gave: fail when the file has changed since."},
                "executable": {"type": "boolean", "description": "Whether the file may be run; unchanged when nothing is said."},
            }),
            &["path", "content"],
        ),
        output_schema: schema::output(
            json!({
                "path": {"type": "string"},
                "bytes_written": {"type": "integer"},
                "sha256": {"type": ["string", "null"], "description": "Of the whole file, unless it is longer than 16 MiB."},
                "created": {"type": "boolean"},
            }),
            &["path", "bytes_written", "sha256", "created"],
        ),
        annotations: Annotations::REPLACES,
    }
}

impl FileTools {
    /// Writes a file.
    pub(crate) fn write(&self, arguments: &WriteArguments) -> Result<Outcome, ToolError> {
        let content = content(arguments)?;
        let place = self.resolve(&VirtualPath::parse(&arguments.path)?)?;
        check_place(&place)?;
        self.is_writable(&place)?;
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = content.len() as u64;
        place
            .quota
            .take(bytes)
            .map_err(|left| over_quota(&place, left))?;
        let written =
            write_to(&place, &content, arguments).inspect_err(|_| place.quota.give_back(bytes))?;
        if place.skill.is_some() || self.reaches_skills() {
            self.looks.anew();
        }
        let data = json!({"path": place.shown, "bytes_written": bytes, "sha256": written.sha256, "created": written.is_new});
        let mut outcome = Outcome::new(
            format!("Successfully wrote {bytes} bytes to '{}'", place.shown),
            data,
        );
        outcome.files = vec![place.shown];
        Ok(outcome)
    }
}

fn content(arguments: &WriteArguments) -> Result<Cow<'_, [u8]>, ToolError> {
    let content = match arguments.encoding {
        Encoding::Utf8 => Cow::Borrowed(arguments.content.as_bytes()),
        Encoding::Base64 => {
            let decoded = STANDARD.decode(&arguments.content);
            Cow::Owned(decoded.map_err(|_| {
                ToolError::new(
                    Code::InvalidArguments,
                    "`content` is no base64 with padding",
                )
            })?)
        }
    };
    if content.len() > MAX_BYTES {
        let message = format!(
            "{} bytes are more than the 1048576 that one call writes",
            content.len()
        );
        return Err(ToolError::new(Code::TooLarge, message)
            .hint("write the first part, then the rest with mode `append`"));
    }
    Ok(content)
}

fn check_place(place: &Place) -> Result<(), ToolError> {
    let refused = |code, message: String, hint: &str| {
        Err(ToolError::new(code, message).at(&place.shown).hint(hint))
    };
    let shown = &place.shown;
    match (place.access, &place.skill) {
        (Access::ReadWrite, _) => {}
        (Access::ReadOnly, None) => {
            return refused(
                Code::ReadOnly,
                format!("'{shown}' may only be read"),
                "write to the workspace instead",
            );
        }
        (Access::ReadOnly, Some(_)) => {
            let hint = "make a skill of your own with skills_create, or write to the workspace";
            return refused(
                Code::ReadOnly,
                format!("'{shown}' is part of a skill that may only be read"),
                hint,
            );
        }
    }
    if place.parts.is_empty() {
        return refused(
            Code::IsADirectory,
            format!("'{shown}' is a directory"),
            "name a file in it",
        );
    }
    if let Some(name) = guard::protected(&place.parts) {
        let hint = "it changes what runs or holds secrets: ask the user to change it";
        return refused(
            Code::PermissionDenied,
            format!("'{shown}' is not written, because of '{name}' in it"),
            hint,
        );
    }
    if let Some(name) = other_spelling(place) {
        return refused(
            Code::PermissionDenied,
            format!("'{shown}' would be taken for '{name}'"),
            &format!("write to '{name}'"),
        );
    }
    Ok(())
}

/// Two spellings of one name are one file on some disks.
fn other_spelling(place: &Place) -> Option<&str> {
    let file_name = place.skill.as_ref()?.file_name.as_str();
    let [name] = place.parts.as_slice() else {
        return None;
    };
    (name != file_name && folded(name) == folded(file_name)).then_some(file_name)
}

fn over_quota(place: &Place, left: u64) -> ToolError {
    let message = format!(
        "only {left} bytes may still be written below '{}'",
        place.shown.split('/').next().unwrap_or_default()
    );
    ToolError::new(Code::TooLarge, message).at(&place.shown)
}

fn write_to(
    place: &Place,
    content: &[u8],
    arguments: &WriteArguments,
) -> Result<Written, ToolError> {
    let Some((name, above)) = place.parts.split_last() else {
        return Err(ToolError::new(Code::IsADirectory, "it is a directory"));
    };
    let parent = match arguments.if_match {
        None => write::parent(&place.top, above, &place.shown)?,
        Some(_) => write::known_parent(&place.top, above, &place.shown)?,
    };
    let mode = match arguments.mode {
        WriteMode::Overwrite => Mode::Overwrite,
        WriteMode::Create => Mode::Create,
        WriteMode::Append => Mode::Append,
    };
    let (if_match, executable) = (arguments.if_match.as_deref(), arguments.executable);
    let writing = Writing {
        shown: &place.shown,
        content,
        mode,
        if_match,
        executable,
    };
    let is_manifest = place
        .skill
        .as_ref()
        .is_some_and(|skill| above.is_empty() && *name == skill.file_name);
    if !is_manifest {
        return write::write(&parent, name, &writing);
    }
    let old = if mode == Mode::Append {
        write::read_small(&parent, name, &place.shown)?.unwrap_or_default()
    } else {
        Vec::new()
    };
    let whole = [old.as_slice(), content].concat();
    check_manifest(place, &whole)?;
    let mode = if mode == Mode::Append {
        Mode::Overwrite
    } else {
        mode
    };
    write::write(
        &parent,
        name,
        &Writing {
            content: &whole,
            mode,
            ..writing
        },
    )
}

/// A skill stays the skill that it was.
fn check_manifest(place: &Place, bytes: &[u8]) -> Result<(), ToolError> {
    let refused =
        |message: String| ToolError::new(Code::InvalidArguments, message).at(&place.shown);
    if bytes.len() > MAX_BYTES {
        return Err(
            ToolError::new(Code::TooLarge, "a SKILL.md has at most 1048576 bytes").at(&place.shown),
        );
    }
    let document = Document::parse(bytes)
        .map_err(|error| refused(format!("that would be no skill any more: {error}")))?;
    let (old, new) = (
        place
            .skill
            .as_ref()
            .map(|skill| skill.entry.manifest().name()),
        document.manifest().name(),
    );
    if old != Some(new) {
        return Err(refused("that would change the skill's name".to_owned())
            .hint("keep `name`; make another skill with skills_create"));
    }
    Ok(())
}
