//! The server entry of a client's configuration, and what an edit can do to it.

use std::fmt;

use serde::Serialize;

use super::client::ConfigLanguage;

/// A server entry of a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// The absolute path of the program.
    pub(crate) command: String,
    /// Its arguments, starting with `mcp`.
    pub(crate) arguments: Vec<String>,
}

/// The change to the server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntryChange {
    /// The entry already exists; the text is unchanged.
    #[serde(rename = "nothing")]
    Unchanged,
    /// No entry of this name existed.
    Added,
    /// The entry started this command with other arguments; its other fields are preserved.
    Updated,
    /// The entry started another program, and was replaced.
    Replaced,
}

/// Why a file cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigEditError {
    /// Invalid JSON or TOML. Lines are counted from 1.
    Syntax {
        language: ConfigLanguage,
        line: usize,
        message: String,
    },
    /// The value of this key, or the whole file, is not a table or object.
    NotATable { key: Option<String> },
    /// A duplicate key; clients differ in which value they use.
    DuplicateKey { key: String },
    /// The layout of the file does not allow the change.
    UnsupportedLayout,
}

impl fmt::Display for ConfigEditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax {
                language, message, ..
            } => write!(f, "invalid {language}: {message}"),
            Self::NotATable { key: None } => {
                f.write_str("invalid configuration: expected a JSON object")
            }
            Self::NotATable { key: Some(key) } => write!(f, "invalid `{key}`: expected a table"),
            Self::DuplicateKey { key } => write!(f, "duplicate key `{key}`"),
            Self::UnsupportedLayout => f.write_str("cannot add the server: unsupported layout"),
        }
    }
}

impl std::error::Error for ConfigEditError {}

impl ConfigEditError {
    /// Returns the line of the error, counted from 1.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// Returns true if an entry with this command and first argument starts this program, in any
/// directory. Its other fields then apply to this program.
pub(crate) fn is_this_program(
    entry: &ServerEntry,
    command: Option<&str>,
    first: Option<&str>,
) -> bool {
    command.is_some_and(|command| file_name(command) == file_name(&entry.command))
        && first == entry.arguments.first().map(String::as_str)
}

fn file_name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).next()
}
