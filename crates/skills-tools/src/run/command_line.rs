//! Parsing of command lines into arguments or a shell command.

use skills_runtime::prompt::{ShellLine, SplitCommand, split_command};

use crate::{ToolError, ToolErrorCode};

/// Maximum size of a command, in bytes.
pub(crate) const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandLine {
    /// A program and its arguments.
    Argv(Vec<String>),
    /// A command that needs a shell.
    Shell(String),
}

impl CommandLine {
    /// Splits a command line like a POSIX shell. A command that uses any other feature of a shell
    /// is returned as a whole.
    ///
    /// # Errors
    /// `invalid_arguments` for an empty command, a NUL, or an unclosed quote.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let invalid = |message: &str, hint: &str| {
            ToolErrorCode::InvalidArguments
                .error(message)
                .with_hint(hint)
        };
        let text = text.trim();
        if text.len() > MAX_COMMAND_BYTES {
            return Err(ToolErrorCode::TooLarge
                .error(format!(
                    "the command is {} bytes, limit {MAX_COMMAND_BYTES}",
                    text.len()
                ))
                .with_hint("move long text to a file or to `stdin`"));
        }
        if text.contains('\0') {
            return Err(invalid(
                "invalid command: it contains a NUL character",
                "remove the character",
            ));
        }
        match split_command(text) {
            SplitCommand::NeedsShell => Ok(Self::Shell(text.to_owned())),
            SplitCommand::UnclosedQuote => Err(invalid(
                "invalid command: unclosed quote",
                "close the quote, or escape it with a backslash",
            )),
            SplitCommand::Words(words) if words.is_empty() => {
                Err(invalid("empty command", "pass a program and its arguments"))
            }
            SplitCommand::Words(words) => Ok(Self::Argv(words)),
        }
    }

    /// Parses a command that runs for a skill, in which the words for its directory stand for the virtual
    /// one.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub(crate) fn parse_in_skill(text: &str, directory: Option<&str>) -> Result<Self, ToolError> {
        let command = Self::parse(text)?;
        // Without them the two are the same, but for what only one of them knows.
        let names_directory = ["{baseDir}", "SKILL_DIR"]
            .iter()
            .any(|word| text.contains(word));
        let words = directory
            .filter(|_| names_directory)
            .and_then(|directory| ShellLine::parse_in_skill(text, directory)?.plain_words());
        Ok(words.map_or(command, Self::Argv))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_commands_are_rejected_with_a_reason() {
        for (text, message) in [
            ("", "empty command"),
            ("  ", "empty command"),
            ("echo 'a", "invalid command: unclosed quote"),
            ("echo \0", "invalid command: it contains a NUL character"),
        ] {
            assert_eq!(
                CommandLine::parse(text).unwrap_err().message,
                message,
                "{text:?}"
            );
        }
    }
}
