//! Turns nodes into values, and refuses repeated keys and uneven indentation.

use super::Value;
use super::compose::{Content, Node};
use super::mark::Problem;
use super::scanner::Scan;

/// Builds the value of a document, deepest first: of several mistakes the innermost is reported.
pub(super) fn document(node: &Node) -> Scan<Value> {
    let Content::Mapping(pairs) = &node.content else { return construct(node) };
    // What `<<` merges at the top the reference tool reads and then shows nothing of.
    mapping(node, pairs).map(|(own, _merged)| Value::Map(own))
}

fn construct(node: &Node) -> Scan<Value> {
    match &node.content {
        Content::Scalar { text, plain: true } if matches!(text.as_str(), "=" | "<<") => Ok(Value::Sign(text.clone())),
        Content::Scalar { text, .. } => Ok(Value::Text(text.clone())),
        Content::Sequence(items) => items.iter().map(construct).collect::<Scan<Vec<_>>>().map(Value::List),
        Content::Mapping(pairs) => {
            let (mut entries, merged) = mapping(node, pairs)?;
            let mut own: std::collections::HashSet<String> = entries.iter().map(|(key, _)| key.clone()).collect();
            for (key, value) in merged {
                if own.insert(key.clone()) {
                    entries.push((key, value));
                }
            }
            Ok(Value::Map(entries))
        }
    }
}

type Entries = Vec<(String, Value)>;

/// Returns the entries of a mapping, and those that `<<` merges into it.
fn mapping(node: &Node, pairs: &[(Node, Node)]) -> Scan<(Entries, Entries)> {
    let (mut entries, mut merged) = (Entries::new(), Entries::new());
    let mut seen = std::collections::HashSet::new();
    for (key, value) in pairs.iter().filter(|(key, _)| is_merge(key)) {
        if !seen.insert("<<") {
            return Err(Problem::within("While parsing", key.start, "Duplicate key '<<' found", key.end));
        }
        merge(node, value, &mut merged)?;
    }
    for (key, value) in pairs.iter().filter(|(key, _)| !is_merge(key)) {
        let text = match &key.content {
            Content::Scalar { text, .. } => text,
            Content::Mapping(_) => {
                return Err(Problem::within("while constructing a mapping", node.start, "found unhashable key", key.start));
            }
            Content::Sequence(_) => return Err(Problem::new("a key must be text, not a list", key.start)),
        };
        let value = construct(value)?;
        if !seen.insert(text.as_str()) {
            return Err(Problem::within("While parsing", key.start, format!("Duplicate key '{text}' found"), key.end));
        }
        entries.push((text.clone(), value));
    }
    even_indentation(pairs)?;
    Ok((entries, merged))
}

fn is_merge(key: &Node) -> bool {
    matches!(&key.content, Content::Scalar { text, plain: true } if text == "<<")
}

/// Reads what `<<` merges: a mapping or a list of them.
fn merge(node: &Node, value: &Node, merged: &mut Entries) -> Scan<()> {
    let refuse = |text, at| Err(Problem::within("while constructing a mapping", node.start, text, at));
    let mut take = |value: &Node| {
        if let Value::Map(entries) = construct(value)? {
            merged.extend(entries);
        }
        Ok(())
    };
    match &value.content {
        Content::Mapping(_) => take(value),
        Content::Sequence(items) => items.iter().try_for_each(|item| match item.content {
            Content::Mapping(_) => take(item),
            Content::Sequence(_) => refuse("expected a mapping for merging, but found sequence", item.start),
            Content::Scalar { .. } => refuse("expected a mapping for merging, but found scalar", item.start),
        }),
        Content::Scalar { .. } => refuse("expected a mapping or list of mappings for merging, but found scalar", value.start),
    }
}

fn even_indentation(pairs: &[(Node, Node)]) -> Scan<()> {
    let mappings =
        pairs.iter().filter(|(key, _)| !is_merge(key)).map(|(_, value)| value).filter(|value| matches!(value.content, Content::Mapping(_)));
    let mut previous = None;
    for value in mappings {
        if *previous.get_or_insert(value.start.column) != value.start.column {
            let text = "Found mapping with indentation inconsistent with previous mapping";
            return Err(Problem::within("While parsing", value.start, text, value.end));
        }
    }
    Ok(())
}
