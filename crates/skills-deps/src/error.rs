//! The error of planning and installing packages.

/// Why packages could not be planned or installed. Nothing was changed.
///
/// The message says what failed; [`help`](Self::help) is the one step that helps, if there is one.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} packages: {reason}")]
pub struct SetupError {
    pub(crate) kind: SetupErrorKind,
    pub(crate) action: &'static str,
    pub(crate) reason: String,
    pub(crate) help: Option<String>,
}

/// The cause of a [`SetupError`], for callers that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupErrorKind {
    /// What the skill declares cannot be installed: a source that is not a registry, a lock file
    /// that does not match, a version that does not exist.
    Declaration,
    /// A rule denies what the setup needs, or one of the packages.
    Denied,
    /// The index cannot be reached.
    Offline,
    /// A program is missing: Python, a package manager, Node.
    MissingProgram,
    /// The package manager failed, or installed something else than planned.
    Failed,
    /// The store cannot be read or written.
    Store,
}

/// Maximum number of characters of a text in a message.
const MAX_SHOWN_CHARS: usize = 200;

/// Returns the start of a text that a package or a lock file has, with escapes.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .take(MAX_SHOWN_CHARS)
        .flat_map(char::escape_debug)
        .collect()
}

impl SetupError {
    pub(crate) fn new(
        kind: SetupErrorKind,
        action: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            action,
            reason: reason.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn store(reason: impl Into<String>) -> Self {
        Self::new(SetupErrorKind::Store, "store", reason)
    }

    /// Returns the error for output of a package manager that cannot be read.
    pub(crate) fn unreadable(what: &str, reason: impl std::fmt::Display) -> Self {
        let reason = format!("cannot read {what}: {reason}");
        Self::new(SetupErrorKind::Failed, "plan", reason)
    }

    /// Returns the cause.
    #[must_use]
    pub fn kind(&self) -> SetupErrorKind {
        self.kind
    }

    /// Returns the step that helps, without a prefix.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}
