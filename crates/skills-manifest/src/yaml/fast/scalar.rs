//! Unquoted scalars on one line.

use super::event::Scalar;
use super::lines::trim_end_spaces;

/// Splits a comment from an unquoted scalar; returns whether there is one.
#[inline]
pub(super) fn split_comment(text: &str) -> (&str, bool) {
    let bytes = text.as_bytes();
    let start =
        memchr::memchr_iter(b'#', bytes).find(|index| *index > 0 && bytes[index - 1] == b' ');
    match start {
        Some(start) => (trim_end_spaces(&text[..start]), true),
        None => (text, false),
    }
}

/// Parses an unquoted scalar without a comment.
#[inline]
pub(super) fn parse_plain(text: &str) -> Option<Scalar<'_>> {
    let bytes = text.as_bytes();
    let first = bytes.first()?;
    let is_plain = first.is_ascii_alphanumeric()
        || *first >= 0x80
        || matches!(first, b'(' | b'/' | b'_' | b'$' | b'<');
    // `: ` starts a value.
    let is_value_indicator = |index: usize| bytes.get(index + 1).is_none_or(|b| *b == b' ');
    if !is_plain || memchr::memchr_iter(b':', bytes).any(is_value_indicator) {
        return None;
    }
    if first.is_ascii_digit() {
        return parse_number(text);
    }
    Some(match text {
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text(text),
    })
}

/// Parses a scalar that starts with a digit if it is a short number or certainly text, such as a
/// version of three parts, a date or a time.
///
/// Other notations of numbers are left to the library.
fn parse_number(text: &str) -> Option<Scalar<'_>> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        // 15 digits fit into 64 bits and into the mantissa of a float; a leading zero means octal
        // in YAML 1.1.
        let is_integer = text.len() <= 15 && !has_leading_zero(text);
        return is_integer
            .then(|| text.parse().ok())
            .flatten()
            .map(Scalar::Number);
    }
    if is_certainly_text(text) {
        return Some(Scalar::Text(text));
    }
    let (whole, fraction) = text.split_once('.')?;
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let is_decimal =
        text.len() <= 15 && is_digits(whole) && is_digits(fraction) && !has_leading_zero(whole);
    is_decimal.then_some(Scalar::Decimal(text))
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

/// Returns true if no notation of numbers allows the characters of a text.
fn is_certainly_text(text: &str) -> bool {
    // Letters of hexadecimal digits, exponents and the prefixes `0x`, `0o` and `0b`.
    let is_in_number = |b: u8| {
        b.is_ascii_hexdigit() || matches!(b, b'x' | b'X' | b'o' | b'O' | b'.' | b'+' | b'-' | b'_')
    };
    let count = |wanted: u8| text.bytes().filter(|b| *b == wanted).count();
    !text.bytes().all(is_in_number) || count(b'.') > 1 || count(b'-') > 1
}
