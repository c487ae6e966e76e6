//! Commands in hints, with the options of this call that they need.
//!
//! A hint such as ``see `skills list --long` `` is copied into a shell. Without the roots of the call
//! that printed it, it would search other directories.

use std::sync::LazyLock;

use crate::shell::shell_word;

/// The options that select skills, which are those of every command, and whether they have a value.
const SELECTING: [(&str, HasValue); 10] = [
    ("--root", HasValue::Yes),
    ("--add-root", HasValue::Yes),
    ("--profile", HasValue::Yes),
    ("--disable", HasValue::Yes),
    ("--trust-project", HasValue::No),
    ("--follow-skill-links", HasValue::No),
    ("--nested", HasValue::No),
    ("--max-depth", HasValue::Yes),
    ("--max-directories", HasValue::Yes),
    ("--max-entries", HasValue::Yes),
];
/// The options of commands that install skills, with these commands.
const INSTALLING: [(&str, HasValue, &[&str]); 3] = [
    (
        INSECURE,
        HasValue::No,
        &["add", "update", "outdated", "lock"],
    ),
    (
        IN,
        HasValue::Yes,
        &["update", "outdated", "verify", "remove"],
    ),
    (TO, HasValue::Yes, &["add", "lock"]),
];
const INSECURE: &str = "--insecure";
/// The directory of installed skills.
const IN: &str = "--in";
/// The directory to install to.
const TO: &str = "--to";
/// Commands that find skills by the options that select them.
const SELECTS_SKILLS: [&str; 20] = [
    "accept", "add", "call", "deps", "doctor", "list", "lock", "outdated", "prompt", "quality",
    "remove", "run", "search", "show", "tools", "trust", "update", "usage", "verify", "wasm",
];
/// A command that is about the project, and not about skills.
const TRUST_PROJECT: &str = "skills trust --project";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HasValue {
    Yes,
    No,
}

/// An option of this call, with its value as one word of a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GivenOption {
    name: &'static str,
    value: Option<String>,
}

/// Adds the options of this call to the commands in a text, which are in backquotes, such as
/// `` `skills list` ``. Commands that have an option keep theirs. Options with a value that needs more
/// than quotes are left out.
pub(crate) fn complete_commands(text: &str) -> String {
    static GIVEN: LazyLock<Vec<GivenOption>> = LazyLock::new(|| given_options(&arguments()));
    if GIVEN.is_empty() || !text.contains("`skills ") {
        return text.to_owned();
    }
    complete(text, &GIVEN)
}

fn complete(text: &str, given: &[GivenOption]) -> String {
    let spans = text.split('`').enumerate().map(|(index, span)| {
        // Every second one is between backquotes.
        if index % 2 == 1 && span.starts_with("skills ") && !span.starts_with(TRUST_PROJECT) {
            with_options(span, given)
        } else {
            span.to_owned()
        }
    });
    spans.collect::<Vec<_>>().join("`")
}

/// Returns a command with the options that it needs and does not have.
fn with_options(command: &str, given: &[GivenOption]) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let Some(subcommand) = words.get(1) else {
        return command.to_owned();
    };
    let mut added = String::new();
    for option in given {
        let Some(name) = name_in(subcommand, option.name) else {
            continue;
        };
        let has_option = words
            .iter()
            .any(|word| word.split('=').next() == Some(name));
        if !has_option {
            added.push_str(&format!(" {name}"));
            if let Some(value) = &option.value {
                added.push_str(&format!(" {value}"));
            }
        }
    }
    match command.split_once(" -- ") {
        Some((before, arguments)) => format!("{before}{added} -- {arguments}"),
        None => format!("{command}{added}"),
    }
}

