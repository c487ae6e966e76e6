//! Options that a shell script reads with `getopts`.

use super::lines::{ShellLines, has_command};
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

/// An option with one letter.
struct LetterOption {
    letter: char,
    has_value: bool,
}

/// Returns the options of `getopts ":ab:" opt`.
fn option_letters(line: &str) -> Option<Vec<LetterOption>> {
    let rest = line.split("getopts").nth(1)?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest.find(['"', '\'', ' ', '\t']).unwrap_or(rest.len());
    let text = rest[..end].trim_start_matches(':');
    let mut options: Vec<LetterOption> = Vec::new();
    for c in text.chars() {
        match (c, options.last_mut()) {
            (':', Some(option)) => option.has_value = true,
            ('-', _) => options.push(LetterOption::flag('-')),
            (c, _) if c.is_ascii_alphanumeric() => {
                if options.iter().any(|known| known.letter == c) {
                    return None;
                }
                options.push(LetterOption::flag(c));
            }
            // The text is a variable.
            _ => return None,
        }
    }
    // `-:` is a trick for long options, and `h` prints a text.
    options.retain(|option| option.letter.is_ascii_alphabetic() && option.letter != 'h');
    Some(options)
}

impl LetterOption {
    fn flag(letter: char) -> Self {
        Self {
            letter,
            has_value: false,
        }
    }

    fn argument(&self, lines: &ShellLines<'_>) -> Argument {
        let option = format!("-{}", self.letter);
        let (json_type, style) = if self.has_value {
            (JsonType::String, ArgumentStyle::Option(option))
        } else {
            (
                JsonType::Boolean,
                ArgumentStyle::Flag {
                    option,
                    when: true,
                    otherwise: None,
                },
            )
        };
        let mut argument = Argument::new(self.letter.to_string(), json_type, style);
        argument.description = assigned_variable(self.letter, lines);
        argument
    }
}

/// Returns the variable that the branch of a letter assigns, as a description.
fn assigned_variable(letter: char, lines: &ShellLines<'_>) -> Option<String> {
    let mut rest = lines
        .code()
        .map(|(_, line)| line.trim_start())
        .skip_while(|line| {
            let pattern = line.split(')').next().unwrap_or_default();
            let is_letter =
                |part: &str| part.trim().trim_matches(['(', '"', '\'']) == letter.to_string();
            !line.contains(')') || !pattern.split('|').any(is_letter)
        });
    let first = rest.next()?;
    let body = first.split_once(')')?.1.trim_start();
    let body = if body.is_empty() { rest.next()? } else { body };
    let (variable, _) = body.split_once('=')?;
    let is_variable = !variable.is_empty()
        && variable
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_variable.then(|| variable.to_ascii_lowercase().replace('_', " "))
}
