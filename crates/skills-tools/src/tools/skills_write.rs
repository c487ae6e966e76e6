//! `skills_write`: writes a file.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::manifest::Document;

use super::skills_create;
use crate::files::write::{self, WriteMode, WriteRequest, WriteResult};
use crate::mount::Access;
use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_files::{ResolvedPath, VirtualFiles};
use crate::virtual_path::{VirtualPath, program_path};
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};
use skills_runtime::policy::fold_name;
use skills_threads::lock;

/// Maximum size of one write: 1 MiB.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    mode: ModeArgument,
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
enum ModeArgument {
    #[default]
    Overwrite,
    Create,
    Append,
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_write",
    groups: &[ToolGroup::Core, ToolGroup::Workspace],
    title: "Write a file",
    description: "Write a file of the workspace, creating directories; at most 1 MiB. Skills are read-only, except drafts.",
    annotations: Annotations::DESTRUCTIVE,
    input_schema: || {
        schema::input_schema(
            json!({
                "path": schema::path_schema(),
                "content": {"type": "string"},
                "encoding": {"enum": ["utf-8", "base64"], "default": "utf-8", "description": "Encoding of `content`."},
                "mode": {"enum": ["overwrite", "create", "append"], "default": "overwrite", "description": "`create` fails if the file exists."},
                "if_match": {"type": "string", "pattern": "^[0-9a-fA-F]{64}$", "description": "SHA-256 that the file must have."},
                "executable": {"type": "boolean"},
            }),
            &["path", "content"],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "path": {"type": "string"},
                "bytes_written": {"type": "integer"},
                "sha256": {"type": ["string", "null"], "description": "Digest of the whole file; null if it is larger than 16 MiB."},
                "created": {"type": "boolean"},
            }),
            &["path", "bytes_written", "sha256", "created"],
        )
    },
    lists_skills: false,
    guide: &[(GuideStep::KeepResults, "`skills_write`")],
    hooks: Some(HookView {
        fields: |arguments| {
            let path = program_path(text_argument(arguments, "path"));
            vec![("file_path", json!(path))]
        },
        ..HookView::new("Write")
    }),
    call: Call::Files(call),
};

/// Writes a file.
pub(super) fn call(
    FileCall { files, .. }: FileCall<'_>,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let arguments: WriteArguments = parse_arguments(arguments)?;
    let content = decode_content(&arguments)?;
    let resolved = files.resolve(&VirtualPath::parse(&arguments.path)?)?;
    check_target(&resolved, alternative(files))?;
    files.check_writable(&resolved)?;
    // From the comparison with `if_match` to the rename, no other call may change the file.
    let _write_guard = lock(&files.write_lock);
    let bytes = content.len() as u64;
    resolved
        .quota
        .reserve(bytes)
        .map_err(|remaining| quota_error(&resolved, remaining))?;
    let written = write_content(&resolved, &content, &arguments)
        .inspect_err(|_| resolved.quota.release(bytes))?;
    // A changed `SKILL.md` must be visible to the next call, even before a watcher reports it.
    if resolved.skill.is_some() || files.may_overlap_skills() {
        files.rescan_after_write();
    }
    let data = json!({"path": resolved.display, "bytes_written": bytes, "sha256": written.sha256, "created": written.is_new});
    let mut output = ToolOutput::new(
        format!("Successfully wrote {bytes} bytes to '{}'", resolved.display),
        data,
    );
    output.files = vec![resolved.display];
    Ok(output)
}

/// Returns what to do instead of writing to a read-only skill. Names only tools that are listed.
fn alternative(files: &VirtualFiles) -> Option<&'static str> {
    match (
        skills_create::is_available(files),
        files.mounts.workspace().is_some(),
    ) {
        (true, true) => Some("create a skill with skills_create, or write to the workspace"),
        (true, false) => Some("create a skill with skills_create"),
        (false, true) => Some("write to the workspace instead"),
        (false, false) => None,
    }
}

fn decode_content(arguments: &WriteArguments) -> Result<Cow<'_, [u8]>, ToolError> {
    let content = match arguments.encoding {
        Encoding::Utf8 => Cow::Borrowed(arguments.content.as_bytes()),
        Encoding::Base64 => {
            let decoded = STANDARD.decode(&arguments.content);
            Cow::Owned(decoded.map_err(|_| {
                ToolErrorCode::InvalidArguments
                    .error("invalid `content`: expected base64 with padding")
            })?)
        }
    };
    // Checked after decoding: base64 is a third longer than its content.
    if content.len() > MAX_BYTES {
        let message = format!("`content` is {} bytes, limit 1048576", content.len());
        return Err(ToolErrorCode::TooLarge
            .error(message)
            .with_hint("write the first part, then the rest with mode `append`"));
    }
    Ok(content)
}

