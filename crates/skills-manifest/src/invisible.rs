//! Invisible characters: their detection in names and texts, and their escaped form.

use std::borrow::Cow;

use serde_json::Value;

/// Returns true if `c` is invisible to a person.
///
/// Invisible are control characters (line ends and tabs among them), bidirectional controls,
/// zero-width and blank characters, tags, and line and paragraph separators. A model reads text
/// that they hide from people, or they change how the text around them is displayed.
///
/// The zero-width joiner and non-joiner count too, although some scripts and emoji need them: names
/// can do without. For longer text, use [`is_invisible_after`].
///
/// ```
/// use skills_manifest::{is_invisible, is_invisible_after};
///
/// assert!(is_invisible('\u{202E}') && is_invisible('\u{E0041}') && !is_invisible('é'));
/// assert!(is_invisible('\u{200D}') && !is_invisible_after('👩', '\u{200D}'));
/// ```
#[must_use]
pub fn is_invisible(c: char) -> bool {
    // Nearly all characters, which are not compared with the list.
    if c < '\u{AD}' {
        return c.is_control();
    }
    c.is_control()
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul fillers, Mongolian vowel
        // separator, blank Braille pattern, byte order mark.
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
        // Zero-width characters, bidirectional controls, line and paragraph separators.
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        // Variation selectors except U+FE0F, which emoji need; annotations; tags.
        || matches!(c, '\u{FE00}'..='\u{FE0E}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
        // Khmer inherent vowels, Mongolian selectors, shorthand and musical format controls.
        || matches!(c, '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}')
}

/// Returns true if `c` is invisible in a text after the character `before`.
///
/// As [`is_invisible`], but it allows joiners and the emoji selector (U+FE0F) after non-ASCII
/// letters and emoji, and the selector additionally after the characters of keycaps (digits, `#`,
/// `*`). Callers that drop characters pass the last one that they kept.
#[must_use]
pub fn is_invisible_after(before: char, c: char) -> bool {
    match c {
        '\u{200C}' | '\u{200D}' => !(is_joinable(before) || before == '\u{FE0F}'),
        '\u{FE0F}' => {
            !(is_joinable(before) || before.is_ascii_digit() || matches!(before, '#' | '*'))
        }
        c => is_invisible(c),
    }
}

/// Returns true if a joiner or selector may follow `c`: a visible character outside of ASCII.
///
/// No ASCII text needs joiners, where they only hide or split words.
fn is_joinable(c: char) -> bool {
    !c.is_ascii() && !is_invisible(c) && !c.is_whitespace()
}

/// Returns true if a text has at least one visible character.
pub(crate) fn has_visible_text(text: &str) -> bool {
    // Decides nearly all texts by their first byte.
    let starts_visibly = text.as_bytes().first().is_some_and(u8::is_ascii_graphic);
    starts_visibly || text.chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

/// Returns `text` with its invisible characters as escapes, for messages.
///
/// Texts of a skill are not trusted: raw control characters could rewrite the terminal of a user.
#[must_use]
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    escape_characters(text, is_invisible)
}

/// Returns `text` with the characters that `is_escaped` selects as escapes: `\n`, `\\`,
/// `\u{202e}`.
#[must_use]
pub fn escape_characters(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Finds the first invisible character of a longer text and its offset in bytes.
///
/// Line ends, tabs, joiners between letters or emoji and variation selectors are allowed.
pub(crate) fn first_invisible(text: &str) -> Option<(usize, u32)> {
    // Nearly all texts are ASCII, which needs no decoding.
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
        let is_allowed = match c {
            '\n' | '\r' | '\t' | '\u{FE0E}' => true,
            '\u{200C}' | '\u{200D}' => is_joinable(before),
            _ => false,
        };
        if is_invisible(c) && !is_allowed {
            return Some((at, c as u32));
        }
        // A selector belongs to the emoji before it, so a joiner after both joins that emoji.
        before = if c == '\u{FE0F}' { before } else { c };
    }
    None
}

/// Returns the first text of a value, keys included, that contains an invisible character.
pub(crate) fn find_invisible_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => first_invisible(text).map(|_| text.as_str()),
        Value::Array(items) => items.iter().find_map(find_invisible_text),
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            first_invisible(key)
                .map(|_| key.as_str())
                .or_else(|| find_invisible_text(value))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the ASCII text that tag characters (U+E0020 to U+E007E) encode, at most 200 letters.
///
/// Models read them like the letters they stand for, while people see nothing.
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
