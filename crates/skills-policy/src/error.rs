//! The error of this crate.

/// The error of parsing a rule, a pattern or a policy file.
///
/// The message names the invalid value and what was expected; from a policy file it begins with the
/// name of the file and the line. Invalid requests of skills are not errors: they are denied, with a reason.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PolicyError(#[from] Repr);

impl PolicyError {
    /// Returns the valid rule that an invalid one was probably meant to be, such as `spawn:git` for
    /// `spawn:/usr/bin/git`. Only for errors of rules.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        match &self.0 {
            Repr::Suggested { suggestion, .. } => Some(suggestion),
            #[cfg(feature = "toml")]
            Repr::InFile { error, .. } => error.suggestion(),
            _ => None,
        }
    }
}

// Values are escaped: they can come from a model, and a message goes to a terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error(
        "invalid host `{}`: expected `api.example.com`, `localhost:8080`, `[::1]:8080`, `*.example.com` or `*`, without scheme and path",
        text.escape_debug()
    )]
    Host { text: String },
    #[error(
        "invalid permission `{}`: expected `read`, `write`, `spawn`, `network`, `env` or `packages`, optionally followed by `:VALUE`",
        text.escape_debug()
    )]
    Target { text: String },
    #[error("{error}")]
    Suggested {
        error: Box<PolicyError>,
        suggestion: String,
    },
    #[error(
        "invalid path `{}`: `*` is not a pattern in paths, a rule for a directory includes everything below it",
        text.escape_debug()
    )]
    PathPattern { text: String },
    #[cfg(feature = "toml")]
    #[error("{source_name}:{line}: {message}")]
    File {
        source_name: String,
        line: usize,
        message: String,
    },
    #[cfg(feature = "toml")]
    #[error("{source_name}:{line}: {error}")]
    InFile {
        source_name: String,
        line: usize,
        error: Box<PolicyError>,
    },
    #[cfg(feature = "toml")]
    #[error(
        "{source_name}:{line}: invalid `directory` `{}`: expected an absolute path without `..`",
        directory.to_string_lossy().escape_debug()
    )]
    RelativeDirectory {
        source_name: String,
        line: usize,
        directory: std::path::PathBuf,
    },
    #[cfg(feature = "toml")]
    #[error(
        "{source_name}:{line}: invalid `sigstore-trusted-root` `{}`: expected an absolute path without `..`",
        path.to_string_lossy().escape_debug()
    )]
    RelativeTrustedRoot {
        source_name: String,
        line: usize,
        path: std::path::PathBuf,
    },
    #[cfg(feature = "toml")]
    #[error("{source_name}: invalid limit 0: expected a number greater than 0")]
    ZeroLimit { source_name: String },
    #[cfg(feature = "toml")]
    #[error(
        "{source_name}: `require-sandbox` has no effect in a project; set it in the policy file of the user or the administrator"
    )]
    ProjectSandbox { source_name: String },
    #[error(
        "invalid sandbox `{}`: expected `auto`, `native`, `wasm` or `container`",
        text.escape_debug()
    )]
    Sandbox { text: String },
    #[error(
        "invalid path `{}`: expected an absolute path without `..`",
        text.escape_debug()
    )]
    Path { text: String },
    #[error(
        "invalid program name `{}`: expected letters, digits and `._+-@`, without a path",
        text.escape_debug()
    )]
    Program { text: String },
    #[error(
        "invalid variable name `{}`: expected letters, digits and `_`, optionally with `*` at the end",
        text.escape_debug()
    )]
    Variable { text: String },
    #[error(
        "invalid package `{}`: expected `pypi:NAME` or `npm:NAME` with the name of a package, optionally with `*` at the end",
        text.escape_debug()
    )]
    Package { text: String },
    #[error("`allow {capability}` needs a {value}: use `{example}`, or `{capability}:*` for all")]
    TooWide {
        capability: &'static str,
        value: &'static str,
        example: &'static str,
    },
}
