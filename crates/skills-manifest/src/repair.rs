//! Reads frontmatter that is no YAML, or YAML with keys that are no scalars: what the author meant is nearly always plain.
//!
//! 1. Values that do not parse alone are put in quotes, tabs of the indentation become spaces, and the text is read again.
//! 2. When that fails too, the lines of `name` and `description` are read, and nothing else.

mod lines;
mod quote;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, Read};

/// What could be read.
pub(crate) struct Repaired {
    pub(crate) read: Read,
    pub(crate) warnings: Vec<Warning>,
    /// Fields that stand in the text and were not read.
    pub(crate) unread: Vec<&'static str>,
}

/// Tries the steps in turn; `problem` and its place say why the text is not read as it stands.
pub(crate) fn repair(frontmatter: &Frontmatter<'_>, problem: WarningKind, at: Position) -> Option<Repaired> {
    let (mended, changes) = quote::mend(&with_line_feeds(frontmatter.yaml()));
    let mut warnings = vec![Warning::new(problem, Some(at))];
    if !changes.is_empty()
        && let Ok(read) = yaml::read(&mended)
        && read.value.is_object()
    {
        warnings
            .extend(changes.into_iter().map(|change| Warning::new(change.kind, Some(frontmatter.position(change.line, change.column)))));
        return Some(Repaired { read, warnings, unread: Vec::new() });
    }
    by_lines(frontmatter, warnings)
}

/// Reads nothing but the lines of `name` and `description`.
pub(crate) fn by_lines(frontmatter: &Frontmatter<'_>, mut warnings: Vec<Warning>) -> Option<Repaired> {
    let found = lines::read(&with_line_feeds(frontmatter.yaml()))?;
    for (field, line) in &found.places {
        warnings.push(Warning::new(WarningKind::LineRead { field }, Some(frontmatter.position(*line, 1))));
    }
    let mut map = Map::new();
    map.extend(found.name.map(|name| ("name".to_owned(), Value::String(name))));
    map.insert("description".to_owned(), Value::String(found.description));
    Some(Repaired { read: Read { value: Value::Object(map), repeated: Vec::new(), tagged: false }, warnings, unread: found.unread })
}

/// Lists the restrictions that a text seems to declare, whatever stands around them.
pub(crate) fn declared(text: &str) -> Vec<&'static str> {
    lines::declared(&with_line_feeds(text))
}

/// All line ends as LF, which fences and YAML take for the same.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}
