//! Warnings about declarations of scripts.

use thiserror::Error;

/// A part of a script's declaration that was ignored.
///
/// The tool exists nevertheless, without that part. `Display` describes the problem on one line,
/// for the author of the skill.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptWarning {
    /// The name is invalid and could be read as an option, so the argument is omitted.
    #[error(
        "argument `{}` ignored: expected a name of a letter or `_`, then at most 63 letters, digits, `_` and `-`",
        argument.escape_debug()
    )]
    InvalidArgumentName {
        /// The name.
        argument: String,
    },
    /// The name is a duplicate; the first one is used.
    #[error("duplicate argument `{}`; using the first", argument.escape_debug())]
    DuplicateArgument {
        /// The name.
        argument: String,
    },
    /// The type is not one of JSON Schema; the argument is a string.
    #[error("unknown type `{}` of argument `{}`; using `string`", kind.escape_debug(), argument.escape_debug())]
    UnknownType {
        /// The argument.
        argument: String,
        /// The type as written.
        kind: String,
    },
    /// The value of a keyword is invalid, so the keyword is omitted.
    #[error("invalid `{keyword}` of argument `{}`; ignored", argument.escape_debug())]
    InvalidKeyword {
        /// The argument.
        argument: String,
        /// The keyword.
        keyword: &'static str,
    },
    /// An inferred argument that cannot be passed as data is omitted.
    #[error("argument `{}` ignored: unsupported argparse action", argument.escape_debug())]
    UnsupportedArgument {
        /// The argument.
        argument: String,
    },
    /// The script has more arguments than the limit.
    #[error("too many arguments; using the first {limit}")]
    TooManyArguments {
        /// The limit.
        limit: usize,
    },
    /// An entry of the `scripts` block has no file.
    #[error("unknown script `{}` in `scripts`{}", entry.escape_debug(), nearest_hint(nearest.as_deref()))]
    UnknownScript {
        /// The entry.
        entry: String,
        /// The file with the most similar name.
        nearest: Option<String>,
    },
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |file| {
        format!("; did you mean `{}`?", file.escape_debug())
    })
}

/// Maximum length of a name in a warning, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Truncates a name for a warning.
pub(super) fn truncate_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}
