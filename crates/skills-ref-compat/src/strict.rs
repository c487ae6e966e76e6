//! Strict validation: the results and messages of skills-ref 0.1.0, the reference validator of the
//! specification, byte for byte.
//!
//! The reference validator parses with strictyaml, a subset of YAML without types, flow style,
//! anchors and tags, and it splits the file at the characters `---` wherever they occur. Its
//! scanner is that of ruamel.yaml, a fork of PyYAML; this module is a port of it, since the
//! messages depend on the order in which it looks ahead. Where the reference validator crashes
//! (bytes that are not UTF-8, control characters, escapes that are not a character, very deep
//! nesting, keys that are not text, merge keys), this module returns an error with a message of its
//! own.

mod compose;
mod construct;
mod cursor;
mod error;
mod mark;
mod properties;
pub(crate) mod python;
mod scanner;
mod token;
mod validate;
mod value;

use value::Value;

pub use error::StrictError;
pub use properties::Properties;

/// Returns the errors that skills-ref reports for a `SKILL.md` in a directory called `directory`.
///
/// The list is empty for a valid skill. An error in the YAML hides all others, as it does in the
/// reference validator. Time and memory are linear in `bytes`, whose length callers limit.
#[must_use]
pub fn validate(bytes: &[u8], directory: &str) -> Vec<StrictError> {
    match parse_fields(bytes) {
        Ok(fields) => validate::validate(&fields, directory),
        Err(error) => vec![error],
    }
}

/// Parses the fields as `read-properties` of skills-ref does, without validating them.
///
/// # Errors
/// [`StrictError`] if the frontmatter cannot be parsed, or `name` or `description` is missing or
/// blank.
pub fn read_properties(bytes: &[u8]) -> Result<Properties, StrictError> {
    Properties::new(&parse_fields(bytes)?)
}

fn parse_fields(bytes: &[u8]) -> Result<Vec<(String, Value)>, StrictError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        StrictError::with_line(
            "encoding",
            format!("SKILL.md is not UTF-8 (byte {at})"),
            line_number(&bytes[..at]),
        )
    })?;
    let text = universal_newlines(text);
    let Some(rest) = text.strip_prefix("---") else {
        return Err(frontmatter_error(
            "SKILL.md must start with YAML frontmatter (---)",
        ));
    };
    // The reference validator splits the text, not its lines: a `---` in a value ends it as well.
    let Some((yaml, _)) = rest.split_once("---") else {
        return Err(frontmatter_error(
            "SKILL.md frontmatter not properly closed with ---",
        ));
    };
    match load_yaml(yaml)? {
        Some(Value::Map(entries)) => Ok(entries),
        _ => Err(frontmatter_error(
            "SKILL.md frontmatter must be a YAML mapping",
        )),
    }
}

fn frontmatter_error(message: &str) -> StrictError {
    StrictError::new("frontmatter", message.to_owned())
}

fn load_yaml(yaml: &str) -> Result<Option<Value>, StrictError> {
    // The reference validator crashes on these characters; the scanner does not check them.
    if let Some((index, c)) = yaml.char_indices().find(|(_, c)| !is_yaml_printable(*c)) {
        let message = format!(
            "Invalid YAML in frontmatter: the character U+{:04X} is not allowed",
            c as u32
        );
        return Err(StrictError::with_line(
            "yaml",
            message,
            line_number(&yaml.as_bytes()[..index]),
        ));
    }
    let text: Vec<char> = yaml.chars().chain(['\0']).collect();
    let value = compose::compose_document(&text)
        .and_then(|node| node.as_ref().map(construct::construct_document).transpose());
    value.map_err(|error| {
        let message = format!("Invalid YAML in frontmatter: {}", error.render(&text));
        // Line 0 of the YAML is the rest of the line with the opening delimiter, line 1 of the
        // file.
        StrictError::with_line("yaml", message, error.mark.line + 1)
    })
}

fn line_number(before: &[u8]) -> usize {
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Converts all line ends to `\n`, as Python does when it opens a file as text.
fn universal_newlines(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

fn is_yaml_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{85}' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
        || c >= '\u{10000}'
}
