//! `skills_ls`: lists a directory or the skills.

mod skill_list;

use std::ffi::{OsStr, OsString};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::io_error;
use crate::files::list::{self, EntryKind, HiddenFiles, ListRoot, ListedEntry, Page};
use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, HookView, Tool, parse_arguments};
use crate::tool_definition::Annotations;
use crate::virtual_files::{PathTarget, ResolvedPath, VirtualFiles};
use crate::virtual_path::VirtualPath;
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1000;
const MAX_DEPTH: usize = 8;

/// Maximum length of a task, in characters.
const MAX_TASK_CHARS: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LsArguments {
    path: String,
    recursive: bool,
    depth: Option<usize>,
    cursor: Option<String>,
    limit: Option<usize>,
    show_hidden: bool,
    /// Orders the skills by how well they fit it.
    task: Option<String>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_ls",
    groups: &[ToolGroup::Core, ToolGroup::Workspace],
    title: "List files",
    description: "List files: by default of the workspace, with path `/skills/NAME` of a skill; `/skills` lists all skills.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        schema::input_schema(
            json!({
                "path": schema::path_schema(),
                "recursive": {"type": "boolean", "description": "Include subdirectories."},
                "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH, "description": "Levels of a recursive list; default and maximum 8."},
                "cursor": {"type": "string", "maxLength": 8192, "description": "From the end of the previous page."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT, "description": "Entries per page."},
                "show_hidden": {"type": "boolean", "description": "Include names that begin with a dot."},
                "task": {"type": "string", "maxLength": MAX_TASK_CHARS, "description": "With `/skills`: list the skills that fit this task first."},
            }),
            &[],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "path": {"type": "string"},
                "entries": {"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "path": {"type": "string"}, "type": {"enum": ["file", "directory", "symlink", "special"]},
                    "size": {"type": "integer"}, "mtime": {"type": ["integer", "null"], "description": "Seconds since 1970."},
                    "executable": {"type": "boolean"}, "symlink": {"type": "boolean"}, "unreadable_name": {"type": "boolean"},
                    "description": {"type": "string"}, "source": {"type": "string"}, "enabled": {"type": "boolean"},
                    "reason": {"type": "string"}, "draft": {"type": "boolean"}, "warnings": {"type": "array", "items": {"type": "string"}},
                }, "required": ["name"]}},
                "total": {"type": "integer"},
                "next_cursor": {"type": ["string", "null"]},
                "omitted": {"type": "string", "description": "How many skills are not available, and why."},
                "truncated": {"type": "boolean", "description": "Whether the listing is incomplete: some entries are on no page."},
            }),
            &["path", "entries", "total", "next_cursor", "truncated"],
        )
    },
    lists_skills: false,
    guide: &[(GuideStep::Find, "`skills_ls` on `/skills`")],
    hooks: Some(HookView::new("LS")),
    call: Call::Files(call),
};

/// Lists a directory, or the skills.
pub(super) fn call(context: FileCall<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
    let arguments: LsArguments = parse_arguments(arguments)?;
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
    let depth = arguments.depth.unwrap_or(MAX_DEPTH);
    // The schema has the same limits, but calls from Rust need not have been validated.
    if !(1..=MAX_LIMIT).contains(&limit) || !(1..=MAX_DEPTH).contains(&depth) {
        return Err(ToolErrorCode::InvalidArguments
            .error("invalid `limit` or `depth`: expected 1 to 1000 and 1 to 8"));
    }
    match context
        .files
        .locate(&VirtualPath::parse(&arguments.path)?)?
    {
        PathTarget::SkillList => skill_list::list(context, &arguments, limit),
        PathTarget::Path(_) if arguments.task.is_some() => {
            Err(ToolErrorCode::InvalidArguments
                .error("`task` orders skills: expected path `/skills`"))
        }
        PathTarget::Path(resolved) => list_path(context.files, &resolved, &arguments, depth, limit),
    }
}

