//! Scripts of skills as tools: what they are called, what they take, and how arguments reach them.
//!
//! Everything here is computed from values: nothing is read, imported or started. What a script says of itself is untrusted text.
#![cfg_attr(not(test), expect(dead_code, reason = "the set of tools that calls these functions is not wired yet"))]

pub(crate) mod argparse;
pub(crate) mod argument;
pub(crate) mod block;
pub(crate) mod docstring;
pub(crate) mod lexer;
pub(crate) mod name;
pub(crate) mod scan;
pub(crate) mod schema;
mod text;
pub(crate) mod warning;

pub(crate) use argument::Arguments;
pub(crate) use warning::ScriptWarning;

/// What a script is written in, as far as its text is read for what it says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    /// `.py`.
    Python,
    /// Everything else.
    Shell,
}

impl Language {
    /// Tells it by the ending of a file's name.
    pub(crate) fn of(file: &str) -> Self {
        if file.ends_with(".py") { Self::Python } else { Self::Shell }
    }
}

/// Returns a file's name without its last ending.
pub(crate) fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}
