//! Edits JSON configuration. Comments, trailing commas, indentation and order are preserved.

use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

use skills_clients::ConfigLanguage;

use crate::client::ServerClient;
use crate::error::EditError;
use crate::server_entry::{EntryChange, ServerEntry};

/// Comments and trailing commas are common in files of editors; other extensions of JSON are
/// errors.
const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text. An empty one is null.
pub(super) fn parse_json(text: &str) -> Result<Value, EditError> {
    let parsed: Option<Value> =
        parse_to_serde_value(text, &PARSE_OPTIONS).map_err(|error| syntax_error(&error))?;
    Ok(parsed.unwrap_or_default())
}

/// Adds or updates an entry in a text.
pub(super) fn edit_json(
    text: &str,
    client: ServerClient,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), EditError> {
    let root = CstRootNode::parse(text, &PARSE_OPTIONS).map_err(|error| syntax_error(&error))?;
    let top = root
        .object_value_or_create()
        .ok_or(EditError::NotAnObject)?;
    let change = match single_property(&top, client.format.section)? {
        None => {
            let servers = vec![(entry.name.clone(), to_cst(&entry_value(client, entry)))];
            top.append(client.format.section, CstInputValue::Object(servers));
            EntryChange::Added
        }
        Some(section) => {
            let key = client.format.section.to_owned();
            let servers = section.object_value();
            let servers = servers.ok_or(EditError::NotATable { key })?;
            match nested_servers(&servers, client, entry)? {
                Some((servers, client)) => put_entry(&servers, client, entry)?,
                None => put_entry(&servers, client, entry)?,
            }
        }
    };
    Ok((root.to_string(), change))
}

/// Returns the table of servers of newer versions of the client, if the file has one and the entry
/// belongs there: those versions read both tables, and prefer this one for a name in both.
fn nested_servers(
    servers: &CstObject,
    client: ServerClient,
    entry: &ServerEntry,
) -> Result<Option<(CstObject, ServerClient)>, EditError> {
    let Some(nested) = client.nested() else {
        return Ok(None);
    };
    let table = single_property(servers, nested.format.section)?;
    let Some(table) = table.and_then(|table| table.object_value()) else {
        return Ok(None);
    };
    // A server of this name, in the older table.
    let is_server = members(&table).get("type").is_some_and(Value::is_string);
    let is_in = |table: &CstObject| Ok(single_property(table, &entry.name)?.is_some());
    let is_older = is_in(servers)? && !is_in(&table)?;
    Ok((!is_server && !is_older).then_some((table, nested)))
}

/// Adds or updates an entry in the table of servers.
fn put_entry(
    servers: &CstObject,
    client: ServerClient,
    entry: &ServerEntry,
) -> Result<EntryChange, EditError> {
    let Some(server) = single_property(servers, &entry.name)? else {
        servers.append(&entry.name, to_cst(&entry_value(client, entry)));
        return Ok(EntryChange::Added);
    };
    // An entry of another program is replaced as a whole: its environment and other fields were
    // meant for that program.
    let Some(object) = server
        .object_value()
        .filter(|object| client.is_same_server(&members(object), entry))
    else {
        server.set_value(to_cst(&entry_value(client, entry)));
        return Ok(EntryChange::Replaced);
    };
    let mut change = EntryChange::Unchanged;
    for field in client.entry_fields(entry) {
        let old = single_property(&object, field.key)?;
        let value = old.as_ref().map(property_value);
        // An equal value is not written again, which would lose its comments and layout.
        let Some(value) = field.replacement(value.as_ref()) else {
            continue;
        };
        match (old, value) {
            (Some(old), Value::Object(new)) if old.object_value().is_some() => {
                put_members(&old, &new)?;
            }
            (Some(old), value) => old.set_value(to_cst(&value)),
            (None, value) => drop(object.append(field.key, to_cst(&value))),
        }
        change = EntryChange::Updated;
    }
    Ok(change)
}

/// Makes the members of an object the new ones. Equal ones are not written again.
fn put_members(property: &CstObjectProp, new: &Map<String, Value>) -> Result<(), EditError> {
    let Some(object) = property.object_value() else {
        return Ok(());
    };
    for old in object.properties() {
        let name = old.decoded_name();
        if name.is_none_or(|name| !new.contains_key(&name)) {
            old.remove();
        }
    }
    for (name, value) in new {
        match single_property(&object, name)? {
            Some(old) if property_value(&old) == *value => {}
            Some(old) => old.set_value(to_cst(value)),
            None => drop(object.append(name, to_cst(value))),
        }
    }
    Ok(())
}

fn members(object: &CstObject) -> Map<String, Value> {
    object
        .properties()
        .iter()
        .filter_map(|property| Some((property.decoded_name()?, property_value(property))))
        .collect()
}

fn entry_value(client: ServerClient, entry: &ServerEntry) -> Value {
    let fields = client.entry_fields(entry).into_iter();
    Value::Object(
        fields
            .map(|field| (field.key.to_owned(), field.value))
            .collect(),
    )
}

/// Finds the property of a name. A duplicate is an error, since programs differ in which one they
/// use.
fn single_property(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, EditError> {
    let mut found = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError::DuplicateKey {
            key: name.to_owned(),
        }),
        (first, None) => Ok(first),
    }
}

fn property_value(property: &CstObjectProp) -> Value {
    // The value was parsed before, so this cannot fail.
    property
        .value()
        .and_then(|value| parse_to_serde_value(&value.to_string(), &PARSE_OPTIONS).ok())
        .unwrap_or_default()
}

/// Converts a JSON value to an input of the syntax tree.
fn to_cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(to_cst).collect()),
        Value::Object(values) => CstInputValue::Object(
            values
                .iter()
                .map(|(key, value)| (key.clone(), to_cst(value)))
                .collect(),
        ),
    }
}

fn syntax_error(error: &ParseError) -> EditError {
    EditError::Syntax {
        language: ConfigLanguage::Json,
        line: error.line_display(),
        message: error.kind().to_string(),
    }
}
