//! The data that describes how a client stores its servers.

use serde_json::{Map, Value, json};
use skills_clients::Client;
use skills_runtime::manifest::RequiredServer;

use super::config_language::ConfigLanguage;
use super::server_entry::{EntryOrigin, ServerEntry, Transport, is_this_program};

/// Keys of a remote server, which clients prefer over a command.
const REMOTE_KEYS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// How a client stores its servers: one row of the table of clients.
#[derive(Debug)]
pub(crate) struct ClientSpec {
    /// Its name, and the paths of its configuration files.
    pub(crate) client: &'static Client,
    /// Language of the file.
    pub(crate) language: ConfigLanguage,
    /// Key of the table of servers.
    pub(crate) section: &'static str,
    /// The table of servers of newer versions, below the key of its own in that table. These versions
    /// read both, so that it is used only in files that have it.
    pub(crate) nested: Option<&'static ClientSpec>,
    /// Fields of a server that the client starts, in the order of a new entry.
    pub(crate) stdio: &'static [Field],
    /// Fields of a server that the client connects to. Empty if the client cannot connect, or
    /// expands no variable in headers: a token is never written.
    pub(crate) http: &'static [Field],
    /// What the client replaces in an entry.
    pub(crate) expansion: Expansion,
    /// The variable that names the directory of the project, if the client has one.
    pub(crate) project_variable: Option<&'static str>,
    /// A character that names of servers cannot contain: the client joins names with it.
    pub(crate) separator: Option<char>,
    /// The next step of the user after a change of the user's file.
    pub(crate) next_step: &'static str,
    /// The next step after a change of the project's file.
    pub(crate) project_next_step: &'static str,
}

/// A field of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    /// The transport. Corrected in an existing entry, but never added to it.
    Kind(&'static str, &'static str),
    /// A field of new entries with this value. Existing entries keep theirs.
    Default(&'static str, DefaultValue),
    /// A default that only entries of this program have: their calls can wait for an approval.
    Timeout(&'static str, DefaultValue),
    /// The program.
    Program(&'static str),
    /// The arguments of the program.
    Arguments(&'static str),
    /// The program and its arguments as one list.
    CommandLine(&'static str),
    /// The URL of the server.
    Url(&'static str),
    /// Headers, with the token in the syntax of the client: text before and after the name of the
    /// variable.
    BearerHeader(&'static str, &'static str, &'static str),
    /// The name of the variable with the token.
    TokenVariable(&'static str),
    /// The name of the variable with the token, as a list of variables that headers may use.
    TokenVariables(&'static str),
}

/// The value of a field in new entries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultValue {
    Text(&'static str),
    True,
    Number(u64),
    /// An object with one number.
    NumberIn(&'static str, u64),
    /// The list `["*"]`: all tools.
    All,
    /// The name of the server.
    Name,
    /// What the server is for.
    Description,
}

/// Which text of an entry a client replaces by the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// None.
    Never,
    /// `${NAME}` and similar.
    Braces,
    /// `$NAME` as well as `${NAME}`.
    Dollar,
    /// `{env:NAME}` and `{file:PATH}`.
    Colon,
}

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

impl Expansion {
    /// Returns true if the client would replace a part of this text.
    pub(crate) fn applies_to(self, text: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Braces => text.contains("${"),
            Self::Dollar => text.contains('$'),
            Self::Colon => text.contains("{env:") || text.contains("{file:"),
        }
    }
}

impl ClientSpec {
    /// Returns the fields of an entry in the order of a new one.
    pub(crate) fn entry_fields(&self, entry: &ServerEntry) -> Vec<EntryField> {
        let shape = match entry.transport {
            Transport::Stdio { .. } => self.stdio,
            Transport::Http { .. } => self.http,
        };
        let fields = shape.iter().filter_map(|field| field.with_value(entry));
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
            Transport::Http { url, .. } => self.http.iter().any(|field| {
                let Field::Url(key) = field else { return false };
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
        for field in self.stdio {
            match field {
                Field::Program(key) => found.0 = existing.get(*key).and_then(Value::as_str),
                Field::Arguments(key) => found.1 = item(key, 0),
                Field::CommandLine(key) => found = (item(key, 0), item(key, 1)),
                _ => {}
            }
        }
        found
    }
}

impl Field {
    /// Returns the field with its value for this entry. Returns `None` if it has none.
    fn with_value(self, entry: &ServerEntry) -> Option<EntryField> {
        let field = |key, value| EntryField {
            key,
            value,
            presence: Presence::Always,
        };
        Some(match (self, &entry.transport) {
            (Self::Kind(key, value), _) => EntryField {
                key,
                value: json!(value),
                presence: Presence::IfPresent,
            },
            (Self::Timeout(..), _) if entry.origin == EntryOrigin::Requirement => return None,
            (Self::Default(key, value) | Self::Timeout(key, value), _) => EntryField {
                key,
                value: value.to_json(entry),
                presence: Presence::NewOnly,
            },
            (Self::Program(key), Transport::Stdio { command, .. }) => field(key, json!(command)),
            (Self::Arguments(key), Transport::Stdio { arguments, .. }) => {
                field(key, json!(arguments))
            }
            (Self::CommandLine(key), Transport::Stdio { command, arguments }) => {
                let words: Vec<_> = std::iter::once(command).chain(arguments).collect();
                field(key, json!(words))
            }
            (Self::Url(key), Transport::Http { url, .. }) => field(key, json!(url)),
            (Self::BearerHeader(key, before, after), _) => {
                let variable = entry.token_variable()?;
                let header = format!("Bearer {before}{variable}{after}");
                field(key, json!({"Authorization": header}))
            }
            (Self::TokenVariable(key), _) => field(key, json!(entry.token_variable()?)),
            (Self::TokenVariables(key), _) => field(key, json!([entry.token_variable()?])),
            _ => return None,
        })
    }
}

impl DefaultValue {
    fn to_json(self, entry: &ServerEntry) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::True => json!(true),
            Self::Number(number) => json!(number),
            Self::NumberIn(key, number) => json!({key: number}),
            Self::All => json!(["*"]),
            Self::Name => json!(entry.name),
            Self::Description => match entry.origin {
                EntryOrigin::ThisProgram => json!("Agent skills"),
                EntryOrigin::Requirement => json!("Required by a skill"),
            },
        }
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
