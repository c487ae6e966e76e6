//! `skills_read`: returns the content of a file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::ledger::{ActivatedBy, Activity};

use crate::files::io_error;
use crate::files::media::{ContentKind, media_type};
use crate::files::open::{self, OpenedFile};
use crate::files::read::FileSource;
use crate::files::text::{SlicePosition, TextEncoding};
use crate::folded_paths::canonicalize_existing;
use crate::kept_outputs::output_number;
use crate::loaded_files::find_in_loaded;
use crate::schema;
use crate::tool::{Call, FileCall, GuideStep, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_files::{ResolvedPath, VirtualFiles};
use crate::virtual_path::{VirtualPath, program_path};
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

/// Number of bytes that a call without a limit reads: some clients cut results of more than 20 KB.
pub(super) const DEFAULT_BYTES: u64 = 16 << 10;
const MAX_BYTES: u64 = 4 << 20;
const DEFAULT_LINES: u64 = 2_000;
const MAX_LINES: u64 = 100_000;
/// The smallest part that the bound of a client leads to, in bytes.
const MIN_PART_BYTES: u64 = 1 << 10;
/// Number of bytes of the line after a part that says how to read the next one.
const NOTE_BYTES: u64 = 150;
/// The longest character, so that every call makes progress.
const MAX_CHARACTER_BYTES: u64 = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    #[serde(default)]
    unit: Unit,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Bytes,
    Lines,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// The part of a file that a call returns.
struct ReadPart {
    content: String,
    encoding: &'static str,
    offset: u64,
    next_offset: Option<u64>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_read",
    groups: &[ToolGroup::Core, ToolGroup::Workspace],
    title: "Read a file",
    description: "Read a file: `PATH` or `/workspace/PATH` in the workspace, `/skills/NAME/PATH` in a skill. A long file is read in parts.",
    annotations: Annotations::READ_ONLY,
    input_schema: || {
        schema::input_schema(
            json!({
                "path": schema::path_schema(),
                "offset": {"type": "integer", "minimum": 0, "description": "Where to start, in `unit`s; named at the end of each part."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_BYTES, "description": "Size of the part, in `unit`s; default 16 KiB."},
                "unit": {"enum": ["bytes", "lines"], "default": "bytes"},
                "encoding": {"enum": ["auto", "utf-8", "base64"], "default": "auto", "description": "`base64` for binary files."},
            }),
            &["path"],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "path": {"type": "string"},
                "content": {"type": "string"},
                "encoding": {"enum": ["utf-8", "utf-16le", "utf-16be", "base64"]},
                "mime_type": {"type": "string"},
                "size": {"type": "integer"},
                "sha256": {"type": ["string", "null"], "description": "Digest of the whole file; null if it is larger than 16 MiB."},
                "offset": {"type": "integer"},
                "next_offset": {"type": ["integer", "null"]},
                "truncated": {"type": "boolean"},
            }),
            &[
                "path",
                "content",
                "encoding",
                "mime_type",
                "size",
                "sha256",
                "offset",
                "next_offset",
                "truncated",
            ],
        )
    },
    lists_skills: false,
    guide: &[
        (
            GuideStep::ReadInstructions,
            "`skills_read` on `/skills/NAME`",
        ),
        (GuideStep::ReadFiles, "`skills_read` on `/skills/NAME/PATH`"),
    ],
    hooks: Some(HookView {
        fields: |arguments| {
            let path = program_path(text_argument(arguments, "path"));
            vec![("file_path", json!(path))]
        },
        ..HookView::new("Read")
    }),
    call: Call::Files(call),
};

/// Reads a file or a part of it.
pub(super) fn call(context: FileCall<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
    let arguments: ReadArguments = parse_arguments(arguments)?;
    let limit = effective_limit(&arguments)?;
    let room = room(context.max_text_bytes);
    if let Some(number) = output_number(&arguments.path) {
        let mut source = output_of_program(context, number)?;
        let shown = ShownFile {
            display: &arguments.path,
            name: "output.txt",
        };
        return read(&mut source, &arguments, limit, room, shown);
    }
    let path = VirtualPath::parse(&arguments.path)?;
    let found = |error| hint_loaded(context, &arguments.path, error);
    let mut resolved = context.files.resolve(&path).map_err(found)?;
    // `skills/NAME` means its `SKILL.md`, under the name that the directory has for it.
    if let (Some(skill), true) = (&resolved.skill, resolved.parts.is_empty()) {
        resolved.parts.push(skill.file_name.clone());
        resolved.display = format!("{}/{}", resolved.display, skill.file_name);
    }
    let mut source = open_source(context.files, &resolved).map_err(found)?;
    let shown = ShownFile {
        display: &resolved.display,
        name: file_name(&resolved),
    };
    let output = read(&mut source, &arguments, limit, room, shown)?;
    if arguments.offset == 0 {
        record_read(context, &resolved);
    }
    Ok(output)
}

