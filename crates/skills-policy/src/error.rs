//! The one error of this crate: a rule that cannot be read.

/// Says what is wrong with the text of a rule.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PolicyError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error(
        "{text:?} is no host: write `api.example.com`, `*.example.com` or `*`, without scheme, port and path"
    )]
    Host { text: String },
    #[error(
        "{text:?} is no permission: write `read`, `write`, `spawn`, `network` or `env`, and perhaps `:` and what of it"
    )]
    Target { text: String },
    #[cfg(feature = "toml")]
    #[error("{source_name}:{line}: {message}")]
    File {
        source_name: String,
        line: usize,
        message: String,
    },
    #[cfg(feature = "toml")]
    #[error("{source_name}: {error}")]
    InFile {
        source_name: String,
        error: Box<PolicyError>,
    },
    #[cfg(feature = "toml")]
    #[error("{source_name}: `directory` must be an absolute path without `..`, not {directory:?}")]
    RelativeDirectory {
        source_name: String,
        directory: std::path::PathBuf,
    },
    #[cfg(feature = "toml")]
    #[error("{source_name}: no limit may be 0, nothing would run")]
    ZeroLimit { source_name: String },
    #[error("{text:?} must be an absolute path without `..`")]
    Path { text: String },
    #[error("{text:?} is no name of a program: write it without a path")]
    Program { text: String },
    #[error("{text:?} is no name of a variable, nor the start of one with a `*` behind it")]
    Variable { text: String },
    #[error(
        "`{capability}` allows nothing until it is said which: write `{example}`, or `{capability}:*` for all"
    )]
    TooWide {
        capability: &'static str,
        example: &'static str,
    },
}
