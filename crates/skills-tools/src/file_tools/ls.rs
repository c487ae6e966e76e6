//! `skills_ls`: what a directory holds, and which skills there are.

mod catalogue;

use std::ffi::{OsStr, OsString};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FileTools, Place, Target};
use crate::definition::{Annotations, Definition};
use crate::files::failure;
use crate::files::list::{self, Dotted, Ground, Item, Kind, Page};
use crate::path::VirtualPath;
use crate::schema;
use crate::{Code, Outcome, ToolError};

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1000;
const MAX_DEPTH: usize = 8;

/// The arguments of `skills_ls`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LsArguments {
    path: String,
    recursive: bool,
    depth: Option<usize>,
    cursor: Option<String>,
    limit: Option<usize>,
    show_hidden: bool,
}

pub(crate) fn definition() -> Definition {
    Definition {
        name: "skills_ls".to_owned(),
        title: "List files".to_owned(),
        description: "Lists a directory of the workspace, of a skill or of a mount. `skills` lists the skills. Long lists come in pages: \
                      pass the `next_cursor` of one as the `cursor` of the next."
            .to_owned(),
        input_schema: schema::input(
            json!({
                "path": path(),
                "recursive": {"type": "boolean", "default": false, "description": "Whether to list what is below as well."},
                "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH, "default": MAX_DEPTH,
                          "description": "How deep, when recursive."},
                "cursor": {"type": "string", "maxLength": 8192, "description": "The `next_cursor` of the page before."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT,
                          "description": "Entries on a page."},
                "show_hidden": {"type": "boolean", "default": false, "description": "Whether to list names that begin with a dot."},
            }),
            &[],
        ),
        output_schema: schema::output(
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
                "truncated": {"type": "boolean", "description": "Whether something is on no page."},
            }),
            &["path", "entries", "total", "next_cursor", "truncated"],
        ),
        annotations: Annotations::LOOKS,
    }
}

fn path() -> Value {
    let mut path = schema::path("The directory; nothing for the workspace.");
    path["default"] = json!("");
    path
}

impl FileTools {
    /// Lists a directory, or the skills.
    pub(crate) fn ls(&self, arguments: &LsArguments) -> Result<Outcome, ToolError> {
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
        let depth = arguments.depth.unwrap_or(MAX_DEPTH);
        if !(1..=MAX_LIMIT).contains(&limit) || !(1..=MAX_DEPTH).contains(&depth) {
            return Err(ToolError::new(
                Code::InvalidArguments,
                "`limit` is from 1 to 1000 and `depth` from 1 to 8",
            ));
        }
        match self.locate(&VirtualPath::parse(&arguments.path)?)? {
            Target::Catalogue => self.catalogue(arguments.cursor.as_deref(), limit),
            Target::Place(place) => self.list(&place, arguments, depth, limit),
        }
    }

    fn list(
        &self,
        place: &Place,
        arguments: &LsArguments,
        depth: usize,
        limit: usize,
    ) -> Result<Outcome, ToolError> {
        let shown = place.shown.as_str();
        let (directory, real) = self.directory(place).map_err(|error| match error.code {
            Code::NotADirectory => error.hint("read a file with skills_read"),
            Code::NotFound => error.hint("list the directory above it with skills_ls"),
            _ => error,
        })?;
        let base = place.base();
        let hidden = self.hidden().below(&base);
        let ground = Ground {
            top: &place.top,
            base,
            hidden,
            at: real.iter().collect(),
            directory: &directory,
        };
        let after = arguments.cursor.as_deref().map(read_cursor).transpose()?;
        let dotted = if arguments.show_hidden {
            Dotted::Listed
        } else {
            Dotted::Hidden
        };
        let page = if arguments.recursive {
            list::below(&ground, dotted, depth, after.as_deref(), limit, self.bounds)
        } else {
            let after = after
                .as_ref()
                .and_then(|names| names.first())
                .map(OsString::as_os_str);
            let page = list::one(&ground, dotted, after, limit, self.bounds)
                .map_err(|error| failure(&error, shown))?;
            page.ok_or_else(|| {
                let message = format!(
                    "'{shown}' has more than {} entries",
                    self.bounds.max_entries
                );
                ToolError::new(Code::TooLarge, message)
                    .at(shown)
                    .hint("find what you look for with skills_bash")
            })?
        };
        Ok(outcome(shown, &page))
    }
}

fn outcome(shown: &str, page: &Page) -> Outcome {
    let next = page
        .items
        .last()
        .filter(|_| page.has_more)
        .map(|item| write_cursor(&item.names));
    let mut text = if page.total == 0 && !page.is_cut {
        format!("Directory '{shown}' is empty")
    } else {
        format!("Contents of '{shown}' ({} items):", page.total)
    };
    for item in &page.items {
        text.push_str(&line(item));
    }
    if let Some(cursor) = &next {
        text.push_str(&format!("\n... more: pass cursor \"{cursor}\""));
    }
    if page.is_cut {
        text.push_str("\n... not all of it was looked at: list a directory below");
    }
    let entries: Vec<Value> = page.items.iter().map(|item| entry(shown, item)).collect();
    let data = json!({"path": shown, "entries": entries, "total": page.total, "next_cursor": next, "truncated": page.is_cut});
    Outcome::new(text, data)
}

fn line(item: &Item) -> String {
    let name = item.readable().0.join("/");
    match item.kind {
        Kind::Directory => format!("\n  {name}/"),
        Kind::File => format!("\n  {name}  ({} bytes)", item.bytes),
        Kind::Symlink => format!("\n  {name}  (a link that leads nowhere here)"),
        Kind::Special => format!("\n  {name}  (no regular file)"),
    }
}

fn entry(shown: &str, item: &Item) -> Value {
    let (names, is_readable) = item.readable();
    let mut entry = json!({
        "name": names.last(),
        "path": format!("{shown}/{}", names.join("/")),
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

/// The names of the last entry, as bytes: no name has a slash in it, and not every name is text.
fn write_cursor(names: &[OsString]) -> String {
    let bytes: Vec<&[u8]> = names.iter().map(|name| name.as_encoded_bytes()).collect();
    URL_SAFE_NO_PAD.encode(bytes.join(&b'/'))
}

fn read_cursor(cursor: &str) -> Result<Vec<OsString>, ToolError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad_cursor())?;
    bytes
        .split(|byte| *byte == b'/')
        .map(|name| os_name(name).ok_or_else(bad_cursor))
        .collect()
}

fn bad_cursor() -> ToolError {
    ToolError::new(
        Code::InvalidArguments,
        "`cursor` is none that skills_ls gave",
    )
    .hint("call skills_ls without one")
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
