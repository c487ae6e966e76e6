//! Characters that a reader cannot see.

use serde_json::Value;

/// Says whether a reader cannot see `c`: control characters, bidirectional controls, zero-width and
/// blank characters, tags, line and paragraph separators. They hide text from people that models
/// read, or change how text around them looks.
///
/// The zero-width joiner and non-joiner count too, although some scripts and emoji need them: names
/// do without, longer text may not.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{180E}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FEFF}'
                | '\u{FFA0}'
        )
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FE00}'..='\u{FE0E}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
        || matches!(c, '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}')
}

/// Says whether `c` hides in a text behind the character `before`: as [`is_invisible`], but a joiner
/// has its place behind a letter that is not ASCII or behind an emoji, and so has the emoji
/// selector, behind the digits of keycaps as well.
#[must_use]
pub fn is_invisible_after(before: char, c: char) -> bool {
    let follows = !before.is_ascii() && !is_invisible(before) && !before.is_whitespace();
    match c {
        '\u{200C}' | '\u{200D}' => !(follows || before == '\u{FE0F}'),
        '\u{FE0F}' => !(follows || before.is_ascii_digit() || matches!(before, '#' | '*')),
        c => is_invisible(c),
    }
}

/// Finds the first hidden character of a longer text, and where it stands in bytes; line ends,
/// tabs, joiners between letters or emoji and variation selectors have their place.
pub(crate) fn first_invisible(text: &str) -> Option<(usize, u32)> {
    if text.is_ascii() {
        let is_control =
            |(_, b): &(usize, u8)| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t');
        return text
            .bytes()
            .enumerate()
            .find(is_control)
            .map(|(at, b)| (at, u32::from(b)));
    }
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let has_place = match c {
            '\n' | '\r' | '\t' | '\u{FE0E}' => true,
            '\u{200C}' | '\u{200D}' => {
                !before.is_ascii() && !is_invisible(before) && !before.is_whitespace()
            }
            _ => false,
        };
        if is_invisible(c) && !has_place {
            return Some((at, c as u32));
        }
        // A selector belongs to the emoji before it.
        before = if c == '\u{FE0F}' { before } else { c };
    }
    None
}

/// Finds the first text of a value, keys included, that holds a hidden character.
pub(crate) fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => first_invisible(text).map(|_| text.as_str()),
        Value::Array(items) => items.iter().find_map(first_text),
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            first_invisible(key)
                .map(|_| key.as_str())
                .or_else(|| first_text(value))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns what tag characters spell, at most 200 letters; people do not see them and models read
/// them.
pub(crate) fn decode_tags(text: &str) -> String {
    const MAX_LETTERS: usize = 200;
    let letters = text
        .chars()
        .filter(|c| ('\u{E0020}'..='\u{E007E}').contains(c));
    letters
        .filter_map(|c| char::from_u32(c as u32 - 0xE0000))
        .take(MAX_LETTERS)
        .collect()
}
