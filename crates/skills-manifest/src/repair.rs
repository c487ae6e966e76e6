//! Repairs frontmatter that is not valid YAML, or has keys that are not scalars.
//!
//! Most broken frontmatter has an unquoted value with a colon or a quote, and its meaning is
//! obvious.
//!
//! 1. Values that are not valid YAML are quoted, tabs in the indentation become spaces, and the
//!    text is parsed again.
//! 2. If that fails too, only `name` and `description` are recovered from their lines.
//!
//! Repairs never grant: restrictions in lines that were not read count as unparsed.

mod line_fallback;
mod lost_restrictions;
mod quote;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::field_names::is_spelling_of;
use crate::frontmatter::Frontmatter;
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, ParseError, ParseErrorKind, Parsed};
use quote::Edit;

/// The result of a repair.
pub(crate) struct Repaired {
    pub(crate) parsed: Parsed,
    pub(crate) warnings: Vec<Warning>,
    /// Restrictions that are in the text but not in `parsed`.
    pub(crate) unparsed: Vec<&'static str>,
}

/// For a text that needs no repair.
impl From<Parsed> for Repaired {
    fn from(parsed: Parsed) -> Self {
        Self {
            parsed,
            warnings: Vec::new(),
            unparsed: Vec::new(),
        }
    }
}

/// Repairs the frontmatter; `None` if no description can be recovered.
///
/// `error` is why the text could not be parsed; it is the first warning.
pub(crate) fn repair(frontmatter: &Frontmatter<'_>, error: &ParseError) -> Option<Repaired> {
    let problem = to_warning(frontmatter, error)?;
    match parse_quoted(frontmatter) {
        Some((parsed, edits)) => {
            let unparsed = restrictions_in_guessed_lines(frontmatter, &parsed, &edits);
            let edits = edits.into_iter().map(|edit| {
                let position = frontmatter.file_position(edit.line, edit.column);
                Warning::new(edit.kind, Some(position))
            });
            Some(Repaired {
                warnings: std::iter::once(problem).chain(edits).collect(),
                unparsed,
                parsed,
            })
        }
        None => recover_by_line(frontmatter, vec![problem]),
    }
}

/// Returns the warning about a repaired error; `None` for an error that must not be repaired.
fn to_warning(frontmatter: &Frontmatter<'_>, error: &ParseError) -> Option<Warning> {
    let kind = match error.kind {
        ParseErrorKind::Syntax => WarningKind::YamlRepaired {
            problem: error.message.clone(),
        },
        ParseErrorKind::KeyNotScalar { found } => WarningKind::KeyNotScalar { found },
        // Repairs parse the text again, from which the limits protect.
        ParseErrorKind::BudgetExceeded => return None,
    };
    let position = frontmatter.file_position(error.line, error.column);
    Some(Warning::new(kind, Some(position)))
}

/// Quotes the invalid values and parses the text again; returns the edits too.
fn parse_quoted(frontmatter: &Frontmatter<'_>) -> Option<(Parsed, Vec<Edit>)> {
    let (text, edits) = quote::quote_values(&normalize_line_ends(frontmatter.yaml()));
    let parsed = (!edits.is_empty())
        .then(|| yaml::parse(&text).ok())
        .flatten()
        // A scalar has no fields, but recovery from its lines may still find some.
        .filter(|parsed| parsed.value.is_object())?;
    Some((parsed, edits))
}

/// Recovers `name` and `description` from their lines; `None` if there is no description.
///
/// `warnings` are those of the repair so far.
pub(crate) fn recover_by_line(
    frontmatter: &Frontmatter<'_>,
    mut warnings: Vec<Warning>,
) -> Option<Repaired> {
    let found = line_fallback::recover_fields(&normalize_line_ends(frontmatter.yaml()))?;
    for (field, line) in &found.lines {
        warnings.push(Warning::new(
            WarningKind::RecoveredFromLine { field },
            Some(frontmatter.file_position(*line, 1)),
        ));
    }
    let mut map = Map::new();
    map.extend(
        found
            .name
            .map(|name| ("name".to_owned(), Value::String(name))),
    );
    map.insert("description".to_owned(), Value::String(found.description));
    Some(Repaired {
        parsed: Parsed::from_map(map),
        warnings,
        unparsed: found.unparsed,
    })
}

/// Returns the restrictions in lines that the edits made part of a value and that no field of the
/// mapping is. All other lines were read as a mapping.
fn restrictions_in_guessed_lines(
    frontmatter: &Frontmatter<'_>,
    parsed: &Parsed,
    edits: &[Edit],
) -> Vec<&'static str> {
    let text = normalize_line_ends(frontmatter.yaml());
    let lines: Vec<&str> = text.lines().collect();
    let guessed: Vec<_> = edits
        .iter()
        .map(|edit| edit.guessed_lines.clone())
        .collect();
    let has_field = |field: &str| {
        let fields = parsed.value.as_object();
        fields.is_some_and(|fields| fields.keys().any(|key| is_spelling_of(key, field)))
    };
    let mut found = lost_restrictions::find_in_guessed(&lines, &guessed);
    found.retain(|field| !has_field(field));
    found
}

/// Returns the restrictions that the lines of an unread text declare, valid or not.
pub(crate) fn declared_restrictions(text: &str) -> Vec<&'static str> {
    let text = normalize_line_ends(text);
    let lines: Vec<&str> = text.lines().collect();
    lost_restrictions::find_outside(&lines, &[])
}

/// Converts all line ends to LF, which delimiters and YAML treat as equal.
fn normalize_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}
