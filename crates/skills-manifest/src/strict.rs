//! The strict reading: the verdicts and messages of skills-ref 0.1.0, the reference tool of the
//! specification.
//!
//! It reads with strictyaml, which knows neither types nor flow style, anchors or tags, and it
//! splits the file at the characters `---` wherever they stand. Where the reference tool crashes
//! (bytes that are not UTF-8, control characters, escapes that are no character, very deep nesting,
//! keys that are no text, merge keys), this reading says what is wrong.

mod compose;
mod construct;
mod mark;
mod properties;
pub(crate) mod python;
mod scanner;
mod token;
mod validate;

use std::fmt;

pub use properties::Properties;

/// A value as strictyaml sees it: a scalar is always text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// A plain `=` or `<<`, which strictyaml does not read as text.
    Indicator(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Indicator(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }
}

/// One thing that the strict reading finds wrong with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    code: &'static str,
    message: String,
    line: Option<usize>,
}

impl StrictError {
    fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            message: python::escape_surrogates(message),
            line: None,
        }
    }

    fn with_line(code: &'static str, message: String, line: usize) -> Self {
        Self {
            line: Some(line),
            ..Self::new(code, message)
        }
    }

    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the message of the reference tool, of several lines where it shows a place in the
    /// file.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the line of the file, counted from 1, where it is about one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StrictError {}

/// Lists the scalars of a YAML text that stand there without quotes, keys among them, in their
/// order.
///
/// # Errors
/// What this reading finds wrong with the text, and the line, counted from 1.
pub(crate) fn plain_scalars(yaml: &str) -> Result<Vec<String>, (String, usize)> {
    let text: Vec<char> = yaml.chars().filter(|c| *c != '\0').chain(['\0']).collect();
    let mut scanner = scanner::Scanner::new(&text);
    let mut scalars = Vec::new();
    loop {
        let token = scanner
            .next_token()
            .map_err(|problem| (problem.problem, problem.mark.line + 1))?;
        match token.kind {
            token::TokenKind::StreamEnd => return Ok(scalars),
            token::TokenKind::Scalar { value, plain: true } => scalars.push(value),
            _ => {}
        }
    }
}

/// Lists everything that skills-ref finds wrong with a `SKILL.md` in a directory of the name
/// `directory`.
///
/// A mistake in the YAML hides all others, as it does there. Time and memory are linear in `bytes`,
/// which callers bound.
#[must_use]
pub fn validate(bytes: &[u8], directory: &str) -> Vec<StrictError> {
    match parse_fields(bytes) {
        Ok(fields) => validate::validate(&fields, directory),
        Err(error) => vec![error],
    }
}

/// Reads the fields as skills-ref's `read-properties` does: without checking more than that name
/// and description are there.
///
/// # Errors
/// When the frontmatter cannot be read, or name or description is missing or blank.
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
    let refused = |message: &str| StrictError::new("frontmatter", message.to_owned());
    let Some(rest) = text.strip_prefix("---") else {
        return Err(refused("SKILL.md must start with YAML frontmatter (---)"));
    };
    let Some((yaml, _)) = rest.split_once("---") else {
        return Err(refused("SKILL.md frontmatter not properly closed with ---"));
    };
    match load_yaml(yaml)? {
        Some(Value::Map(entries)) => Ok(entries),
        _ => Err(refused("SKILL.md frontmatter must be a YAML mapping")),
    }
}

fn load_yaml(yaml: &str) -> Result<Option<Value>, StrictError> {
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
    value.map_err(|problem| {
        let message = format!("Invalid YAML in frontmatter: {}", problem.render(&text));
        // The first line of the YAML is the rest of the line of the opening fence.
        StrictError::with_line("yaml", message, problem.mark.line + 1)
    })
}

fn line_number(before: &[u8]) -> usize {
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Python reads all line ends as `\n`.
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