/// How results name what is read.
#[derive(Clone, Copy)]
struct ShownFile<'a> {
    /// The virtual path.
    display: &'a str,
    /// The name of the file, from which its type is guessed.
    name: &'a str,
}

/// Returns the output of an earlier call of the session, of which its client was shown a part.
fn output_of_program(context: FileCall<'_>, number: u64) -> Result<FileSource, ToolError> {
    let session = context.session;
    let outputs = context.outputs;
    let kept = outputs.and_then(|outputs| outputs.get(session?, number));
    let Some(kept) = kept else {
        let message = "output of a program is not available: that of the last 4 long ones is";
        return Err(ToolErrorCode::NotFound
            .error(message)
            .with_hint("run the program again"));
    };
    Ok(FileSource::InMemory(kept.as_bytes().to_vec()))
}

/// Reads a part, as the arguments say.
fn read(
    source: &mut FileSource,
    arguments: &ReadArguments,
    limit: u64,
    room: u64,
    shown: ShownFile<'_>,
) -> Result<ToolOutput, ToolError> {
    let part = match (arguments.encoding, arguments.unit) {
        (Encoding::Base64, Unit::Bytes) => {
            // Four characters for three bytes.
            let limit = limit.min(room / 4 * 3);
            read_base64(source, arguments.offset, limit, shown)?
        }
        (Encoding::Base64, Unit::Lines) => {
            return Err(ToolErrorCode::InvalidArguments
                .error("cannot read lines with encoding `base64`")
                .with_hint("use unit `bytes`"));
        }
        (_, Unit::Bytes) => read_bytes(source, arguments.offset, limit, room, shown)?
            .ok_or_else(|| binary_file_error(shown, source))?,
        (_, Unit::Lines) => read_lines(source, arguments.offset, limit, room, shown)?
            .ok_or_else(|| binary_file_error(shown, source))?,
    };
    let data = json!({
        "path": shown.display,
        "content": part.content,
        "encoding": part.encoding,
        "mime_type": media_type(shown.name, content_kind(part.encoding)),
        "size": source.size(),
        "sha256": source.sha256(),
        "offset": part.offset,
        "next_offset": part.next_offset,
        "truncated": part.next_offset.is_some(),
    });
    let text = match part.next_offset {
        Some(next) => format!(
            "{}\n{}",
            part.content,
            continuation_note(next, arguments.unit, source.size())
        ),
        None => part.content,
    };
    Ok(ToolOutput::new(text, data))
}

/// Adds to the error of a file that the workspace does not have which loaded skill has it.
/// Instructions name files by paths in their skill. Only a hint: a file of a skill in the place of one
/// of the workspace would have an authority that it was not given.
fn hint_loaded(context: FileCall<'_>, path: &str, error: ToolError) -> ToolError {
    let is_missing = matches!(
        error.code,
        ToolErrorCode::NotFound | ToolErrorCode::PathOutsideMounts
    );
    if !is_missing || path.starts_with('/') {
        return error;
    }
    match find_in_loaded(context.files, context.loaded, path) {
        Some(found) => error.with_hint(format!("did you mean `{found}`?")),
        None => error,
    }
}

/// Records that a file of a skill was read. To read its `SKILL.md` is to activate it.
fn record_read(FileCall { files, session, .. }: FileCall<'_>, resolved: &ResolvedPath) {
    let Some(skill) = &resolved.skill else {
        return;
    };
    let library = files.runtime.library();
    if !library.usage().is_enabled() {
        return;
    }
    let catalog = library.catalog();
    let is_same = |entry: &Entry| entry.directory() == skill.entry.directory();
    // Drafts are not used as skills.
    if !catalog.entries().iter().any(is_same) {
        return;
    }
    let activity = if resolved.parts == [skill.file_name.as_str()] {
        Activity::Activated(ActivatedBy::Implicit)
    } else {
        Activity::ReferenceRead
    };
    library.usage().record([&skill.entry], activity, session);
}