/// `alternative` is what to do instead of writing to a read-only skill.
fn check_target(
    resolved: &ResolvedPath,
    alternative: Option<&'static str>,
) -> Result<(), ToolError> {
    let reject = |code: ToolErrorCode, message: String, hint: &str| {
        Err(code.error_at(&resolved.display, message).with_hint(hint))
    };
    let display_path = &resolved.display;
    match (resolved.access, &resolved.skill) {
        (Access::ReadWrite, _) => {}
        (Access::ReadOnly, None) => {
            return reject(
                ToolErrorCode::ReadOnly,
                format!("'{display_path}' is read-only"),
                "write to the workspace instead",
            );
        }
        (Access::ReadOnly, Some(skill)) => {
            let kind = if skill.entry.has_directory() {
                "a read-only skill"
            } else {
                "a skill without a directory, which is read-only"
            };
            let message = format!("'{display_path}' is part of {kind}");
            let error = ToolErrorCode::ReadOnly.error_at(display_path, message);
            return Err(alternative.into_iter().fold(error, ToolError::with_hint));
        }
    }
    if resolved.parts.is_empty() {
        return reject(
            ToolErrorCode::IsADirectory,
            format!("'{display_path}' is a directory"),
            "pass the path of a file in it",
        );
    }
    // Otherwise a `skill.md` next to `SKILL.md` would be another skill for readers that ignore
    // case.
    if let Some(name) = find_case_variant(resolved) {
        return reject(
            ToolErrorCode::PermissionDenied,
            format!("cannot write '{display_path}': it would be confused with `{name}`"),
            &format!("write to `{name}`"),
        );
    }
    Ok(())
}

/// On case-insensitive file systems, both spellings are one file.
fn find_case_variant(resolved: &ResolvedPath) -> Option<&str> {
    let file_name = resolved.skill.as_ref()?.file_name.as_str();
    // Only at the top of the skill, where `SKILL.md` is.
    let [name] = resolved.parts.as_slice() else {
        return None;
    };
    (name != file_name && fold_name(name) == fold_name(file_name)).then_some(file_name)
}

fn quota_error(resolved: &ResolvedPath, remaining: u64) -> ToolError {
    let message = format!(
        "cannot write: {remaining} bytes left in the write quota of '{}'",
        resolved.base_display()
    );
    ToolErrorCode::TooLarge.error_at(&resolved.display, message)
}

fn write_content(
    resolved: &ResolvedPath,
    content: &[u8],
    arguments: &WriteArguments,
) -> Result<WriteResult, ToolError> {
    let Some((name, parents)) = resolved.parts.split_last() else {
        return Err(ToolErrorCode::IsADirectory.error("cannot write a directory"));
    };
    let parent = match arguments.if_match {
        None => write::create_parent(&resolved.base_dir, parents, &resolved.display)?,
        // With `if_match` the file must exist, so missing directories are not created for it.
        Some(_) => write::open_parent(&resolved.base_dir, parents, &resolved.display)?,
    };
    let mode = match arguments.mode {
        ModeArgument::Overwrite => WriteMode::Overwrite,
        ModeArgument::Create => WriteMode::Create,
        ModeArgument::Append => WriteMode::Append,
    };
    let (if_match, executable) = (arguments.if_match.as_deref(), arguments.executable);
    let request = WriteRequest {
        display_path: &resolved.display,
        content,
        mode,
        if_match,
        executable,
        new_mode: None,
    };
    let is_manifest = resolved
        .skill
        .as_ref()
        .is_some_and(|skill| parents.is_empty() && *name == skill.file_name);
    if !is_manifest {
        return write::write_file(&parent, name, &request);
    }
    // The result as a whole must be valid, so an append to a manifest is checked and written as a
    // replacement.
    let old = if mode == WriteMode::Append {
        write::read_small(&parent, name, &resolved.display)?.unwrap_or_default()
    } else {
        Vec::new()
    };
    let new_content = [old.as_slice(), content].concat();
    check_manifest(resolved, &new_content)?;
    let mode = if mode == WriteMode::Append {
        WriteMode::Overwrite
    } else {
        mode
    };
    write::write_file(
        &parent,
        name,
        &WriteRequest {
            content: &new_content,
            mode,
            ..request
        },
    )
}

/// Ensures that the file remains a valid `SKILL.md` with the same name.
fn check_manifest(resolved: &ResolvedPath, bytes: &[u8]) -> Result<(), ToolError> {
    let invalid =
        |message: String| ToolErrorCode::InvalidArguments.error_at(&resolved.display, message);
    if bytes.len() > MAX_BYTES {
        return Err(
            ToolErrorCode::TooLarge.error_at(&resolved.display, "SKILL.md is larger than 1 MiB")
        );
    }
    let document =
        Document::parse(bytes).map_err(|error| invalid(format!("invalid SKILL.md: {error}")))?;
    let (old, new) = (
        resolved
            .skill
            .as_ref()
            .map(|skill| skill.entry.manifest().name()),
        document.manifest().name(),
    );
    // The name is part of approvals and tool names, which must not move to other content.
    if old != Some(new) {
        return Err(invalid("cannot change `name` of a skill".to_owned()).with_hint("keep `name`"));
    }
    Ok(())
}
