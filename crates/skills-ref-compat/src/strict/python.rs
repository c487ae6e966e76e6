//! Python's notation of text: the messages of the reference validator contain `repr` of values.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Returns text as a Python literal, like `repr`.
///
/// It has single quotes unless only double quotes avoid a backslash.
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
    // The categories of CPython's `str.isprintable`.
    let is_unprintable = matches!(
        c.general_category(),
        G::Control
            | G::Format
            | G::Surrogate
            | G::PrivateUse
            | G::Unassigned
            | G::LineSeparator
            | G::ParagraphSeparator
            | G::SpaceSeparator
    );
    c == ' ' || !is_unprintable
}

/// Returns true if a character is a letter or a number, like Python's `str.isalnum`.
///
/// Rust's `char::is_alphanumeric` additionally accepts vowel signs, so it would accept names that
/// the reference validator rejects.
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

/// Removes white space at both ends, like Python's `str.strip`.
///
/// Python counts the four separators of ASCII (U+001C to U+001F) as white space, Rust does not.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c))
}

/// The first of the unassigned characters that stand for halves of surrogate pairs.
///
/// Python strings can contain such halves, Rust strings cannot.
const SURROGATE_BASE: u32 = 0xD_0000;
const SURROGATE_COUNT: u32 = 0x800;

/// Returns the stand-in for half of a surrogate pair, U+D800 to U+DFFF; `None` for other code
/// points.
pub(crate) fn encode_surrogate(code: u32) -> Option<char> {
    (0xD800..=0xDFFF)
        .contains(&code)
        .then(|| char::from_u32(code - 0xD800 + SURROGATE_BASE))
        .flatten()
}

/// Returns the half of a surrogate pair that a character stands for, or `None`.
pub(crate) fn decode_surrogate(c: char) -> Option<u32> {
    (c as u32)
        .checked_sub(SURROGATE_BASE)
        .filter(|half| *half < SURROGATE_COUNT)
        .map(|half| half + 0xD800)
}

/// Replaces the stand-ins for halves of surrogate pairs with escapes, as Python's error output has.
pub(crate) fn escape_surrogates(text: &str) -> String {
    text.chars()
        .map(|c| decode_surrogate(c).map_or_else(|| c.to_string(), |half| format!("\\u{half:04x}")))
        .collect()
}
