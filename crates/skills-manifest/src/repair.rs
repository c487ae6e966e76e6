//! Repairs frontmatter that is not valid YAML, or has keys that are not scalars.
//!
//! Most broken frontmatter has an unquoted value with a colon or a quote, and its meaning is
//! obvious.
//!
//! 1. Values that are not valid YAML are quoted, tabs in the indentation become spaces, and the
//!    text is parsed again.
//! 2. If that fails too, only `name` and `description` are recovered from their lines.
//!
//! Repairs never grant: restrictions in the text that the result lacks count as unparsed.

mod line_fallback;
mod quote;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, Parsed};

/// The result of a repair.
pub(crate) struct Repaired {
    pub(crate) parsed: Parsed,
    pub(crate) warnings: Vec<Warning>,
    /// Restrictions that are in the text but not in `parsed`.
    pub(crate) unparsed: Vec<&'static str>,
}

/// Repairs the frontmatter; `None` if no description can be recovered.
///
/// `problem` at `position` is why the text could not be parsed; it is the first warning.
pub(crate) fn repair(
    frontmatter: &Frontmatter<'_>,
    problem: WarningKind,
    position: Position,
) -> Option<Repaired> {
    let (repaired, edits) = quote::quote_values(&normalize_line_ends(frontmatter.yaml()));
    let mut warnings = vec![Warning::new(problem, Some(position))];
    if !edits.is_empty()
        && let Ok(parsed) = yaml::parse(&repaired)
        // A scalar has no fields, but recovery from its lines may still find some.
        && parsed.value.is_object()
    {
        warnings.extend(edits.into_iter().map(|edit| {
            Warning::new(
                edit.kind,
                Some(frontmatter.file_position(edit.line, edit.column)),
            )
        }));
        return Some(Repaired {
            parsed,
            warnings,
            unparsed: Vec::new(),
        });
    }
    recover_by_line(frontmatter, warnings)
}

/// Recovers `name` and `description` from their lines; `None` if there is no description.
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
        parsed: Parsed {
            value: Value::Object(map),
            duplicate_keys: Vec::new(),
            has_tags: false,
        },
        warnings,
        unparsed: found.unparsed,
    })
}

/// Returns the restrictions that a text may declare, valid or not.
pub(crate) fn declared_restrictions(text: &str) -> Vec<&'static str> {
    line_fallback::find_declared_restrictions(&normalize_line_ends(text))
}

/// Converts all line ends to LF, which delimiters and YAML treat as equal.
fn normalize_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}