fn open_source(files: &VirtualFiles, resolved: &ResolvedPath) -> Result<FileSource, ToolError> {
    if let Some(bytes) = read_linked_manifest(resolved) {
        // This path leaves the skill by design, so its target must still not be hidden.
        files.check_visible(resolved, &canonicalize_existing(&resolved.host_path))?;
        return Ok(FileSource::InMemory(bytes));
    }
    let to_tool_error = |error| io_error(&error, &resolved.display);
    let reject =
        |code: ToolErrorCode, message: String| Err(code.error_at(&resolved.display, message));
    match open::open_file(&resolved.base_dir, &files.canonicalize(resolved)?)
        .map_err(to_tool_error)?
    {
        OpenedFile::File(file, metadata) => {
            FileSource::from_file(file, metadata.len()).map_err(to_tool_error)
        }
        OpenedFile::Directory => Err(ToolErrorCode::IsADirectory.error_at(
            &resolved.display,
            format!(
                "'{}' is a directory, use skills_ls() instead",
                resolved.display
            ),
        )),
        OpenedFile::Special => reject(
            ToolErrorCode::PermissionDenied,
            format!("cannot read '{}': not a regular file", resolved.display),
        ),
    }
}

/// Returns the line after a part that says how to read the next one.
fn continuation_note(next: u64, unit: Unit, size: u64) -> String {
    let unit = match unit {
        Unit::Bytes => String::new(),
        Unit::Lines => " and unit `lines`".to_owned(),
    };
    format!("[The file has {size} bytes. Continue with offset {next}{unit}.]")
}

/// Reads a `SKILL.md` that is a symlink out of its skill, which a root may allow. No other symlink
/// may leave the skill.
fn read_linked_manifest(resolved: &ResolvedPath) -> Option<Vec<u8>> {
    let skill = resolved.skill.as_ref()?;
    // Only the manifest itself: no other file of the skill may be a symlink to the outside.
    let [name] = resolved.parts.as_slice() else {
        return None;
    };
    let is_link =
        *name == skill.file_name && resolved.base_dir.symlink_metadata(name).ok()?.is_symlink();
    if is_link {
        skill.entry.open().ok()?.read_skill_file().ok()
    } else {
        None
    }
}

fn effective_limit(arguments: &ReadArguments) -> Result<u64, ToolError> {
    let (default, max) = match arguments.unit {
        Unit::Bytes => (DEFAULT_BYTES, MAX_BYTES),
        Unit::Lines => (DEFAULT_LINES, MAX_LINES),
    };
    let limit = arguments.limit.unwrap_or(default);
    // The schema cannot express that the maximum depends on the unit.
    if !(1..=max).contains(&limit) {
        return Err(
            ToolErrorCode::InvalidArguments.error(format!("invalid `limit`: expected 1 to {max}"))
        );
    }
    Ok(limit)
}

/// Returns how many bytes of content a part can have so that the client shows all of it.
fn room(max_text_bytes: Option<usize>) -> u64 {
    let room = max_text_bytes.map(|max| (max as u64).saturating_sub(NOTE_BYTES));
    room.unwrap_or(u64::MAX).max(MIN_PART_BYTES)
}

fn read_base64(
    source: &mut FileSource,
    offset: u64,
    limit: u64,
    shown: ShownFile<'_>,
) -> Result<ReadPart, ToolError> {
    let size = source.size();
    let bytes = source
        .read_at(offset, limit)
        .map_err(|error| io_error(&error, shown.display))?;
    let end = offset.saturating_add(bytes.len() as u64);
    // No next offset at the end, or if the file shrank, so that callers stop.
    let next = (end < size && !bytes.is_empty()).then_some(end);
    Ok(ReadPart {
        content: STANDARD.encode(&bytes),
        encoding: "base64",
        offset,
        next_offset: next,
    })
}

