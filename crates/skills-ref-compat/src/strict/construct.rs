//! Converts nodes to values; rejects duplicate keys and inconsistent indentation.

use super::compose::{Content, Node};
use super::cursor::ScanResult;
use super::mark::MarkedError;
use super::value::Value;

/// Builds the value of a document, deepest nodes first: of several errors, the innermost is
/// returned.
pub(super) fn construct_document(node: &Node) -> ScanResult<Value> {
    let Content::Mapping(pairs) = &node.content else {
        return construct_node(node);
    };
    // The reference validator checks what `<<` merges at the top level, but does not return it.
    construct_mapping(node, pairs).map(|(own, _merged)| Value::Map(own))
}

fn construct_node(node: &Node) -> ScanResult<Value> {
    match &node.content {
        Content::Scalar { text, plain: true } if matches!(text.as_str(), "=" | "<<") => {
            Ok(Value::Indicator(text.clone()))
        }
        Content::Scalar { text, .. } => Ok(Value::Text(text.clone())),
        Content::Sequence(items) => items
            .iter()
            .map(construct_node)
            .collect::<ScanResult<Vec<_>>>()
            .map(Value::List),
        Content::Mapping(pairs) => {
            // Own entries override merged ones, as YAML 1.1 defines it.
            let (mut entries, merged) = construct_mapping(node, pairs)?;
            let mut own: std::collections::HashSet<String> =
                entries.iter().map(|(key, _)| key.clone()).collect();
            for (key, value) in merged {
                if own.insert(key.clone()) {
                    entries.push((key, value));
                }
            }
            Ok(Value::Map(entries))
        }
    }
}

/// Entries in the order of the text.
type Entries = Vec<(String, Value)>;

/// Returns the entries of a mapping, and those that `<<` merges into it.
fn construct_mapping(node: &Node, pairs: &[(Node, Node)]) -> ScanResult<(Entries, Entries)> {
    let (mut entries, mut merged) = (Entries::new(), Entries::new());
    let mut seen = std::collections::HashSet::new();
    // Merge keys come first, as in PyYAML, which decides which of two errors is returned.
    for (key, value) in pairs.iter().filter(|(key, _)| is_merge_key(key)) {
        if !seen.insert("<<") {
            return Err(duplicate_key(key, "<<"));
        }
        merge_entries(node, value, &mut merged)?;
    }
    for (key, value) in pairs.iter().filter(|(key, _)| !is_merge_key(key)) {
        let text = match &key.content {
            Content::Scalar { text, .. } => text,
            Content::Mapping(_) => {
                let context = ("while constructing a mapping", node.start);
                let problem = "found unhashable key";
                return Err(MarkedError::within(context, problem, key.start));
            }
            Content::Sequence(_) => {
                let problem = "a key must be text, not a list";
                return Err(MarkedError::new(problem, key.start));
            }
        };
        // Before the check for duplicates: an error in the value is reported first.
        let value = construct_node(value)?;
        if !seen.insert(text.as_str()) {
            return Err(duplicate_key(key, text));
        }
        entries.push((text.clone(), value));
    }
    check_even_indentation(pairs)?;
    Ok((entries, merged))
}

fn duplicate_key(key: &Node, text: &str) -> Box<MarkedError> {
    let problem = format!("Duplicate key '{text}' found");
    MarkedError::within(("While parsing", key.start), problem, key.end)
}

fn is_merge_key(key: &Node) -> bool {
    matches!(&key.content, Content::Scalar { text, plain: true } if text == "<<")
}

/// Adds what `<<` merges: the entries of a mapping or of a list of mappings.
fn merge_entries(node: &Node, value: &Node, merged: &mut Entries) -> ScanResult<()> {
    let mut merge = |value: &Node, expected: &str| {
        let found = match value.content {
            Content::Mapping(_) => {
                if let Value::Map(entries) = construct_node(value)? {
                    merged.extend(entries);
                }
                return Ok(());
            }
            Content::Sequence(_) => "sequence",
            Content::Scalar { .. } => "scalar",
        };
        let context = ("while constructing a mapping", node.start);
        let problem = format!("expected {expected} for merging, but found {found}");
        Err(MarkedError::within(context, problem, value.start))
    };
    match &value.content {
        Content::Sequence(items) => items.iter().try_for_each(|item| merge(item, "a mapping")),
        _ => merge(value, "a mapping or list of mappings"),
    }
}

/// Checks that all nested mappings start in the same column, which strictyaml requires.
fn check_even_indentation(pairs: &[(Node, Node)]) -> ScanResult<()> {
    let mappings = pairs
        .iter()
        .filter(|(key, _)| !is_merge_key(key))
        .map(|(_, value)| value)
        .filter(|value| matches!(value.content, Content::Mapping(_)));
    let mut first_column = None;
    for value in mappings {
        if *first_column.get_or_insert(value.start.column) != value.start.column {
            let problem = "Found mapping with indentation inconsistent with previous mapping";
            let context = ("While parsing", value.start);
            return Err(MarkedError::within(context, problem, value.end));
        }
    }
    Ok(())
}
