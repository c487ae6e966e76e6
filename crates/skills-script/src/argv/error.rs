//! Arguments that cannot be passed.

use thiserror::Error;

/// Maximum size of all words together, each with its terminating byte.
pub(super) const MAX_ARGV_BYTES: usize = 128 * 1024;
/// Maximum size of a word, in bytes.
pub(super) const MAX_WORD_BYTES: usize = 64 * 1024;

/// An error of [`build_argv`](crate::build_argv): arguments of a call that cannot be passed to the program.
///
/// Nothing has run. The message names the argument and is safe to return to a model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgvError {
    /// The script has no such argument.
    #[error("unknown argument `{}`", argument.escape_debug())]
    Unknown {
        /// The name.
        argument: String,
    },
    /// A word contains a NUL, which a command line cannot.
    #[error("invalid argument `{argument}`: it contains a NUL character")]
    Nul {
        /// The argument.
        argument: String,
    },
    /// A word is too long.
    #[error("argument `{argument}` is {bytes} bytes, limit {MAX_WORD_BYTES}")]
    WordTooLong {
        /// The argument.
        argument: String,
        /// The length of the word.
        bytes: usize,
    },
    /// All words together are too long.
    #[error("all arguments together are {bytes} bytes, limit {MAX_ARGV_BYTES}")]
    TooLong {
        /// Their length.
        bytes: usize,
    },
    /// A word would be parsed as an option or as the end of options.
    #[error(
        "invalid argument `{argument}`: the script would parse a value that starts with a hyphen as an option"
    )]
    LeadingHyphen {
        /// The argument.
        argument: String,
    },
    /// The argument belongs to another subcommand, or to a subcommand and none is selected.
    #[error("invalid argument `{argument}`: it is not an argument of {}", command_phrase(command.as_deref()))]
    OtherCommand {
        /// The argument.
        argument: String,
        /// The selected subcommand.
        command: Option<String>,
    },
    /// The subcommand requires an argument that the call does not contain.
    #[error("missing argument `{argument}`: command `{command}` requires it")]
    Missing {
        /// The argument.
        argument: String,
        /// The selected subcommand.
        command: String,
    },
    /// The value of a property that has a fixed meaning is of another type or unknown.
    #[error("invalid argument `{argument}`: expected {expected}")]
    Unexpected {
        /// The argument.
        argument: String,
        /// The expected value.
        expected: &'static str,
    },
    /// Words of this positional argument would be assigned to another one.
    #[error(
        "invalid argument `{argument}`: the script would assign its values to another positional argument"
    )]
    Ambiguous {
        /// The argument.
        argument: String,
    },
}

impl ArgvError {
    pub(super) fn leading_hyphen(argument: &str) -> Self {
        Self::LeadingHyphen {
            argument: argument.to_owned(),
        }
    }
}

fn command_phrase(command: Option<&str>) -> String {
    command.map_or_else(
        || "the script without a command".to_owned(),
        |command| format!("command `{command}`"),
    )
}
