//! Reads `name:` and `description:` off their lines, when nothing else can be read.

use crate::field_reader::{has_visible_text, is_spelling_of};
use crate::manifest::RESTRICTION_FIELDS;

/// What stands on the lines.
pub(super) struct RecoveredFields {
    pub(super) name: Option<String>,
    pub(super) description: String,
    /// The fields that were read and the lines they stand on, counted from 1 in the frontmatter.
    pub(super) lines: Vec<(&'static str, usize)>,
    /// Restrictions that the text seems to declare.
    pub(super) unparsed: Vec<&'static str>,
}

/// Reads the lines; nothing when there is no description.
pub(super) fn recover_fields(text: &str) -> Option<RecoveredFields> {
    let lines: Vec<&str> = text.lines().collect();
    let mut name = find_value(&lines, "name");
    let mut found = find_value(&lines, "description");
    if let (Some((text, at)), None) = (&mut name, &found) {
        // Both on one line, as a formatter joins them.
        let (own, rest) = text.split_once(" description:")?;
        found = Some((clean_value(rest)?, *at));
        *text = own.to_owned();
    }
    let (description, at) = found?;
    let mut places = vec![("description", at)];
    places.extend(name.as_ref().map(|(_, at)| ("name", *at)));
    Some(RecoveredFields {
        name: name.map(|(name, _)| name),
        description,
        lines: places,
        unparsed: find_declared_restrictions(text),
    })
}

/// Lists the restrictions whose names stand before a colon anywhere in the text: in doubt one too
/// many.
pub(super) fn find_declared_restrictions(text: &str) -> Vec<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let words = text
        .split('\n')
        .flat_map(|line| line.split(':').rev().skip(1));
    let keys: Vec<&str> = words
        .filter_map(|before| {
            before
                .trim_end()
                .trim_end_matches(['"', '\''])
                .rsplit(|c| !is_part(c))
                .next()
        })
        .collect();
    RESTRICTION_FIELDS
        .iter()
        .filter(|field| keys.iter().any(|key| is_spelling_of(key, field)))
        .copied()
        .collect()
}

/// Finds `field: value` and the lines that go on with it: indented ones, and below a block scalar's
/// sign all up to the next field.
fn find_value(lines: &[&str], field: &str) -> Option<(String, usize)> {
    let (index, first) = lines
        .iter()
        .enumerate()
        .find_map(|(index, line)| Some((index, strip_field_prefix(line, field)?)))?;
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

/// Takes signs, quotes and control characters off a value; nothing when nothing is left to see.
fn clean_value(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix(['|', '>']).map_or(text, |rest| {
        rest.trim_start_matches(['-', '+']).trim_start()
    });
    let text: String = strip_quotes(text)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    has_visible_text(&text).then_some(text)
}

/// Returns what stands behind `field:`, in any spelling of the field, a heading's or a list's sign
/// before it.
fn strip_field_prefix<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    let (key, rest) = line.split_once(':')?;
    let key = key
        .trim()
        .trim_start_matches(['#', '-', ' '])
        .trim_matches(['"', '\'', '*']);
    is_spelling_of(key, field).then_some(rest)
}

/// Whether a line begins another field.
fn starts_any_field(line: &str) -> bool {
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let is_word = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    is_word && (rest.is_empty() || rest.starts_with(' '))
}

fn strip_quotes(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
