//! Splits a command line into words if no shell is needed to run it.

use crate::shell_lexer::{Lexer, ShellToken, Unterminated, is_assignment};

/// The result of [`split_command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitCommand {
    /// The words after quote removal; none if the text is blank.
    Words(Vec<String>),
    /// Only a shell can run the command, unchanged.
    NeedsShell,
    /// A quote has no end.
    UnclosedQuote,
}

/// Splits a command line like a POSIX shell, unless it uses any other feature of a shell.
///
/// ```
/// use skills_prompt::{SplitCommand, split_command};
///
/// let words = ["grep", "a | b"].map(str::to_owned).to_vec();
/// assert_eq!(split_command("grep 'a | b'"), SplitCommand::Words(words));
/// assert_eq!(split_command("ls | wc"), SplitCommand::NeedsShell);
/// ```
#[must_use]
pub fn split_command(text: &str) -> SplitCommand {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default();
    if is_assignment(first) || text.starts_with("! ") || is_shell_builtin(first) {
        return SplitCommand::NeedsShell;
    }
    let mut lexer = Lexer::new(text);
    let mut words = Vec::new();
    loop {
        let token = lexer.next_token();
        // Also before a quote without an end: a command that is passed to a shell is not changed.
        // Ambiguous text needs a shell, which requires more permissions.
        if lexer.needs_shell {
            return SplitCommand::NeedsShell;
        }
        match token {
            Ok(Some(ShellToken::Word(word))) => words.push(word.text.into_owned()),
            Ok(Some(_)) => return SplitCommand::NeedsShell,
            Ok(None) if lexer.ends_in_escape => return SplitCommand::UnclosedQuote,
            Ok(None) => return SplitCommand::Words(words),
            Err(Unterminated) => return SplitCommand::UnclosedQuote,
        }
    }
}

/// Returns true if a word is a shell builtin that is not a program, or a program with another
/// behavior.
fn is_shell_builtin(word: &str) -> bool {
    // `cd` and similar change the shell itself, and `time` and `type` behave differently as
    // programs.
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
            split_command(text),
            SplitCommand::Words(expected.iter().map(ToString::to_string).collect()),
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
    fn shell_features_need_a_shell() {
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
            // A tilde after `=` is literal in words that are not assignments; it is passed to the
            // shell nevertheless.
            assert_eq!(split_command(text), SplitCommand::NeedsShell, "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_round_trip(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
            let text = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            match split_command(&text) {
                SplitCommand::Words(read) => prop_assert_eq!(read, words),
                // A shell requires more permissions and reads the same words.
                other => prop_assert_eq!(other, SplitCommand::NeedsShell),
            }
        }

        #[test]
        fn words_are_those_of_another_implementation(text in "[a-z '\"\\\\\t#~={:]{0,24}") {
            if let SplitCommand::Words(words) = split_command(&text) {
                prop_assert_eq!(shlex::split(text.trim()), Some(words));
            }
        }

        #[test]
        fn unquoted_operators_are_never_arguments(text in "[a-z '\"\\\\|;&$`<>()]{0,24}") {
            if let SplitCommand::Words(_) = split_command(&text) {
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
