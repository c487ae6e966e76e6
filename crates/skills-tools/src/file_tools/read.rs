//! `skills_read`: what is in a file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::{FileTools, Place};
use crate::definition::{Annotations, Definition};
use crate::files::failure;
use crate::files::media::media_type;
use crate::files::open::{self, Found};
use crate::files::read::Source;
use crate::files::text::{Coding, Edges};
use crate::hidden::canonical;
use crate::path::VirtualPath;
use crate::schema;
use crate::{Code, Outcome, ToolError};

const DEFAULT_BYTES: u64 = 256 << 10;
const MAX_BYTES: u64 = 4 << 20;
const DEFAULT_LINES: u64 = 2_000;
const MAX_LINES: u64 = 100_000;
/// The longest character, so that every call gets on.
const LONGEST_CHARACTER: u64 = 4;

/// The arguments of `skills_read`.
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

/// What is given back of a file.
struct Part {
    content: String,
    encoding: &'static str,
    offset: u64,
    next: Option<u64>,
}

pub(crate) fn definition() -> Definition {
    Definition {
        name: "skills_read".to_owned(),
        title: "Read a file".to_owned(),
        description:
            "Reads a text file, or with encoding `base64` any file. `skills/NAME` alone is the skill's SKILL.md. Long files come in \
                      parts: pass the `next_offset` of one as the `offset` of the next."
                .to_owned(),
        input_schema: schema::input(
            json!({
                "path": schema::path("The file."),
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Where to begin, in `unit`s."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_BYTES,
                          "description": "How much; 262144 bytes or 2000 lines when nothing is said, at most 4194304 or 100000."},
                "unit": {"enum": ["bytes", "lines"], "default": "bytes"},
                "encoding": {"enum": ["auto", "utf-8", "base64"], "default": "auto"},
            }),
            &["path"],
        ),
        output_schema: schema::output(
            json!({
                "path": {"type": "string"},
                "content": {"type": "string"},
                "encoding": {"enum": ["utf-8", "utf-16le", "utf-16be", "base64"]},
                "mime_type": {"type": "string"},
                "size": {"type": "integer"},
                "sha256": {"type": ["string", "null"], "description": "Of the whole file, unless it is longer than 16 MiB."},
                "offset": {"type": "integer"},
                "next_offset": {"type": ["integer", "null"]},
                "truncated": {"type": "boolean"},
            }),
            &["path", "content", "encoding", "mime_type", "size", "sha256", "offset", "next_offset", "truncated"],
        ),
        annotations: Annotations::LOOKS,
    }
}

impl FileTools {
    /// Reads a file or a part of it.
    pub(crate) fn read(&self, arguments: &ReadArguments) -> Result<Outcome, ToolError> {
        let limit = limit(arguments)?;
        let mut place = self.resolve(&VirtualPath::parse(&arguments.path)?)?;
        if let (Some(skill), true) = (&place.skill, place.parts.is_empty()) {
            place.parts.push(skill.file_name.clone());
            place.shown = format!("{}/{}", place.shown, skill.file_name);
        }
        let mut source = self.source(&place)?;
        let part = match (arguments.encoding, arguments.unit) {
            (Encoding::Base64, Unit::Bytes) => {
                base64(&mut source, arguments.offset, limit, &place)?
            }
            (Encoding::Base64, Unit::Lines) => {
                return Err(
                    ToolError::new(Code::InvalidArguments, "base64 has no lines")
                        .hint("use unit `bytes`"),
                );
            }
            (_, Unit::Bytes) => bytes(&mut source, arguments.offset, limit, &place)?
                .ok_or_else(|| binary(&place, &source))?,
            (_, Unit::Lines) => lines(&mut source, arguments.offset, limit, &place)?
                .ok_or_else(|| binary(&place, &source))?,
        };
        let data = json!({
            "path": place.shown,
            "content": part.content,
            "encoding": part.encoding,
            "mime_type": media_type(name_of(&place), part.encoding != "base64"),
            "size": source.size(),
            "sha256": source.sha256(),
            "offset": part.offset,
            "next_offset": part.next,
            "truncated": part.next.is_some(),
        });
        Ok(Outcome::new(part.content, data))
    }

