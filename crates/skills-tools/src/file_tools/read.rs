//! `skills_read`: returns the content of a file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::{FileTools, ResolvedPath};
use crate::files::io_error;
use crate::files::media::media_type;
use crate::files::open::{self, OpenedFile};
use crate::files::read::FileSource;
use crate::files::text::{SlicePosition, TextEncoding};
use crate::hidden_dirs::canonicalize_existing;
use crate::schema;
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::virtual_path::VirtualPath;
use crate::{ToolError, ToolErrorCode, ToolOutput};

const DEFAULT_BYTES: u64 = 256 << 10;
const MAX_BYTES: u64 = 4 << 20;
const DEFAULT_LINES: u64 = 2_000;
const MAX_LINES: u64 = 100_000;
/// The longest character, so that every call makes progress.
const MAX_CHARACTER_BYTES: u64 = 4;

/// Arguments of `skills_read`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
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

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "skills_read".to_owned(),
        title: "Read a file".to_owned(),
        description:
            "Read a text file, or any file with encoding `base64`. `skills/NAME` is the SKILL.md of that skill. To continue a long file, \
                      pass `next_offset` as `offset`."
                .to_owned(),
        input_schema: schema::input_schema(
            json!({
                "path": schema::path_schema("The file."),
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Offset in `unit`s."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_BYTES,
                          "description": "Maximum to return, in `unit`s; default 262144 bytes or 2000 lines, at most 4194304 bytes or 100000 lines."},
                "unit": {"enum": ["bytes", "lines"], "default": "bytes", "description": "Unit of `offset` and `limit`."},
                "encoding": {"enum": ["auto", "utf-8", "base64"], "default": "auto", "description": "Encoding of the returned content; `auto` detects UTF-8 and UTF-16."},
            }),
            &["path"],
        ),
        output_schema: schema::output_schema(
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
            &["path", "content", "encoding", "mime_type", "size", "sha256", "offset", "next_offset", "truncated"],
        ),
        annotations: Annotations::READ_ONLY,
    }
}

impl FileTools {
    /// Reads a file or a part of it.
    pub(crate) fn read(&self, arguments: &ReadArguments) -> Result<ToolOutput, ToolError> {
        let limit = effective_limit(arguments)?;
        let mut place = self.resolve(&VirtualPath::parse(&arguments.path)?)?;
        if let (Some(skill), true) = (&place.skill, place.parts.is_empty()) {
            place.parts.push(skill.file_name.clone());
            place.display = format!("{}/{}", place.display, skill.file_name);
        }
        let mut source = self.open_source(&place)?;
        let part = match (arguments.encoding, arguments.unit) {
            (Encoding::Base64, Unit::Bytes) => {
                read_base64(&mut source, arguments.offset, limit, &place)?
            }
            (Encoding::Base64, Unit::Lines) => {
                return Err(ToolError::new(
                    ToolErrorCode::InvalidArguments,
                    "cannot read lines with encoding `base64`",
                )
                .with_hint("use unit `bytes`"));
            }
            (_, Unit::Bytes) => read_bytes(&mut source, arguments.offset, limit, &place)?
                .ok_or_else(|| binary_file_error(&place, &source))?,
            (_, Unit::Lines) => read_lines(&mut source, arguments.offset, limit, &place)?
                .ok_or_else(|| binary_file_error(&place, &source))?,
        };
        let data = json!({
            "path": place.display,
            "content": part.content,
            "encoding": part.encoding,
            "mime_type": media_type(file_name(&place), part.encoding != "base64"),
            "size": source.size(),
            "sha256": source.sha256(),
            "offset": part.offset,
            "next_offset": part.next_offset,
            "truncated": part.next_offset.is_some(),
        });
        Ok(ToolOutput::new(part.content, data))
    }

    fn open_source(&self, place: &ResolvedPath) -> Result<FileSource, ToolError> {
        if let Some(bytes) = read_linked_manifest(place) {
            self.check_visible(place, &canonicalize_existing(&place.host_path))?;
            return Ok(FileSource::InMemory(bytes));
        }
        let failed = |error| io_error(&error, &place.display);
        let refused =
            |code, message: String| Err(ToolError::new(code, message).with_path(&place.display));
        match open::open_file(&place.base_dir, &self.canonicalize(place)?).map_err(failed)? {
            OpenedFile::File(file, metadata) => {
                FileSource::from_file(file, metadata.len()).map_err(failed)
            }
            OpenedFile::Directory => {
                let error = ToolError::new(
                    ToolErrorCode::IsADirectory,
                    format!(
                        "'{}' is a directory, use skills_ls() instead",
                        place.display
                    ),
                );
                Err(error.with_path(&place.display))
            }
            OpenedFile::Special => refused(
                ToolErrorCode::PermissionDenied,
                format!("cannot read '{}': not a regular file", place.display),
            ),
        }
    }
}

