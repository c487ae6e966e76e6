//! What is wrong with the text of a source.

use crate::PathProblem;

/// Maximum length of the text, in bytes.
pub(super) const MAX_BYTES: usize = 4_096;

/// The text of a source cannot be parsed.
///
/// The message names the text and the cause; [`help`](Self::help) says what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse source `{text}`: {problem}")]
pub struct SourceError {
    text: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("it contains {0:?}")]
    Invisible(char),
    #[error("it is neither a path nor a URL")]
    BareWord,
    #[error("unknown scheme `{0}`")]
    Scheme(String),
    #[error("`{0}` runs a program")]
    Helper(String),
    #[error("the URL is not valid: {0}")]
    Url(url::ParseError),
    #[error("the URL contains a password")]
    Password,
    #[error("its path contains `..`, `//`, `%2e`, `%2f` or `%5c`")]
    HiddenTraversal,
    #[error("the host starts with `-`")]
    OptionHost,
    #[error("path `{path}` is not valid: {problem}")]
    Path { path: String, problem: PathProblem },
    /// A part of another form than its kind of source has.
    #[error("`{text}` is {problem}")]
    Form {
        text: String,
        /// What the text is, or is not.
        problem: &'static str,
        /// What to write instead.
        help: &'static str,
    },
    #[error("its entry has no `source`, and is not one of ClawHub")]
    ForeignEntry,
    #[error("a {0} has no versions")]
    NoVersions(&'static str),
}

impl Problem {
    /// Returns the problem of a part that is of another form: what it is, or is not, and what to write
    /// instead.
    pub(crate) fn form(text: &str, problem: &'static str, help: &'static str) -> Self {
        Self::Form {
            text: text.to_owned(),
            problem,
            help,
        }
    }
}

impl SourceError {
    /// Returns the error of a text. Errors are logged; a password is not, also if the URL is wrong in
    /// another way, so that its parts are not known.
    pub(crate) fn new(text: &str, problem: Problem) -> Self {
        let text = text.trim();
        let authority = text
            .split_once("://")
            .and_then(|(_, rest)| rest.split('/').next());
        let has_user = authority.is_some_and(|authority| authority.contains('@'));
        let shown = match text.rsplit_once('@') {
            Some((_, host)) if has_user || problem == Problem::Password => format!("…@{host}"),
            _ => text.to_owned(),
        };
        Self {
            text: shown.chars().take(200).collect(),
            problem,
        }
    }

    /// Returns what to write instead.
    #[must_use]
    pub fn help(&self) -> String {
        let text = &self.text;
        match &self.problem {
            Problem::Empty => "write a directory (`./skills`), `OWNER/REPO` or a URL".to_owned(),
            Problem::BareWord => {
                format!("write `./{text}` for a directory, or `OWNER/REPO` for a repository")
            }
            Problem::Scheme(_) | Problem::Helper(_) => {
                "use `https:`, `ssh:`, `file:`, `npm:DIR`, `oci:`, `clawhub:`, or one of `git+`, `archive+`, `site+` and `mcp+` in front of a URL"
                    .to_owned()
            }
            Problem::Password => {
                "store the password with a credential helper of git, and remove it from the URL"
                    .to_owned()
            }
            Problem::Form { help, .. } => (*help).to_owned(),
            Problem::ForeignEntry => {
                "add the skill by its source, with `skills add SOURCE`".to_owned()
            }
            Problem::NoVersions(_) => "remove the part after `#`".to_owned(),
            Problem::Path { .. } => {
                "write the directory of the source after `//`, such as `//skills/pdf`".to_owned()
            }
            Problem::HiddenTraversal => "write the path of the URL as it is".to_owned(),
            Problem::TooLong | Problem::Invisible(_) | Problem::Url(_) | Problem::OptionHost => {
                "check the text for typing mistakes".to_owned()
            }
        }
    }

    /// Returns the text that cannot be parsed, at most 200 characters of it and without a password.
    pub(crate) fn shown(&self) -> &str {
        &self.text
    }

    /// Returns the error of a skill whose entry in the lock file of another installer names no
    /// source.
    pub(crate) fn foreign_entry(name: &str) -> Self {
        Self {
            text: name.chars().take(200).collect(),
            problem: Problem::ForeignEntry,
        }
    }
}
