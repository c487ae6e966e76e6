//! Recovers `name` and `description` from their lines, the last resort for broken YAML.

use std::ops::Range;

use super::lost_restrictions;
use crate::field_names::is_spelling_of;
use crate::invisible::has_visible_text;

/// The fields that were recovered.
pub(super) struct RecoveredFields {
    pub(super) name: Option<String>,
    pub(super) description: String,
    /// The recovered fields with their lines, counted from 1 in the frontmatter.
    pub(super) lines: Vec<(&'static str, usize)>,
    /// The restrictions that the other lines declare.
    pub(super) unparsed: Vec<&'static str>,
}

/// Recovers the fields; `None` if there is no description.
pub(super) fn recover_fields(text: &str) -> Option<RecoveredFields> {
    let lines: Vec<&str> = text.lines().collect();
    let name = find_value(&lines, "name");
    let Some(description) = find_value(&lines, "description") else {
        return recover_joined_fields(&lines, name?);
    };
    let mut field_lines = vec![("description", description.lines.start + 1)];
    let mut read_lines = vec![description.lines];
    if let Some(name) = &name {
        field_lines.push(("name", name.lines.start + 1));
        read_lines.push(name.lines.clone());
    }
    Some(RecoveredFields {
        name: name.map(|name| name.text),
        description: description.text,
        lines: field_lines,
        unparsed: lost_restrictions::find_outside(&lines, &read_lines),
    })
}

/// Recovers both fields from one line, `name: a description: b`: Markdown formatters join the lines
/// of a paragraph.
fn recover_joined_fields(lines: &[&str], joined: FoundValue) -> Option<RecoveredFields> {
    let (name, rest) = joined.text.split_once(" description:")?;
    let description = clean_value(rest)?;
    let line = joined.lines.start + 1;
    let mut unparsed = lost_restrictions::find_outside(lines, std::slice::from_ref(&joined.lines));
    // The other fields may be joined to the same line.
    for field in lost_restrictions::find_joined(&joined.text) {
        if !unparsed.contains(&field) {
            unparsed.push(field);
        }
    }
    Some(RecoveredFields {
        name: Some(name.to_owned()),
        description,
        lines: vec![("description", line), ("name", line)],
        unparsed,
    })
}

/// A value with the range of its lines, counted from 0.
struct FoundValue {
    text: String,
    lines: Range<usize>,
}

/// Finds `field: value` with the lines that continue it.
///
/// Indented lines continue a value. After a block scalar header (`|`, `>`) or an empty value, all
/// lines up to the next field do.
fn find_value(lines: &[&str], field: &str) -> Option<FoundValue> {
    let (index, first) = lines
        .iter()
        .enumerate()
        .find_map(|(index, line)| Some((index, strip_field_prefix(line, field)?)))?;
    // Text below a header is often not indented, which is what broke the YAML.
    // A label such as `**Usage:**` stands above its text.
    let is_block = matches!(first.trim().as_bytes(), [] | [b'|' | b'>', ..]) || is_label(first);
    let is_more = |index: usize| {
        let line = lines[index];
        let is_text = || {
            !starts_any_field(line)
                && !line.starts_with('#')
                && lost_restrictions::declared_at(lines, index).is_none()
        };
        line.starts_with([' ', '\t']) || line.is_empty() || (is_block && is_text())
    };
    let more: Vec<&str> = (index + 1..lines.len())
        .take_while(|index| is_more(*index))
        .map(|index| lines[index])
        .collect();
    let text = std::iter::once(first)
        .chain(more.iter().copied())
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    Some(FoundValue {
        text: clean_value(&text)?,
        lines: index..index + 1 + more.len(),
    })
}

/// Returns true if a value is only an emphasized label: `**Usage:**` or `**Usage**:`.
pub(super) fn is_label(value: &str) -> bool {
    let value = value.trim().trim_end_matches(':');
    let inner = value
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**"));
    inner.is_some_and(|inner| !inner.is_empty() && !inner.contains("**"))
}

/// Removes the block scalar header, quotes and control characters from a value; `None` if no
/// visible text is left.
fn clean_value(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix(['|', '>']).map_or(text, |rest| {
        rest.trim_start_matches(['-', '+']).trim_start()
    });
    let text: String = strip_quotes(text)
        .chars()
        // Control characters cannot be meant: valid YAML excludes them.
        .filter(|c| !c.is_control())
        .collect();
    has_visible_text(&text).then_some(text)
}

/// Returns the text after `field:`, for any spelling of the field.
///
/// The key may look like a heading, a list item or emphasized text, as Markdown formatters leave
/// it.
fn strip_field_prefix<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    let (key, rest) = line.split_once(':')?;
    let key = key
        .trim()
        .trim_start_matches(['#', '-', ' '])
        .trim_matches(['"', '\'', '*']);
    is_spelling_of(key, field).then_some(rest)
}

fn starts_any_field(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, rest)| {
        let is_word_byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        !key.is_empty()
            && key.bytes().all(is_word_byte)
            && (rest.is_empty() || rest.starts_with(' '))
    })
}

/// Removes quotes only in pairs, since an apostrophe at one end belongs to the text.
fn strip_quotes(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
