//! Edits TOML configuration. Comments, blank lines and order are preserved.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::commands::mcp::install::client::ConfigLanguage;
use crate::commands::mcp::install::server_entry::{
    ConfigEditError, EntryChange, ServerEntry, is_this_program,
};

/// Key of a remote server.
const REMOTE_KEY: &str = "url";

/// The syntax of the table of servers. Entries of an inline table cannot be sections.
#[derive(Debug, Clone, Copy)]
enum TableStyle {
    /// `[mcp_servers.name]`.
    Section,
    /// `mcp_servers = { name = {} }`.
    Inline,
}

/// Adds or updates an entry in a text. The result has uniform line ends.
pub(super) fn edit_toml(
    text: &str,
    section: &str,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), ConfigEditError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| syntax_error(text, &error))?;
    let no_table = || ConfigEditError::NotATable {
        key: Some(section.to_owned()),
    };
    let servers = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        // Without a header of its own, since it contains only sections.
        table.set_implicit(true);
        Item::Table(table)
    });
    let style = if servers.is_inline_table() {
        TableStyle::Inline
    } else {
        TableStyle::Section
    };
    let change = put_entry(
        servers.as_table_like_mut().ok_or_else(no_table)?,
        style,
        entry,
    );
    Ok((document.to_string(), change))
}

/// Adds or updates an entry in the table of servers.
fn put_entry(servers: &mut dyn TableLike, style: TableStyle, entry: &ServerEntry) -> EntryChange {
    let is_new = !servers.contains_key(&entry.name);
    let Some(server) = servers
        .get_mut(&entry.name)
        .filter(|server| is_same_server(server, entry))
        .and_then(Item::as_table_like_mut)
    else {
        let old = servers.get(&entry.name).and_then(Item::as_table);
        let new = entry_table(entry, old);
        let new = match style {
            TableStyle::Inline => Item::Value(Value::InlineTable(new.into_inline_table())),
            TableStyle::Section => Item::Table(new),
        };
        servers.insert(&entry.name, new);
        return if is_new {
            EntryChange::Added
        } else {
            EntryChange::Replaced
        };
    };
    let mut change = EntryChange::Unchanged;
    if server.get("command").and_then(Item::as_str) != Some(&entry.command) {
        set_value(server, "command", Value::from(&entry.command));
        change = EntryChange::Updated;
    }
    if server.get("args").and_then(string_list) != Some(entry.arguments.clone()) {
        set_value(server, "args", Value::Array(argument_array(entry)));
        change = EntryChange::Updated;
    }
    change
}

/// Returns true if an entry starts this program.
fn is_same_server(server: &Item, entry: &ServerEntry) -> bool {
    let text = |key| server.get(key).and_then(Item::as_str);
    let first = server
        .get("args")
        .and_then(Item::as_array)
        .and_then(|arguments| arguments.get(0))
        .and_then(Value::as_str);
    server.get(REMOTE_KEY).is_none() && is_this_program(entry, text("command"), first)
}

/// Creates the table of an entry, with the position and the leading comments of the old one.
fn entry_table(entry: &ServerEntry, old: Option<&Table>) -> Table {
    let mut table = Table::new();
    table.insert("command", toml_edit::value(&entry.command));
    table.insert("args", toml_edit::value(argument_array(entry)));
    // A dotted or implicit table has no header whose position and comments could be kept.
    if let Some(old) = old.filter(|old| !old.is_dotted() && !old.is_implicit()) {
        table.set_position(old.position());
        *table.decor_mut() = old.decor().clone();
    }
    table
}

fn argument_array(entry: &ServerEntry) -> Array {
    entry.arguments.iter().collect()
}

/// Changes a value and preserves the surrounding whitespace and comments.
fn set_value(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

fn string_list(item: &Item) -> Option<Vec<String>> {
    item.as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

fn syntax_error(text: &str, error: &toml_edit::TomlError) -> ConfigEditError {
    // An error at the end of the text can have a span that ends behind it.
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1;
    ConfigEditError::Syntax {
        language: ConfigLanguage::Toml,
        line,
        message: error.message().to_owned(),
    }
}