fn list_path(
    files: &VirtualFiles,
    resolved: &ResolvedPath,
    arguments: &LsArguments,
    depth: usize,
    limit: usize,
) -> Result<ToolOutput, ToolError> {
    let display_path = resolved.display.as_str();
    let (directory, canonical) =
        files
            .open_directory(resolved)
            .map_err(|error| match error.code {
                ToolErrorCode::NotADirectory => error.with_hint("read a file with skills_read"),
                ToolErrorCode::NotFound if error.hint.is_none() => {
                    error.with_hint("list its parent directory with skills_ls")
                }
                _ => error,
            })?;
    let base = resolved.base_path();
    // Only those below this directory, so that each entry is compared with few paths.
    let hidden = files.hidden_dirs().within(&base);
    let list_root = ListRoot {
        root: &resolved.base_dir,
        root_path: base,
        hidden,
        relative_path: canonical.iter().collect(),
        directory: &directory,
    };
    let after = arguments.cursor.as_deref().map(decode_cursor).transpose()?;
    let hidden_files = if arguments.show_hidden {
        HiddenFiles::Include
    } else {
        HiddenFiles::Exclude
    };
    let page = if arguments.recursive {
        list::list_recursive(
            &list_root,
            hidden_files,
            depth,
            after.as_deref(),
            limit,
            files.list_limits,
        )
    } else {
        let after = after
            .as_ref()
            .and_then(|names| names.first())
            .map(OsString::as_os_str);
        let page = list::list_directory(&list_root, hidden_files, after, limit, files.list_limits)
            .map_err(|error| io_error(&error, display_path))?;
        page.ok_or_else(|| too_many_entries(display_path, files.list_limits.max_entries))?
    };
    Ok(page_output(display_path, &page))
}

fn too_many_entries(display_path: &str, limit: usize) -> ToolError {
    let message = format!("cannot list '{display_path}': more than {limit} entries");
    ToolErrorCode::TooLarge
        .error_at(display_path, message)
        .with_hint("search with skills_bash")
}

fn page_output(display_path: &str, page: &Page) -> ToolOutput {
    let next = page
        .items
        .last()
        .filter(|_| page.has_more)
        .map(|item| encode_cursor(&item.names));
    // An empty directory and an incomplete listing must not look the same.
    let mut text = if page.total == 0 && !page.is_truncated {
        format!("Directory '{display_path}' is empty")
    } else {
        format!("Contents of '{display_path}' ({} items):", page.total)
    };
    for item in &page.items {
        text.push_str(&entry_line(item));
    }
    if let Some(cursor) = &next {
        text.push_str(&format!("\n... more: pass cursor \"{cursor}\""));
    }
    if page.is_truncated {
        text.push_str("\n... the listing is incomplete: list a subdirectory");
    }
    let entries: Vec<Value> = page
        .items
        .iter()
        .map(|item| entry_json(display_path, item))
        .collect();
    let data = json!({"path": display_path, "entries": entries, "total": page.total, "next_cursor": next, "truncated": page.is_truncated});
    ToolOutput::new(text, data)
}

fn entry_line(item: &ListedEntry) -> String {
    let name = item.display_names().0.join("/");
    match item.kind {
        EntryKind::Directory => format!("\n  {name}/"),
        EntryKind::File => format!("\n  {name}  ({} bytes)", item.bytes),
        EntryKind::Symlink => format!("\n  {name}  (symlink without an accessible target)"),
        EntryKind::Special => format!("\n  {name}  (special file)"),
    }
}

fn entry_json(display_path: &str, item: &ListedEntry) -> Value {
    let (names, is_readable) = item.display_names();
    let mut entry = json!({
        "name": names.last(),
        "path": format!("{display_path}/{}", names.join("/")),
        "type": item.kind.as_str(),
        "size": item.bytes,
        "mtime": item.modified,
        "executable": item.is_executable,
        "symlink": item.is_symlink,
    });
    if !is_readable {
        entry["unreadable_name"] = json!(true);
    }
    entry
}

/// Encodes the names of the last entry as bytes: names contain no slash and need not be UTF-8.
fn encode_cursor(names: &[OsString]) -> String {
    let bytes: Vec<&[u8]> = names.iter().map(|name| name.as_encoded_bytes()).collect();
    URL_SAFE_NO_PAD.encode(bytes.join(&b'/'))
}

fn decode_cursor(cursor: &str) -> Result<Vec<OsString>, ToolError> {
    let bytes = URL_SAFE_NO_PAD
        // A cursor is client input. It is compared with names only and never used as a path.
        .decode(cursor)
        .map_err(|_| invalid_cursor())?;
    bytes
        .split(|byte| *byte == b'/')
        .map(|name| os_name(name).ok_or_else(invalid_cursor))
        .collect()
}

fn invalid_cursor() -> ToolError {
    ToolErrorCode::InvalidArguments
        .error("invalid `cursor`: expected the `next_cursor` of skills_ls")
        .with_hint("call skills_ls without `cursor`")
}

#[cfg(unix)]
fn os_name(bytes: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(bytes).to_owned())
}

#[cfg(not(unix))]
fn os_name(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes)
        .ok()
        .map(|name| OsStr::new(name).to_owned())
}