/// Reads a `SKILL.md` that is a symlink out of its skill, which a root may allow. No other symlink
/// may leave the skill.
fn read_linked_manifest(place: &ResolvedPath) -> Option<Vec<u8>> {
    let skill = place.skill.as_ref()?;
    let [name] = place.parts.as_slice() else {
        return None;
    };
    let is_link =
        *name == skill.file_name && place.base_dir.symlink_metadata(name).ok()?.is_symlink();
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
    if !(1..=max).contains(&limit) {
        return Err(ToolError::new(
            ToolErrorCode::InvalidArguments,
            format!("invalid `limit`: expected 1 to {max}"),
        ));
    }
    Ok(limit)
}

fn read_base64(
    source: &mut FileSource,
    offset: u64,
    limit: u64,
    place: &ResolvedPath,
) -> Result<ReadPart, ToolError> {
    let size = source.size();
    let bytes = source
        .read_at(offset, limit)
        .map_err(|error| io_error(&error, &place.display))?;
    let end = offset.saturating_add(bytes.len() as u64);
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
    place: &ResolvedPath,
) -> Result<Option<ReadPart>, ToolError> {
    let failed = |error| io_error(&error, &place.display);
    let size = source.size();
    let (coding, mark) = TextEncoding::detect(&source.read_at(0, 3).map_err(failed)?);
    let start = offset.max(mark as u64);
    // UTF-16 code units begin at even offsets.
    let start = if coding == TextEncoding::Utf8 {
        start
    } else {
        start.saturating_add(start % 2)
    };
    let slice = source
        .read_at(start, limit.max(MAX_CHARACTER_BYTES))
        .map_err(failed)?;
    let end = start.saturating_add(slice.len() as u64);
    let edges = SlicePosition {
        is_first: start == mark as u64,
        is_last: end >= size,
    };
    let Some(text) = coding.decode(&slice, edges) else {
        return Ok(None);
    };
    let end = start.saturating_add(text.end as u64);
    let next = (end < size && !slice.is_empty()).then_some(end);
    let offset = if offset == 0 {
        0
    } else {
        start.saturating_add(text.start as u64)
    };
    Ok(Some(ReadPart {
        content: text.content,
        encoding: coding.as_str(),
        offset,
        next_offset: next,
    }))
}

/// Returns `None` if the content is not text.
fn read_lines(
    source: &mut FileSource,
    offset: u64,
    limit: u64,
    place: &ResolvedPath,
) -> Result<Option<ReadPart>, ToolError> {
    let FileSource::InMemory(bytes) = source else {
        let error = ToolError::new(
            ToolErrorCode::TooLarge,
            format!(
                "cannot read '{}' by lines: larger than 16 MiB",
                place.display
            ),
        );
        return Err(error
            .with_path(&place.display)
            .with_hint("use unit `bytes`"));
    };
    let (coding, mark) = TextEncoding::detect(bytes);
    let Some(text) = coding.decode(
        &bytes[mark..],
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
        let is_full = number - offset == limit
            || (!content.is_empty() && (content.len() + line.len()) as u64 > DEFAULT_BYTES);
        if is_full {
            next = Some(number);
            break;
        }
        if line.len() as u64 > MAX_BYTES {
            let error = ToolError::new(
                ToolErrorCode::TooLarge,
                format!(
                    "cannot read line {number} of '{}': longer than 4 MiB",
                    place.display
                ),
            );
            return Err(error
                .with_path(&place.display)
                .with_hint("use unit `bytes`"));
        }
        content.push_str(line);
    }
    Ok(Some(ReadPart {
        content,
        encoding: coding.as_str(),
        offset,
        next_offset: next,
    }))
}

fn binary_file_error(place: &ResolvedPath, source: &FileSource) -> ToolError {
    let (mime, size) = (media_type(file_name(place), false), source.size());
    let message = format!(
        "'{}' is not a text file (binary file): {mime}, {size} bytes",
        place.display
    );
    ToolError::new(ToolErrorCode::BinaryFile, message)
        .with_path(&place.display)
        .with_hint("read it with encoding `base64`, or process it with a program")
}

fn file_name(place: &ResolvedPath) -> &str {
    place.parts.last().map_or("", String::as_str)
}
