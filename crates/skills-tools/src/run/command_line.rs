//! What a command line says: words, or a text for a shell.

use crate::{ToolError, ToolErrorCode};

/// The longest command, in bytes.
pub(crate) const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// What a command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandLine {
    /// A program and its arguments, as they are.
    Argv(Vec<String>),
    /// A text that only a shell understands.
    Shell(String),
}

impl CommandLine {
    /// Reads a command line as a POSIX shell splits it into words. A text that makes a shell do
    /// more than that is one for a shell.
    ///
    /// # Errors
    /// `invalid_arguments` when it is empty, has a NUL in it or a quote that nobody closes.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = |message: &str, hint: &str| {
            ToolError::new(ToolErrorCode::InvalidArguments, message).with_hint(hint)
        };
        let text = text.trim();
        if text.len() > MAX_COMMAND_BYTES {
            let error = ToolError::new(
                ToolErrorCode::TooLarge,
                format!(
                    "the command has {} bytes, and at most {MAX_COMMAND_BYTES} are taken",
                    text.len()
                ),
            );
            return Err(error.with_hint("put what is long into a file, or into `stdin`"));
        }
        if text.contains('\0') {
            return Err(wrong(
                "the command has a NUL character in it",
                "leave it out",
            ));
        }
        if needs_shell(text) {
            return Ok(Self::Shell(text.to_owned()));
        }
        match shlex::split(text) {
            None => Err(wrong(
                "the command has a quote that is not closed",
                "close it, or write a backslash before it",
            )),
            Some(words) if words.is_empty() => Err(wrong(
                "the command is empty",
                "write a program and its arguments",
            )),
            Some(words) => Ok(Self::Argv(words)),
        }
    }
}

/// Says whether a shell would do more with a text than split it: operators, redirections,
/// expansions, patterns, comments, assignments before the program, several lines. Quotes count as a
/// shell counts them; when in doubt it is the shell's, which needs more leave.
fn needs_shell(text: &str) -> bool {
    let mut quote = None;
    let mut characters = text.chars().peekable();
    let mut at_start = true;
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '\\') => drop(characters.next()),
            (None, '\'' | '"') => quote = Some(c),
            (Some('\''), '\'') => quote = None,
            (Some('"'), '"') => quote = None,
            (Some('"'), '\\') => drop(characters.next()),
            (Some('"'), '$' | '`') => return true,
            (Some(_), _) => {}
            (
                None,
                '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '{' | '\n'
                | '\r',
            ) => return true,
            (None, '~' | '#') if at_start => return true,
            _ => {}
        }
        at_start = quote.is_none() && matches!(c, ' ' | '\t' | '=' | ':');
    }
    is_assignment(text)
        || text.starts_with("! ")
        || is_shell_builtin(text.split_whitespace().next().unwrap_or_default())
}

/// `NAME=value program`.
fn is_assignment(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// What a shell has built in and no machine has as a program, or has as one that does something
/// else.
fn is_shell_builtin(word: &str) -> bool {
    let words = [
        ".", ":", "alias", "cd", "case", "eval", "exec", "exit", "export", "for", "function", "if",
        "read", "return", "set", "shift", "source", "trap", "ulimit", "umask", "unset", "until",
        "wait", "while", "time", "command", "type", "[[",
    ];
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            CommandLine::parse(text),
            Ok(CommandLine::Argv(
                expected.iter().map(ToString::to_string).collect()
            )),
            "{text}"
        );
    }

    #[test]
    fn plain_words_need_no_shell() {
        check(
            "python scripts/gcd.py 12 18",
            &["python", "scripts/gcd.py", "12", "18"],
        );
        check(
            "  grep -r 'a $(b) | c' .  ",
            &["grep", "-r", "a $(b) | c", "."],
        );
        check(
            r#"echo "a \"b\"; c" x\ y a=b x~ a#b"#,
            &["echo", "a \"b\"; c", "x y", "a=b", "x~", "a#b"],
        );
    }

    #[test]
    fn what_only_a_shell_does_is_for_a_shell() {
        let texts = [
            "a; b",
            "a | b",
            "a && b",
            "a &",
            "a > b",
            "a < b",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo `id`",
            "ls *.py",
            "echo a?",
            "echo [ab]",
            "echo {a,b}",
            "(a)",
            "a\nb",
            "~/x",
            "cat ~/x",
            "# x",
            "a # b",
            "A=1 b",
            "cd src",
            "if true",
            "! a",
            "export A=1",
            "echo --x=~/a",
            "a\rb",
        ];
        for text in texts {
            // A tilde behind `=` is plain in words that are no assignments; it is left to the shell
            // all the same.
            assert_eq!(
                CommandLine::parse(text),
                Ok(CommandLine::Shell(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_command_says_why() {
        for (text, message) in [
            ("", "the command is empty"),
            ("  ", "the command is empty"),
            ("echo 'a", "the command has a quote that is not closed"),
            ("echo \0", "the command has a NUL character in it"),
        ] {
            assert_eq!(
                CommandLine::parse(text).unwrap_err().message,
                message,
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back_as_they_are(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
            let text = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            match CommandLine::parse(&text).unwrap() {
                CommandLine::Argv(read) => prop_assert_eq!(read, words),
                // It goes to the shell as it is, which needs more leave and reads the same words.
                CommandLine::Shell(read) => prop_assert_eq!(read, text),
            }
        }

        #[test]
        fn no_operator_outside_quotes_is_taken_for_a_word(text in "[a-z '\"\\\\|;&$`<>()]{0,24}") {
            if let Ok(CommandLine::Argv(_)) = CommandLine::parse(&text) {
                let mut bare = String::new();
                let (mut quote, mut escaped) = (None, false);
                for c in text.chars() {
                    match (quote, escaped, c) {
                        (_, true, _) => escaped = false,
                        (None | Some('"'), false, '\\') => escaped = true,
                        (None, false, '\'' | '"') => quote = Some(c),
                        (Some(open), false, c) if c == open => quote = None,
                        (None, false, c) => bare.push(c),
                        _ => {}
                    }
                }
                prop_assert!(!bare.contains(['|', ';', '&', '$', '`', '<', '>', '(', ')']), "{text:?} {bare:?}");
            }
        }
    }
}
