//! The fields of an entry in the form of a client.

use serde_json::{Map, Value, json};
use skills_clients::{DefaultValue, ServerField};
use skills_manifest::RequiredServer;

use crate::client::ServerClient;
use crate::server_entry::{EntryOrigin, ServerEntry, Transport, is_this_program};

/// Keys of a remote server, which clients prefer over a command.
const REMOTE_KEYS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// A field of a server entry with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntryField {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) presence: Presence,
}

/// When a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// In every entry.
    Always,
    /// In new entries, and where an existing entry has it.
    IfPresent,
    /// In new entries.
    NewOnly,
}

impl ServerClient {
    /// Returns the fields of an entry in the order of a new one.
    pub(crate) fn entry_fields(&self, entry: &ServerEntry) -> Vec<EntryField> {
        let shape = match entry.transport {
            Transport::Stdio { .. } => self.format.stdio,
            Transport::Http { .. } => self.format.http,
        };
        let fields = shape.iter().filter_map(|field| with_value(*field, entry));
        fields.collect()
    }

    /// Returns true if an existing entry starts this program, or connects to this URL. Its other
    /// fields are then kept.
    pub(crate) fn is_same_server(
        &self,
        existing: &Map<String, Value>,
        entry: &ServerEntry,
    ) -> bool {
        let is_remote = REMOTE_KEYS.iter().any(|key| existing.contains_key(*key));
        match &entry.transport {
            Transport::Stdio { command, arguments } => {
                let (program, first) = self.started_program(existing);
                // An entry with a URL is a remote server, even if it also names this command.
                !is_remote && is_this_program(command, arguments, program, first)
            }
            Transport::Http { url, .. } => self.format.http.iter().any(|field| {
                let ServerField::Url(key) = field else {
                    return false;
                };
                existing.get(*key).and_then(Value::as_str) == Some(url)
            }),
        }
    }

    /// Returns the [key](RequiredServer::key) of an existing entry, whatever its name.
    pub(crate) fn key_of(&self, existing: &Map<String, Value>) -> Option<String> {
        let text = |key: &&str| existing.get(*key).and_then(Value::as_str);
        if let Some(url) = REMOTE_KEYS.iter().find_map(text) {
            return Some(RequiredServer::url_key(url));
        }
        let (program, _) = self.started_program(existing);
        program.map(RequiredServer::command_key)
    }

    /// Returns the program of an existing entry and its first argument.
    fn started_program<'a>(
        &self,
        existing: &'a Map<String, Value>,
    ) -> (Option<&'a str>, Option<&'a str>) {
        let item = |key: &str, index: usize| existing.get(key)?.get(index)?.as_str();
        let mut found = (None, None);
        for field in self.format.stdio {
            match field {
                ServerField::Program(key) => found.0 = existing.get(*key).and_then(Value::as_str),
                ServerField::Arguments(key) => found.1 = item(key, 0),
                ServerField::CommandLine(key) => found = (item(key, 0), item(key, 1)),
                _ => {}
            }
        }
        found
    }
}

/// Returns the field with its value for this entry. Returns `None` if it has none.
fn with_value(field: ServerField, entry: &ServerEntry) -> Option<EntryField> {
    let always = |key, value| EntryField {
        key,
        value,
        presence: Presence::Always,
    };
    Some(match (field, &entry.transport) {
        (ServerField::Kind(key, value), _) => EntryField {
            key,
            value: json!(value),
            presence: Presence::IfPresent,
        },
        (ServerField::OwnDefault(..), _) if entry.origin == EntryOrigin::Requirement => {
            return None;
        }
        (ServerField::Default(key, value) | ServerField::OwnDefault(key, value), _) => EntryField {
            key,
            value: default_value(value, entry),
            presence: Presence::NewOnly,
        },
        (ServerField::Program(key), Transport::Stdio { command, .. }) => {
            always(key, json!(command))
        }
        (ServerField::Arguments(key), Transport::Stdio { arguments, .. }) => {
            always(key, json!(arguments))
        }
        (ServerField::CommandLine(key), Transport::Stdio { command, arguments }) => {
            let words: Vec<_> = std::iter::once(command).chain(arguments).collect();
            always(key, json!(words))
        }
        (ServerField::Url(key), Transport::Http { url, .. }) => always(key, json!(url)),
        (ServerField::BearerHeader(key, before, after), _) => {
            let variable = entry.token_variable()?;
            let header = format!("Bearer {before}{variable}{after}");
            always(key, json!({"Authorization": header}))
        }
        (ServerField::TokenVariable(key), _) => always(key, json!(entry.token_variable()?)),
        (ServerField::TokenVariables(key), _) => always(key, json!([entry.token_variable()?])),
        _ => return None,
    })
}

fn default_value(value: DefaultValue, entry: &ServerEntry) -> Value {
    match value {
        DefaultValue::Text(text) => json!(text),
        DefaultValue::True => json!(true),
        DefaultValue::Number(number) => json!(number),
        DefaultValue::NumberIn(key, number) => json!({key: number}),
        DefaultValue::All => json!(["*"]),
        DefaultValue::Name => json!(entry.name),
        DefaultValue::Description => match entry.origin {
            EntryOrigin::ThisProgram => json!("Agent skills"),
            EntryOrigin::Requirement => json!("Required by a skill"),
        },
    }
}

impl EntryField {
    /// Returns the value to write over an existing one. Returns `None` if the existing one is kept.
    pub(crate) fn replacement(&self, old: Option<&Value>) -> Option<Value> {
        match (self.presence, old) {
            (Presence::NewOnly, _) | (Presence::IfPresent, None) => None,
            (_, None) => Some(self.value.clone()),
            (_, Some(old)) => {
                let merged = merge(old, &self.value);
                (merged != *old).then_some(merged)
            }
        }
    }
}

/// Returns the new value; of objects, which are headers, the other members of the old one are kept.
fn merge(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut merged = old.clone();
            // Two spellings of one header would both be sent.
            merged.retain(|name, _| !new.keys().any(|header| header.eq_ignore_ascii_case(name)));
            merged.extend(new.clone());
            Value::Object(merged)
        }
        _ => new.clone(),
    }
}
