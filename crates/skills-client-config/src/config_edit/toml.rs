//! Edits TOML configuration. Comments, blank lines and order are preserved.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use skills_clients::ConfigLanguage;

use crate::client::ServerClient;
use crate::error::EditError;
use crate::server_entry::{EntryChange, ServerEntry};

/// The syntax of the table of servers. Entries of an inline table cannot be sections.
#[derive(Debug, Clone, Copy)]
enum TableStyle {
    /// `[mcp_servers.name]`.
    Section,
    /// `mcp_servers = { name = {} }`.
    Inline,
}

/// Parses a text.
pub(super) fn parse_toml(text: &str) -> Result<Json, EditError> {
    Ok(Json::Object(members(parse(text)?.as_table())))
}

/// Adds or updates an entry in a text. The result has uniform line ends.
pub(super) fn edit_toml(
    text: &str,
    client: ServerClient,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), EditError> {
    let mut document = parse(text)?;
    let no_table = || EditError::NotATable {
        key: client.format.section.to_owned(),
    };
    let servers = document.entry(client.format.section).or_insert_with(|| {
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
        client,
        entry,
    );
    Ok((document.to_string(), change))
}

/// Adds or updates an entry in the table of servers.
fn put_entry(
    servers: &mut dyn TableLike,
    style: TableStyle,
    client: ServerClient,
    entry: &ServerEntry,
) -> EntryChange {
    let is_new = !servers.contains_key(&entry.name);
    let Some(server) = servers
        .get_mut(&entry.name)
        .and_then(Item::as_table_like_mut)
        .filter(|server| client.is_same_server(&members(*server), entry))
    else {
        let old = servers.get(&entry.name).and_then(Item::as_table);
        let new = entry_table(client, entry, old);
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
    for field in client.entry_fields(entry) {
        let old = server.get(field.key).map(to_json);
        if let Some(value) = field.replacement(old.as_ref()) {
            set_value(server, field.key, to_toml(&value));
            change = EntryChange::Updated;
        }
    }
    change
}

/// Creates the table of an entry, with the position and the leading comments of the old one.
fn entry_table(client: ServerClient, entry: &ServerEntry, old: Option<&Table>) -> Table {
    let mut table = Table::new();
    for field in client.entry_fields(entry) {
        table.insert(field.key, Item::Value(to_toml(&field.value)));
    }
    // A dotted or implicit table has no header whose position and comments could be kept.
    if let Some(old) = old.filter(|old| !old.is_dotted() && !old.is_implicit()) {
        table.set_position(old.position());
        *table.decor_mut() = old.decor().clone();
    }
    table
}

fn members(table: &dyn TableLike) -> Map<String, Json> {
    table
        .iter()
        .map(|(key, item)| (key.to_owned(), to_json(item)))
        .collect()
}

/// Converts the types that entries have; a value of another type equals none of an entry.
fn to_json(item: &Item) -> Json {
    match item {
        Item::Value(Value::String(text)) => Json::from(text.value().as_str()),
        Item::Value(Value::Integer(number)) => Json::from(*number.value()),
        Item::Value(Value::Boolean(value)) => Json::from(*value.value()),
        Item::Value(Value::Array(values)) => {
            let values = values.iter().cloned();
            values.map(|value| to_json(&Item::Value(value))).collect()
        }
        item => match item.as_table_like() {
            Some(table) => Json::Object(members(table)),
            None => Json::Null,
        },
    }
}

fn to_toml(value: &Json) -> Value {
    match value {
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => Value::from(number.as_i64().unwrap_or(i64::MAX)),
        Json::Array(values) => Value::Array(values.iter().map(to_toml).collect::<Array>()),
        Json::Object(members) => {
            let members = members.iter().map(|(key, value)| (key, to_toml(value)));
            Value::InlineTable(members.collect::<InlineTable>())
        }
        Json::String(text) => Value::from(text),
        // Entries have no null.
        Json::Null => Value::from(""),
    }
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

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    let parsed = text.parse();
    parsed.map_err(|error: toml_edit::TomlError| syntax_error(text, &error))
}

fn syntax_error(text: &str, error: &toml_edit::TomlError) -> EditError {
    // An error at the end of the text can have a span that ends behind it.
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1;
    EditError::Syntax {
        language: ConfigLanguage::Toml,
        line,
        message: error.message().to_owned(),
    }
}
