//! Reads frontmatter that is no YAML, or YAML with keys that are no scalars: what the author meant
//! is nearly always plain.
//!
//! 1. Values that do not parse alone are put in quotes, tabs of the indentation become spaces, and
//!    the text is read again.
//! 2. When that fails too, the lines of `name` and `description` are read, and nothing else.

mod line_fallback;
mod quote;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, Parsed};

/// What could be read.
pub(crate) struct Repaired {
    pub(crate) parsed: Parsed,
    pub(crate) warnings: Vec<Warning>,
    /// Fields that stand in the text and were not read.
    pub(crate) unparsed: Vec<&'static str>,
}

/// Tries the steps in turn; `problem` and its place say why the text is not read as it stands.
pub(crate) fn repair(
    frontmatter: &Frontmatter<'_>,
    problem: WarningKind,
    at: Position,
) -> Option<Repaired> {
    let (mended, changes) = quote::quote_values(&normalize_line_ends(frontmatter.yaml()));
    let mut warnings = vec![Warning::new(problem, Some(at))];
    if !changes.is_empty()
        && let Ok(read) = yaml::parse(&mended)
        && read.value.is_object()
    {
        warnings.extend(changes.into_iter().map(|change| {
            Warning::new(
                change.kind,
                Some(frontmatter.file_position(change.line, change.column)),
            )
        }));
        return Some(Repaired {
            parsed: read,
            warnings,
            unparsed: Vec::new(),
        });
    }
    recover_by_line(frontmatter, warnings)
}

/// Reads nothing but the lines of `name` and `description`.
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

/// Lists the restrictions that a text seems to declare, whatever stands around them.
pub(crate) fn declared_restrictions(text: &str) -> Vec<&'static str> {
    line_fallback::find_declared_restrictions(&normalize_line_ends(text))
}

/// All line ends as LF, which fences and YAML take for the same.
fn normalize_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}
