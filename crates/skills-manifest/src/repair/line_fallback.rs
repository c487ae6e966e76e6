//! Recovers `name` and `description` from their lines, the last resort for broken YAML.

use crate::field_names::{RESTRICTION_FIELDS, is_spelling_of};
use crate::invisible::has_visible_text;

/// The fields that were recovered.
pub(super) struct RecoveredFields {
    pub(super) name: Option<String>,
    pub(super) description: String,
    /// The recovered fields with their lines, counted from 1 in the frontmatter.
    pub(super) lines: Vec<(&'static str, usize)>,
    /// The restrictions that the text may declare.
    pub(super) unparsed: Vec<&'static str>,
}

/// Recovers the fields; `None` if there is no description.
pub(super) fn recover_fields(text: &str) -> Option<RecoveredFields> {
    let lines: Vec<&str> = text.lines().collect();
    let mut name = find_value(&lines, "name");
    let mut description = find_value(&lines, "description");
    if let (Some((text, line)), None) = (&mut name, &description) {
        // Markdown formatters join the lines of a paragraph: `name: a description: b`.
        let (name_value, rest) = text.split_once(" description:")?;
        description = Some((clean_value(rest)?, *line));
        *text = name_value.to_owned();
    }
    let (description, line) = description?;
    let mut field_lines = vec![("description", line)];
    field_lines.extend(name.as_ref().map(|(_, line)| ("name", *line)));
    Some(RecoveredFields {
        name: name.map(|(name, _)| name),
        description,
        lines: field_lines,
        unparsed: find_declared_restrictions(text),
    })
}

/// Returns the restrictions whose names precede a colon anywhere in the text.
///
/// This includes words in descriptions: a false match only makes the skill stricter, while a missed
/// restriction would lift it.
pub(super) fn find_declared_restrictions(text: &str) -> Vec<&'static str> {
    let keys: Vec<&str> = text
        .split('\n')
        // Each part of a line but the last one precedes a colon.
        .flat_map(|line| line.split(':').rev().skip(1))
        .map(last_word)
        .collect();
    RESTRICTION_FIELDS
        .iter()
        .filter(|field| keys.iter().any(|key| is_spelling_of(key, field)))
        .copied()
        .collect()
}

/// Returns the last word of a text that precedes a colon, without quotes around it.
fn last_word(text: &str) -> &str {
    let text = text.trim_end().trim_end_matches(['"', '\'']);
    let is_separator = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'));
    text.rsplit(is_separator).next().unwrap_or_default()
}

/// Finds `field: value` with the lines that continue it, and its line, counted from 1.
///
/// Indented lines continue a value. After a block scalar header (`|`, `>`) or an empty value, all
/// lines up to the next field do.
fn find_value(lines: &[&str], field: &str) -> Option<(String, usize)> {
    let (index, first) = lines
        .iter()
        .enumerate()
        .find_map(|(index, line)| Some((index, strip_field_prefix(line, field)?)))?;
    // Text below a header is often not indented, which is what broke the YAML.
    let is_block = matches!(first.trim().as_bytes(), [] | [b'|' | b'>', ..]);
    let is_more = |line: &&&str| {
        line.starts_with([' ', '\t'])
            || line.is_empty()
            || (is_block && !starts_any_field(line) && !line.starts_with('#'))
    };
    let parts =
        std::iter::once(first).chain(lines[index + 1..].iter().take_while(is_more).copied());
    let text = parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    Some((clean_value(&text)?, index + 1))
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

/// Returns true if a line starts a field.
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
