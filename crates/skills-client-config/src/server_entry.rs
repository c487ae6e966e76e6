//! The server entry of a client's configuration, and what an edit can do to it.

use serde::Serialize;
use serde_json::{Value, json};
use skills_manifest::RequiredServer;

/// A server entry of a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name in the table of servers.
    pub name: String,
    /// How the client reaches the server.
    pub transport: Transport,
    /// Why the entry is written.
    pub origin: EntryOrigin,
}

/// Why an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOrigin {
    /// It is the server of this program.
    ThisProgram,
    /// A skill requires it. It gets no timeout, and nothing else that this program needs.
    Requirement,
}

impl ServerEntry {
    /// Returns the entry for output in JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let name = &self.name;
        match &self.transport {
            Transport::Stdio { command, arguments } => {
                json!({"name": name, "command": command, "args": arguments})
            }
            Transport::Http {
                url,
                token_variable,
            } => {
                json!({"name": name, "url": url, "token_variable": token_variable})
            }
        }
    }

    /// Returns the [key](RequiredServer::key) of the server.
    pub(crate) fn key(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, .. } => RequiredServer::command_key(command),
            Transport::Http { url, .. } => RequiredServer::url_key(url),
        }
    }

    /// Returns the variable of the client's environment with the token, if the entry has one.
    #[must_use]
    pub fn token_variable(&self) -> Option<&str> {
        match &self.transport {
            Transport::Stdio { .. } => None,
            Transport::Http { token_variable, .. } => token_variable.as_deref(),
        }
    }

    /// Describes what a client with this product name does with the entry.
    #[must_use]
    pub fn describe_use(&self, title: &str) -> String {
        match &self.transport {
            Transport::Stdio { command, arguments } => {
                // The command is shown with quotes, so that an argument with spaces does not look
                // like several.
                let words = std::iter::once(command).chain(arguments);
                let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
                format!("{title} will start: {}", words.join(" "))
            }
            Transport::Http {
                url,
                token_variable: Some(variable),
            } => format!("{title} will connect to {url} with the token in `{variable}`"),
            Transport::Http { url, .. } => format!("{title} will connect to {url}"),
        }
    }
}

/// How the client reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// The client starts it.
    Stdio {
        /// The absolute path of the program.
        command: String,
        /// Its arguments, starting with `mcp`.
        arguments: Vec<String>,
    },
    /// The client connects to it.
    Http {
        /// The URL of the server.
        url: String,
        /// The variable of the client's environment with the token; `None` for a server without one.
        token_variable: Option<String>,
    },
}

/// The change to the server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryChange {
    /// The entry already exists; the text is unchanged.
    #[serde(rename = "nothing")]
    Unchanged,
    /// No entry of this name existed.
    Added,
    /// The entry was for this server with other arguments; its other fields are preserved.
    Updated,
    /// The entry was for another server, and was replaced.
    Replaced,
    /// The entry is for another server, and was kept.
    #[serde(rename = "name-taken")]
    NameTaken,
}

/// Returns true if an entry with this program and first argument starts the same program as the
/// command, in any directory. Its other fields then apply to this program.
pub(crate) fn is_this_program(
    command: &str,
    arguments: &[String],
    program: Option<&str>,
    first: Option<&str>,
) -> bool {
    program.is_some_and(|program| file_name(program) == file_name(command))
        && first == arguments.first().map(String::as_str)
}

fn file_name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).next()
}
