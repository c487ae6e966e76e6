//! Writes a mapping that all parsers read as the same texts: YAML 1.1, YAML 1.2, strictyaml, and
//! clients that parse single lines.
//!
//! Each value is on one line. It is unquoted only if it is text in every version of YAML.

use super::brackets::find_excess_brackets;

/// Maximum length of a key before its colon, in bytes.
///
/// YAML limits such keys to 1,024 characters; a longer key is written after `? `.
const MAX_SHORT_KEY_BYTES: usize = 1_000;
/// The characters of an unquoted value in addition to letters and digits.
///
/// Not among them are `:` and `#`, which start values and comments.
const PLAIN_PUNCTUATION: &str = " -_.,;/()+!?'";
/// The words that are not text in some version of YAML.
const TYPED_WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Text(&'a str),
    Mapping(&'a [(String, String)]),
}

/// Writes one line per field or entry. The keys of the fields are plain words.
///
/// The result never contains `---`, since some clients end the frontmatter there, also within a
/// line.
pub(crate) fn write_fields(fields: &[(&str, Field<'_>)]) -> String {
    let text = write_mapping(fields, BracketStyle::Plain);
    // The parser of this crate counts brackets in quotes too and rejects too many of them. Escapes
    // are the exception, since they make plain text hard to read.
    if find_excess_brackets(&text).is_some() {
        write_mapping(fields, BracketStyle::Escaped)
    } else {
        text
    }
}

/// How opening brackets are written.
#[derive(Clone, Copy, PartialEq)]
enum BracketStyle {
    Plain,
    Escaped,
}

fn write_mapping(fields: &[(&str, Field<'_>)], brackets: BracketStyle) -> String {
    let mut out = String::new();
    for (name, field) in fields {
        out.push_str(name);
        match field {
            Field::Text(text) => out.extend([": ", &format_scalar(text, brackets), "\n"]),
            Field::Mapping(entries) => {
                out.push_str(":\n");
                entries.iter().for_each(|(key, value)| {
                    write_entry(
                        &mut out,
                        &format_scalar(key, brackets),
                        &format_scalar(value, brackets),
                    )
                });
            }
        }
    }
    out
}

fn write_entry(out: &mut String, key: &str, value: &str) {
    // An explicit key has no limit.
    if key.len() > MAX_SHORT_KEY_BYTES {
        out.extend(["  ? ", key, "\n  : ", value, "\n"]);
    } else {
        out.extend(["  ", key, ": ", value, "\n"]);
    }
}

/// Returns a text in the simplest notation that every parser reads as this text.
fn format_scalar(text: &str, brackets: BracketStyle) -> String {
    let is_bracket = |c: char| matches!(c, '[' | '{');
    let needs_escape = text.contains(is_unprintable)
        || text.contains("---")
        || (brackets == BracketStyle::Escaped && text.contains(is_bracket));
    if needs_escape {
        double_quoted(text, |c| {
            is_unprintable(c) || (brackets == BracketStyle::Escaped && is_bracket(c))
        })
    } else if is_plain(text) {
        text.to_owned()
    } else {
        // Single quotes need no escapes but their own, on which all parsers agree.
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn is_plain(text: &str) -> bool {
    // Digits and signs start numbers and dates, other characters are indicators.
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || PLAIN_PUNCTUATION.contains(c))
        && !TYPED_WORDS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns a text as a double-quoted scalar.
///
/// Characters that match `must_escape` are escaped, and one of three hyphens in a row.
fn double_quoted(text: &str, must_escape: impl Fn(char) -> bool) -> String {
    let mut out = String::from('"');
    let mut hyphens = 0;
    for c in text.chars() {
        hyphens = if c == '-' { hyphens + 1 } else { 0 };
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if hyphens == 3 || must_escape(c) => {
                out.push_str(&escape_char(c));
                hyphens = 0;
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn escape_char(c: char) -> String {
    match c as u32 {
        code @ 0..=0xFF => format!("\\x{code:02X}"),
        code @ 0x100..=0xFFFF => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    }
}

/// Returns true if YAML allows a character only as an escape, or treats it as a line end.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(format_scalar(text, BracketStyle::Plain), expected);
        let parsed = super::super::parse(&write_fields(&[("a", Field::Text(text))])).unwrap();
        assert_eq!(parsed.value, json!({"a": text}));
    }

    #[test]
    fn texts_are_written_in_their_simplest_notation() {
        check(
            "Reads PDFs, fast (don't ask).",
            "Reads PDFs, fast (don't ask).",
        );
        check("Größe 12", "Größe 12");
        check("No", "'No'");
        check("", "''");
        check("a ", "'a '");
        check("1.10", "'1.10'");
        check("a: b", "'a: b'");
        check("it's: 'so'", "'it''s: ''so'''");
        check("a\\b", "'a\\b'");
        check("a --- \"b\\\"", r#""a --\x2D \"b\\\"""#);
        check("------", r#""--\x2D--\x2D""#);
        check("a\nb\u{85}\u{FFFE}", r#""a\x0Ab\x85\uFFFE""#);
    }

    #[test]
    fn brackets_are_escaped_only_above_the_limit_of_the_parser() {
        assert_eq!(
            write_fields(&[("a", Field::Text("[x] {y}"))]),
            "a: '[x] {y}'\n"
        );
        let many = "[{".repeat(300);
        let text = write_fields(&[("a", Field::Text(&many)), ("b", Field::Text("x]"))]);
        assert!(
            text.starts_with(r#"a: "\x5B\x7B"#) && text.ends_with("b: 'x]'\n"),
            "{text}"
        );
        assert_eq!(
            super::super::parse(&text).unwrap().value,
            json!({"a": many, "b": "x]"})
        );
    }

    proptest! {
        /// Uses any text, not only those that a draft accepts.
        #[test]
        fn written_texts_parse_to_themselves(text in any::<String>(), key in any::<String>()) {
            let entries = [(key.clone(), text.clone())];
            let written = write_fields(&[("a", Field::Text(&text)), ("b", Field::Mapping(&entries))]);
            let parsed = super::super::parse(&written)
                .map_err(|error| TestCaseError::fail(format!("{written:?}: {error:?}")))?;
            let mut inner = serde_json::Map::new();
            inner.insert(key, Value::String(text.clone()));
            prop_assert_eq!(parsed.value, json!({"a": text, "b": inner}));
            prop_assert!(parsed.duplicate_keys.is_empty() && !parsed.has_tags && !written.contains("---"));
        }
    }
}
