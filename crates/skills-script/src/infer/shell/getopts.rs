//! Options that a shell script reads with `getopts`.

use super::lines::{ShellLines, has_command, is_variable};
use crate::argument::{Argument, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordSyntax};

/// Infers the options. Returns `None` if the script calls `getopts` not at all or several times.
pub(super) fn read(lines: &ShellLines<'_>) -> Option<ArgumentSpec> {
    let mut calls = lines
        .top_level()
        .filter(|(_, line)| has_command(line, "getopts"));
    let (_, line) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let options = option_letters(line)?;
    let arguments: Vec<Argument> = options
        .into_iter()
        .map(|option| option.argument(lines))
        .collect();
    (!arguments.is_empty()).then(|| {
        // Positional words follow, and only the script knows which.
        ArgumentSpec::inferred(Framework::Getopts, arguments, WordSyntax::Getopt).open()
    })
}

struct LetterOption {
    letter: char,
    has_value: bool,
}

/// Returns the options of `getopts ":ab:" opt`.
fn option_letters(line: &str) -> Option<Vec<LetterOption>> {
    let mut options: Vec<LetterOption> = Vec::new();
    for c in option_text(line)?.chars() {
        let is_known = options.iter().any(|option| option.letter == c);
        match c {
            ':' => options.last_mut()?.has_value = true,
            '-' => options.push(LetterOption::flag('-')),
            c if c.is_ascii_alphanumeric() && !is_known => options.push(LetterOption::flag(c)),
            // The text is a variable.
            _ => return None,
        }
    }
    // `-:` is a trick for long options, and `h` prints a text.
    options.retain(|option| option.letter.is_ascii_alphabetic() && option.letter != 'h');
    Some(options)
}

/// Returns the text between the quotes after `getopts`.
fn option_text(line: &str) -> Option<&str> {
    let rest = line.split("getopts").nth(1)?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let text = rest.split(['"', '\'', ' ', '\t']).next()?;
    Some(text.trim_start_matches(':'))
}

impl LetterOption {
    fn flag(letter: char) -> Self {
        Self {
            letter,
            has_value: false,
        }
    }

    fn argument(&self, lines: &ShellLines<'_>) -> Argument {
        let (name, option) = (self.letter.to_string(), format!("-{}", self.letter));
        let mut argument = if self.has_value {
            Argument::new(name, JsonType::String, ArgumentStyle::Option(option))
        } else {
            Argument::flag(name, option)
        };
        argument.description = assigned_variable(self.letter, lines);
        argument
    }
}

/// Returns the variable that the branch of a letter assigns, as a description.
fn assigned_variable(letter: char, lines: &ShellLines<'_>) -> Option<String> {
    let mut rest = lines
        .code()
        .map(|(_, line)| line.trim_start())
        .skip_while(|line| !starts_branch(line, letter));
    let (_, body) = rest.next()?.split_once(')')?;
    let body = match body.trim_start() {
        "" => rest.next()?,
        body => body,
    };
    let (variable, _) = body.split_once('=')?;
    is_variable(variable).then(|| variable.to_ascii_lowercase().replace('_', " "))
}

/// Returns true for `o)`, `(o|O)` and the like.
fn starts_branch(line: &str, letter: char) -> bool {
    let Some((pattern, _)) = line.split_once(')') else {
        return false;
    };
    let mut parts = pattern.split('|');
    parts.any(|part| part.trim().trim_matches(['(', '"', '\'']) == letter.to_string())
}