/// Returns the name that an option has in a command; `None` if the command does not need it.
fn name_in(subcommand: &str, option: &'static str) -> Option<&'static str> {
    if SELECTING.iter().any(|(name, _)| *name == option) {
        return SELECTS_SKILLS.contains(&subcommand).then_some(option);
    }
    // One directory has two names: `--in` where skills are, and `--to` where they will be.
    let names: &[&'static str] = match option {
        IN | TO => &[IN, TO],
        INSECURE => &[INSECURE],
        _ => &[],
    };
    let of_command = INSTALLING
        .iter()
        .find(|(name, _, commands)| names.contains(name) && commands.contains(&subcommand));
    of_command.map(|(name, _, _)| *name)
}

/// Returns the command line of this process, with replacements for what is not UTF-8.
fn arguments() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Returns the options of a command line that commands in hints repeat.
fn given_options(arguments: &[String]) -> Vec<GivenOption> {
    let of_installing = INSTALLING
        .iter()
        .map(|(name, has_value, _)| (*name, *has_value));
    let known: Vec<_> = SELECTING.into_iter().chain(of_installing).collect();
    let mut given = Vec::new();
    let mut words = arguments.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let Some((name, has_value)) = known.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        let value = match (has_value, joined) {
            (HasValue::No, _) => None,
            (HasValue::Yes, Some(value)) => Some(quoted(value)),
            (HasValue::Yes, None) => words.next().map(|value| quoted(value)),
        };
        match value {
            Some(None) => {}
            value => given.push(GivenOption {
                name,
                value: value.flatten(),
            }),
        }
    }
    given
}

/// Returns a value of this call as one word of a shell; `None` if it needs more than quotes.
fn quoted(value: &str) -> Option<String> {
    let is_quotable = |c: char| c.is_alphanumeric() || " -_.:/@+*[]=,~()&#%!".contains(c);
    let is_safe = !value.is_empty() && !value.starts_with('-') && value.chars().all(is_quotable);
    shell_word(value).or_else(|| is_safe.then(|| format!("'{value}'")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn commands_repeat_the_options_that_they_have() {
        let words =
            "skills verify --root skills x --root=b$ --in 'a b' --insecure --json -- --nested";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let given = given_options(&words);
        let completed = |text: &str| complete(text, &given);
        assert_eq!(
            completed("see `skills list --long`; or `skills config path`"),
            "see `skills list --long --root skills`; or `skills config path`"
        );
        assert_eq!(
            completed("`skills show --root a x`"),
            "`skills show --root a x`"
        );
        assert_eq!(
            completed("`skills run x -- y`"),
            "`skills run x --root skills -- y`"
        );
        assert_eq!(
            completed("`skills trust --project`"),
            "`skills trust --project`"
        );
        let given = given_options(&["--in".to_owned(), "a b".to_owned(), "--insecure".to_owned()]);
        assert_eq!(
            complete(
                "`skills add`, `skills update NAME`, `skills verify`",
                &given
            ),
            "`skills add --to 'a b' --insecure`, `skills update NAME --in 'a b' --insecure`, `skills verify --in 'a b'`"
        );
    }

    #[test]
    fn a_completed_text_stays() {
        let given = given_options(&["--root".to_owned(), "a".to_owned()]);
        let once = complete("`skills list`", &given);
        assert_eq!(complete(&once, &given), once);
    }

    /// The tables are those of the command line.
    #[test]
    fn the_options_exist() {
        let mut definition = Arguments::command();
        definition.build();
        let has = |command: &str, option: &str| {
            let found = definition.find_subcommand(command);
            let long = option.trim_start_matches('-');
            found.is_some_and(|found| {
                found
                    .get_arguments()
                    .any(|argument| argument.get_long() == Some(long))
            })
        };
        for command in SELECTS_SKILLS {
            for (option, _) in SELECTING {
                // A feature that is off has no commands.
                assert!(definition.find_subcommand(command).is_none() || has(command, option));
            }
        }
        #[cfg(feature = "install")]
        for (option, _, commands) in INSTALLING {
            for command in commands {
                assert!(has(command, option), "{command} {option}");
            }
        }
    }
}