    fn source(&self, place: &Place) -> Result<Source, ToolError> {
        if let Some(bytes) = linked_manifest(place) {
            self.is_visible(place, &canonical(&place.host))?;
            return Ok(Source::Whole(bytes));
        }
        let failed = |error| failure(&error, &place.shown);
        let refused = |code, message: String| Err(ToolError::new(code, message).at(&place.shown));
        match open::file(&place.top, &self.real(place)?).map_err(failed)? {
            Found::File(file, metadata) => Source::of(file, metadata.len()).map_err(failed),
            Found::Directory => {
                let error = ToolError::new(
                    Code::IsADirectory,
                    format!("'{}' is a directory, use skills_ls() instead", place.shown),
                );
                Err(error.at(&place.shown))
            }
            Found::Special => refused(
                Code::PermissionDenied,
                format!("'{}' is no regular file", place.shown),
            ),
        }
    }
}

/// A root may allow that the `SKILL.md` is a symlink out of its skill; nothing else is read there.
fn linked_manifest(place: &Place) -> Option<Vec<u8>> {
    let skill = place.skill.as_ref()?;
    let [name] = place.parts.as_slice() else {
        return None;
    };
    let is_link = *name == skill.file_name && place.top.symlink_metadata(name).ok()?.is_symlink();
    if is_link {
        skill.entry.open().ok()?.text().ok()
    } else {
        None
    }
}

fn limit(arguments: &ReadArguments) -> Result<u64, ToolError> {
    let (default, max) = match arguments.unit {
        Unit::Bytes => (DEFAULT_BYTES, MAX_BYTES),
        Unit::Lines => (DEFAULT_LINES, MAX_LINES),
    };
    let limit = arguments.limit.unwrap_or(default);
    if !(1..=max).contains(&limit) {
        return Err(ToolError::new(
            Code::InvalidArguments,
            format!("`limit` is from 1 to {max}"),
        ));
    }
    Ok(limit)
}

fn base64(source: &mut Source, offset: u64, limit: u64, place: &Place) -> Result<Part, ToolError> {
    let size = source.size();
    let bytes = source
        .slice(offset, limit)
        .map_err(|error| failure(&error, &place.shown))?;
    let end = offset.saturating_add(bytes.len() as u64);
    let next = (end < size && !bytes.is_empty()).then_some(end);
    Ok(Part {
        content: STANDARD.encode(&bytes),
        encoding: "base64",
        offset,
        next,
    })
}

/// Nothing when it is no text.
fn bytes(
    source: &mut Source,
    offset: u64,
    limit: u64,
    place: &Place,
) -> Result<Option<Part>, ToolError> {
    let failed = |error| failure(&error, &place.shown);
    let size = source.size();
    let (coding, mark) = Coding::of(&source.slice(0, 3).map_err(failed)?);
    let start = offset.max(mark as u64);
    // Characters of UTF-16 begin at even offsets.
    let start = if coding == Coding::Utf8 {
        start
    } else {
        start.saturating_add(start % 2)
    };
    let slice = source
        .slice(start, limit.max(LONGEST_CHARACTER))
        .map_err(failed)?;
    let end = start.saturating_add(slice.len() as u64);
    let edges = Edges {
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
    Ok(Some(Part {
        content: text.content,
        encoding: coding.as_str(),
        offset,
        next,
    }))
}

/// Nothing when it is no text.
fn lines(
    source: &mut Source,
    offset: u64,
    limit: u64,
    place: &Place,
) -> Result<Option<Part>, ToolError> {
    let Source::Whole(bytes) = source else {
        let error = ToolError::new(
            Code::TooLarge,
            format!(
                "'{}' is longer than 16 MiB and is not read by lines",
                place.shown
            ),
        );
        return Err(error.at(&place.shown).hint("use unit `bytes`"));
    };
    let (coding, mark) = Coding::of(bytes);
    let Some(text) = coding.decode(
        &bytes[mark..],
        Edges {
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
                Code::TooLarge,
                format!("line {number} of '{}' is longer than 4 MiB", place.shown),
            );
            return Err(error.at(&place.shown).hint("use unit `bytes`"));
        }
        content.push_str(line);
    }
    Ok(Some(Part {
        content,
        encoding: coding.as_str(),
        offset,
        next,
    }))
}

fn binary(place: &Place, source: &Source) -> ToolError {
    let (mime, size) = (media_type(name_of(place), false), source.size());
    let message = format!(
        "'{}' is not a text file (binary file): {mime}, {size} bytes",
        place.shown
    );
    ToolError::new(Code::BinaryFile, message)
        .at(&place.shown)
        .hint("read it with encoding `base64`, or work on it with a program")
}

fn name_of(place: &Place) -> &str {
    place.parts.last().map_or("", String::as_str)
}
