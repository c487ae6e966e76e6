//! The errors of this crate.

use std::io;
use std::path::PathBuf;

use skills_clients::ConfigLanguage;

/// Why the configuration of a client cannot be found, read or changed. In each case the file is
/// unchanged, unless the cause of [`Write`](Self::Write) names a file with its old content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The directory that the paths depend on is unknown.
    #[error("cannot find the configuration of {client}: no {directory} directory")]
    NoDirectory {
        /// The title of the client.
        client: &'static str,
        /// `home` or `working`.
        directory: &'static str,
    },
    /// The client reads no file of a project.
    #[error("{client} has no configuration of projects")]
    NoProjectConfig {
        /// The title of the client.
        client: &'static str,
    },
    /// Symlinks form a loop, or pass missing directories.
    #[error("cannot resolve the symlink `{}`", path.display())]
    UnresolvedLink {
        /// The path at which the client looks up the file.
        path: PathBuf,
    },
    /// The root of the project cannot be resolved.
    #[error("cannot resolve `{}`", path.display())]
    Project {
        /// The root of the project.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A symlink leads out of a project; the content of a project is not trusted.
    #[error("symlink `{}` leaves the project, to `{}`; edit that file manually", path.display(), target.display())]
    LinkLeavesProject {
        /// The path at which the client looks up the file.
        path: PathBuf,
        /// The file that it leads to.
        target: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is a directory, a pipe or a device.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("`{}` is larger than {max_bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum size.
        max_bytes: u64,
    },
    /// The file is not text.
    #[error("`{}` is not valid UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// The text cannot be edited. Its error is a part of the message.
    #[error("{}{}: {error}", path.display(), error.line().map(|line| format!(":{line}")).unwrap_or_default())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: EditError,
    },
    /// An entry has changed since the user approved its replacement.
    #[error("cannot write `{}`: server `{server}` in it changed during the prompt; try again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The name of the entry.
        server: String,
    },
    /// Other programs wrote the file during each attempt.
    #[error("cannot write `{}`: another program keeps changing it; stop that program and try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be replaced.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Why the text of a file cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// Invalid JSON, TOML or YAML.
    #[error("invalid {language}: {message}")]
    Syntax {
        /// The language.
        language: ConfigLanguage,
        /// The line, counted from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// The whole file is not a table or object.
    #[error("invalid configuration: expected an object")]
    NotAnObject,
    /// The value of this key is not a table or object.
    #[error("invalid `{key}`: expected a table")]
    NotATable {
        /// The key.
        key: String,
    },
    /// A duplicate key; clients differ in which value they use.
    #[error("duplicate key `{key}`")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The layout of the file does not allow the change.
    #[error("cannot add the server: unsupported layout")]
    UnsupportedLayout,
}

impl EditError {
    /// Returns the line of the error, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. } => Some(*line),
            _ => None,
        }
    }
}
