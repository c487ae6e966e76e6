//! How Python writes text: the reference tool prints `repr` of what it found.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Writes text as a Python literal: single quotes unless only double quotes avoid a backslash.
pub(crate) fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&escape_code_point(decode_surrogate(c).unwrap_or(c as u32))),
        }
    }
    out.push(quote);
    out
}

pub(crate) fn char_repr(c: char) -> String {
    repr(c.encode_utf8(&mut [0; 4]))
}

fn escape_code_point(code: u32) -> String {
    match code {
        0..=0xFF => format!("\\x{code:02x}"),
        0x100..=0xFFFF => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

fn is_printable(c: char) -> bool {
    use GeneralCategory as G;
    let hidden = [
        G::Control,
        G::Format,
        G::Surrogate,
        G::PrivateUse,
        G::Unassigned,
        G::LineSeparator,
        G::ParagraphSeparator,
    ];
    c == ' '
        || !(hidden.contains(&c.general_category()) || c.general_category() == G::SpaceSeparator)
}

/// Letters and all kinds of numbers, by their category: vowel signs are neither, unlike in Rust's
/// own test.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    use GeneralCategory as G;
    matches!(
        c.general_category(),
        G::UppercaseLetter
            | G::LowercaseLetter
            | G::TitlecaseLetter
            | G::ModifierLetter
            | G::OtherLetter
            | G::DecimalNumber
            | G::LetterNumber
            | G::OtherNumber
    )
}

/// White space as `str.strip` sees it: Unicode's, and the four separators of ASCII.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c))
}

/// Where half a surrogate pair is kept, which Rust's text cannot hold: characters that Unicode does
/// not assign, in the same order.
const SURROGATE_BASE: u32 = 0xD_0000;
const SURROGATE_COUNT: u32 = 0x800;

/// Keeps half a surrogate pair, U+D800 to U+DFFF.
pub(crate) fn encode_surrogate(code: u32) -> Option<char> {
    (0xD800..=0xDFFF)
        .contains(&code)
        .then(|| char::from_u32(code - 0xD800 + SURROGATE_BASE))
        .flatten()
}

/// Gives half a surrogate pair back.
pub(crate) fn decode_surrogate(c: char) -> Option<u32> {
    (c as u32)
        .checked_sub(SURROGATE_BASE)
        .filter(|half| *half < SURROGATE_COUNT)
        .map(|half| half + 0xD800)
}

/// Writes kept halves of surrogate pairs as escapes, as Python's error output does.
pub(crate) fn escape_surrogates(text: String) -> String {
    if !text.chars().any(|c| decode_surrogate(c).is_some()) {
        return text;
    }
    text.chars()
        .map(|c| decode_surrogate(c).map_or_else(|| c.to_string(), |half| format!("\\u{half:04x}")))
        .collect()
}