/// Returns `None` if the content is not text.
fn read_bytes(
    source: &mut FileSource,
    offset: u64,
    limit: u64,
    room: u64,
    shown: ShownFile<'_>,
) -> Result<Option<ReadPart>, ToolError> {
    let to_tool_error = |error| io_error(&error, shown.display);
    let size = source.size();
    // The byte order mark is at the start of the file, wherever the requested part is.
    let (encoding, bom_len) = TextEncoding::detect(&source.read_at(0, 3).map_err(to_tool_error)?);
    let start = offset.max(bom_len as u64);
    // UTF-16 code units begin at even offsets.
    let start = if encoding == TextEncoding::Utf8 {
        start
    } else {
        start.saturating_add(start % 2)
    };
    // Two bytes of UTF-16 are up to three in the text.
    let limit = match encoding {
        TextEncoding::Utf8 => limit.min(room),
        _ => limit.min(room / 3 * 2),
    };
    let slice = source
        // A smaller limit could end inside a character, and the next call would start at the same
        // offset.
        .read_at(start, limit.max(MAX_CHARACTER_BYTES))
        .map_err(to_tool_error)?;
    let end = start.saturating_add(slice.len() as u64);
    let position = SlicePosition {
        is_first: start == bom_len as u64,
        is_last: end >= size,
    };
    let Some(text) = encoding.decode(&slice, position) else {
        return Ok(None);
    };
    let end = start.saturating_add(text.end as u64);
    let next = (end < size && !slice.is_empty()).then_some(end);
    // A caller that starts at 0 gets 0 back, even if a byte order mark was skipped.
    let offset = if offset == 0 {
        0
    } else {
        start.saturating_add(text.start as u64)
    };
    Ok(Some(ReadPart {
        content: text.content,
        encoding: encoding.as_str(),
        offset,
        next_offset: next,
    }))
}

/// Returns `None` if the content is not text.
fn read_lines(
    source: &mut FileSource,
    offset: u64,
    limit: u64,
    room: u64,
    shown: ShownFile<'_>,
) -> Result<Option<ReadPart>, ToolError> {
    // Counting lines from the start of a large file would read all of it on each call.
    let FileSource::InMemory(bytes) = source else {
        let message = format!(
            "cannot read '{}' by lines: larger than 16 MiB",
            shown.display
        );
        return Err(too_large_for_lines(message, shown));
    };
    let (encoding, bom_len) = TextEncoding::detect(bytes);
    let Some(text) = encoding.decode(
        &bytes[bom_len..],
        SlicePosition {
            is_first: true,
            is_last: true,
        },
    ) else {
        return Ok(None);
    };
    let mut content = String::new();
    let mut next = None;
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    for (line, number) in text
        .content
        .split_inclusive('\n')
        .skip(skipped)
        .zip(offset..)
    {
        // At least one line is returned, even if it is longer than the default size, so that every
        // call makes progress.
        let is_full = number - offset == limit
            || (!content.is_empty()
                && (content.len() + line.len()) as u64 > DEFAULT_BYTES.min(room));
        if is_full {
            next = Some(number);
            break;
        }
        if line.len() as u64 > MAX_BYTES.min(room) {
            let message = format!(
                "cannot read line {number} of '{}': longer than {} bytes",
                shown.display,
                MAX_BYTES.min(room)
            );
            return Err(too_large_for_lines(message, shown));
        }
        content.push_str(line);
    }
    Ok(Some(ReadPart {
        content,
        encoding: encoding.as_str(),
        offset,
        next_offset: next,
    }))
}

fn too_large_for_lines(message: String, shown: ShownFile<'_>) -> ToolError {
    ToolErrorCode::TooLarge
        .error_at(shown.display, message)
        .with_hint("use unit `bytes`")
}

fn content_kind(encoding: &str) -> ContentKind {
    if encoding == "base64" {
        ContentKind::Binary
    } else {
        ContentKind::Text
    }
}

fn binary_file_error(shown: ShownFile<'_>, source: &FileSource) -> ToolError {
    // Type and size help a model to decide what to do instead.
    let (mime, size) = (media_type(shown.name, ContentKind::Binary), source.size());
    let message = format!(
        "'{}' is not a text file (binary file): {mime}, {size} bytes",
        shown.display
    );
    ToolErrorCode::BinaryFile
        .error_at(shown.display, message)
        .with_hint("read it with encoding `base64`, or process it with a program")
}

fn file_name(resolved: &ResolvedPath) -> &str {
    resolved.parts.last().map_or("", String::as_str)
}
