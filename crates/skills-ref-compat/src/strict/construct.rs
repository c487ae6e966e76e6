//! Converts nodes to values; rejects duplicate keys and inconsistent indentation.

use super::Value;
use super::compose::{Content, Node};
use super::mark::MarkedError;
use super::scanner::ScanResult;

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
            return Err(MarkedError::with_context(
                "While parsing",
                key.start,
                "Duplicate key '<<' found",
                key.end,
            ));
        }
        merge_entries(node, value, &mut merged)?;
    }
    for (key, value) in pairs.iter().filter(|(key, _)| !is_merge_key(key)) {
        let text = match &key.content {
            Content::Scalar { text, .. } => text,
            Content::Mapping(_) => {
                return Err(MarkedError::with_context(
                    "while constructing a mapping",
                    node.start,
                    "found unhashable key",
                    key.start,
                ));
            }
            Content::Sequence(_) => {
                return Err(MarkedError::new(
                    "a key must be text, not a list",
                    key.start,
                ));
            }
        };
        // Before the check for duplicates: an error in the value is reported first.
        let value = construct_node(value)?;
        if !seen.insert(text.as_str()) {
            return Err(MarkedError::with_context(
                "While parsing",
                key.start,
                format!("Duplicate key '{text}' found"),
                key.end,
            ));
        }
        entries.push((text.clone(), value));
    }
    check_even_indentation(pairs)?;
    Ok((entries, merged))
}

fn is_merge_key(key: &Node) -> bool {
    matches!(&key.content, Content::Scalar { text, plain: true } if text == "<<")
}

/// Adds what `<<` merges: the entries of a mapping or of a list of mappings.
fn merge_entries(node: &Node, value: &Node, merged: &mut Entries) -> ScanResult<()> {
    let reject = |text, mark| {
        Err(MarkedError::with_context(
            "while constructing a mapping",
            node.start,
            text,
            mark,
        ))
    };
    let mut merge = |value: &Node| {
        if let Value::Map(entries) = construct_node(value)? {
            merged.extend(entries);
        }
        Ok(())
    };
    match &value.content {
        Content::Mapping(_) => merge(value),
        Content::Sequence(items) => items.iter().try_for_each(|item| match item.content {
            Content::Mapping(_) => merge(item),
            Content::Sequence(_) => reject(
                "expected a mapping for merging, but found sequence",
                item.start,
            ),
            Content::Scalar { .. } => reject(
                "expected a mapping for merging, but found scalar",
                item.start,
            ),
        }),
        Content::Scalar { .. } => reject(
            "expected a mapping or list of mappings for merging, but found scalar",
            value.start,
        ),
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
            let text = "Found mapping with indentation inconsistent with previous mapping";
            return Err(MarkedError::with_context(
                "While parsing",
                value.start,
                text,
                value.end,
            ));
        }
    }
    Ok(())
}
