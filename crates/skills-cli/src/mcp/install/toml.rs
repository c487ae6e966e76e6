//! Edits TOML as people keep it: comments, blank lines and order stay.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::client::Language;
use super::plan::{Change, Entry, PlanError, is_ours};

/// The key of a server that is reached over a network.
const REMOTE: &str = "url";

/// Puts an entry into a text. Line ends of the result are all alike.
pub(crate) fn edit(
    text: &str,
    section: &str,
    entry: &Entry,
) -> Result<(String, Change), PlanError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| syntax(text, &error))?;
    let no_table = || PlanError::NoTable {
        key: Some(section.to_owned()),
    };
    let servers = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = servers.is_inline_table();
    let change = put(
        servers.as_table_like_mut().ok_or_else(no_table)?,
        is_inline,
        entry,
    );
    Ok((document.to_string(), change))
}

/// Puts an entry among the others.
fn put(servers: &mut dyn TableLike, is_inline: bool, entry: &Entry) -> Change {
    let is_new = !servers.contains_key(&entry.name);
    let Some(server) = servers
        .get_mut(&entry.name)
        .filter(|server| is_this(server, entry))
        .and_then(Item::as_table_like_mut)
    else {
        let old = servers.get(&entry.name).and_then(Item::as_table);
        let new = wanted(entry, old);
        let new = if is_inline {
            Item::Value(Value::InlineTable(new.into_inline_table()))
        } else {
            Item::Table(new)
        };
        servers.insert(&entry.name, new);
        return if is_new {
            Change::Added
        } else {
            Change::Replaced
        };
    };
    let mut change = Change::Nothing;
    if server.get("command").and_then(Item::as_str) != Some(&entry.command) {
        set(server, "command", Value::from(&entry.command));
        change = Change::Updated;
    }
    if server.get("args").and_then(texts) != Some(entry.arguments.clone()) {
        set(server, "args", Value::Array(arguments(entry)));
        change = Change::Updated;
    }
    change
}

/// Says whether an entry starts this program.
fn is_this(server: &Item, entry: &Entry) -> bool {
    let text = |key| server.get(key).and_then(Item::as_str);
    let first = server
        .get("args")
        .and_then(Item::as_array)
        .and_then(|arguments| arguments.get(0))
        .and_then(Value::as_str);
    server.get(REMOTE).is_none() && is_ours(entry, text("command"), first)
}

/// Makes the table of an entry, where and with the comments before it that another stood with.
fn wanted(entry: &Entry, old: Option<&Table>) -> Table {
    let mut table = Table::new();
    table.insert("command", toml_edit::value(&entry.command));
    table.insert("args", toml_edit::value(arguments(entry)));
    if let Some(old) = old.filter(|old| !old.is_dotted() && !old.is_implicit()) {
        table.set_position(old.position());
        *table.decor_mut() = old.decor().clone();
    }
    table
}

fn arguments(entry: &Entry) -> Array {
    entry.arguments.iter().collect()
}

/// Changes a value, and keeps what is written around it.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

fn texts(item: &Item) -> Option<Vec<String>> {
    item.as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

fn syntax(text: &str, error: &toml_edit::TomlError) -> PlanError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1;
    PlanError::Syntax {
        language: Language::Toml,
        line,
        message: error.message().to_owned(),
    }
}
