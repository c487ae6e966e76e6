//! What could not be used of what a skill says of its scripts.

use thiserror::Error;

/// What could not be used of what a skill says of its scripts. The tool is made all the same.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ScriptWarning {
    /// The name is none for an argument, so the argument is left out: it could be read as an
    /// option.
    #[error(
        "argument {argument:?} is left out: a name starts with a letter or `_` and has at most 64 letters, digits, `_` and `-`"
    )]
    InvalidArgumentName {
        /// The name.
        argument: String,
    },
    /// The name was there before; the first one counts.
    #[error("argument {argument:?} is listed twice: the first counts")]
    DuplicateArgument {
        /// The name.
        argument: String,
    },
    /// The type is none of JSON Schema's; the argument is taken as text.
    #[error("argument {argument:?} has the unknown type {kind:?} and is taken as a string")]
    UnknownType {
        /// The argument.
        argument: String,
        /// The type as written.
        kind: String,
    },
    /// The value of a keyword cannot be used, so the keyword is left out.
    #[error("`{keyword}` of argument {argument:?} cannot be used")]
    InvalidKeyword {
        /// The argument.
        argument: String,
        /// The keyword.
        keyword: &'static str,
    },
    /// An argument of the script itself that cannot be given as data is left out.
    #[error("argument {argument:?} of the script cannot be given as data and is left out")]
    UnsupportedArgument {
        /// The argument.
        argument: String,
    },
    /// The script has more arguments than are read.
    #[error("only the first {limit} arguments of the script are read")]
    TooManyArguments {
        /// The most that are read.
        limit: usize,
    },
    /// The `scripts` block speaks of a script that is not there.
    #[error("`scripts` speaks of {entry:?}, which is no file of the skill{}", nearest_hint(nearest.as_deref()))]
    UnknownScript {
        /// The entry.
        entry: String,
        /// The file whose name is most like it.
        nearest: Option<String>,
    },
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |file| format!("; {file:?} is the nearest"))
}

/// The most characters of a name that a warning repeats.
const MAX_NAME_CHARS: usize = 64;

/// Cuts a name of a skill's making to what a warning can show.
pub(super) fn truncate_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}
