//! Finds restrictions in lines that no parser has read.
//!
//! Only the start of a line can declare a restriction: `hooks:` within a sentence is prose. A line
//! that states the default, such as `user-invocable: true`, restricts nothing.

use std::ops::Range;

use crate::field_names::{RESTRICTION_FIELDS, is_spelling_of};

/// Returns the restrictions that lines outside of the given ranges declare.
pub(super) fn find_outside(lines: &[&str], read_lines: &[Range<usize>]) -> Vec<&'static str> {
    let unread = (0..lines.len()).filter(|index| !is_in_any(read_lines, index));
    collect(unread.filter_map(|index| declared_at(lines, index)))
}

fn is_in_any(ranges: &[Range<usize>], index: &usize) -> bool {
    ranges.iter().any(|range| range.contains(index))
}

/// Returns the restrictions that lines declare which a repair made part of a value above them.
///
/// Whether such a line continues the value or is a field with wrong indentation is a guess. Only a
/// bare key counts: `- hooks: a` in a description is an item of its text.
pub(super) fn find_in_guessed(lines: &[&str], guessed: &[Range<usize>]) -> Vec<&'static str> {
    let is_guessed = |index| guessed.iter().any(|range| range.contains(&index));
    let has_bare_key = |index: usize| !lines[index].trim_start().starts_with(['#', '-', '*']);
    let candidates = (0..lines.len()).filter(|index| is_guessed(*index) && has_bare_key(*index));
    collect(candidates.filter_map(|index| declared_at(lines, index)))
}

/// Returns the restrictions in a line to which several fields were joined.
pub(super) fn find_joined(line: &str) -> Vec<&'static str> {
    let mut words = line.split(' ').peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let field = word.strip_suffix(':').and_then(restriction_named);
        let value = words.peek().copied().unwrap_or_default();
        found.extend(field.filter(|field| !states_default(field, value)));
    }
    collect(found)
}

fn collect(fields: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let mut unique = Vec::new();
    for field in fields {
        if !unique.contains(&field) {
            unique.push(field);
        }
    }
    unique
}

/// Returns the restriction that a line declares. The key may look like a heading, a list item or
/// emphasized text, as Markdown formatters leave it.
pub(super) fn declared_at(lines: &[&str], index: usize) -> Option<&'static str> {
    let (key, value) = lines[index].split_once(':')?;
    let key = key
        .trim()
        .trim_start_matches(['#', '-', ' '])
        .trim_matches(['"', '\'', '*', '`']);
    let field = restriction_named(key)?;
    let value = clean_value(value);
    let declares = if value.is_empty() {
        // The value of a list or mapping is below its key; `context` and the flags have none.
        matches!(field, "allowed-tools" | "disallowed-tools" | "hooks")
            && lines.get(index + 1).is_some_and(|next| is_below_key(next))
    } else {
        !states_default(field, value)
    };
    declares.then_some(field)
}

fn restriction_named(key: &str) -> Option<&'static str> {
    RESTRICTION_FIELDS
        .into_iter()
        .find(|field| is_spelling_of(key, field))
}

/// Returns a value without a comment, emphasis and quotes.
fn clean_value(value: &str) -> &str {
    let value = value.split(" #").next().unwrap_or(value);
    value.trim().trim_matches(['"', '\'', '*', '`']).trim()
}

fn is_below_key(line: &str) -> bool {
    line.starts_with([' ', '\t', '-']) && !line.trim().is_empty()
}

/// Returns true if a value of a restriction means the same as its absence.
fn states_default(field: &str, value: &str) -> bool {
    let is_one_of = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match field {
        "user-invocable" => is_one_of(&["true", "yes", "on", "1", "y"]),
        "disable-model-invocation" => is_one_of(&["false", "no", "off", "0", "n"]),
        // Other contexts are unknown and restrict nothing.
        "context" => value != "fork",
        _ => is_one_of(&["null", "~", "[]", "{}"]),
    }
}
