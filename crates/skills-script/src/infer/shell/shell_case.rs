//! Options and commands that a shell script compares its words with, in `case "$1" in`.

use super::lines::{ShellLines, has_command};
use crate::argument::{Argument, ArgumentStyle, CommandSet, JsonType, is_argument_name};
use crate::infer::MAX_ARGUMENTS;

/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;

/// Maximum number of variables that are followed.
const MAX_VARIABLES: usize = 20;

/// The arguments that the `case` statements of a script accept.
pub(super) struct CaseArguments {
    pub(super) options: Vec<Argument>,
    pub(super) commands: Option<CommandSet>,
    /// The line of the first statement.
    pub(super) line: usize,
}

/// One branch of a `case`.
struct Branch<'a> {
    patterns: Vec<&'a str>,
    body: String,
}

/// Infers options and commands. Returns `None` if there are none.
pub(super) fn read(lines: &ShellLines<'_>) -> Option<CaseArguments> {
    let code: Vec<(usize, &str)> = lines.top_level().collect();
    let mut found = CaseArguments {
        options: Vec::new(),
        commands: None,
        line: usize::MAX,
    };
    // Variables that hold the first word, and those that hold each word in turn.
    let mut first_word: Vec<&str> = Vec::new();
    let mut each_word: Vec<&str> = Vec::new();
    let mut index = 0;
    while let Some((number, line)) = code.get(index) {
        if let Some((variable, 1, _)) = super::assigned_word(line)
            && first_word.len() < MAX_VARIABLES
        {
            first_word.push(variable);
        }
        if each_word.len() < MAX_VARIABLES {
            each_word.extend(loop_variable(line));
        }
        index += 1;
        let Some(subject) = case_subject(line) else {
            continue;
        };
        let is_first = subject == "1" || first_word.contains(&subject);
        if !is_first && !each_word.contains(&subject) {
            continue;
        }
        let (branches, end) = branches(&code[index - 1..]);
        found.add_options(&branches);
        if is_first {
            found.add_commands(&branches);
        }
        found.line = found.line.min(*number);
        index += end;
    }
    (!found.options.is_empty() || found.commands.is_some()).then_some(found)
}

impl CaseArguments {
    fn add_options(&mut self, branches: &[Branch<'_>]) {
        for branch in branches {
            if let Some(option) = branch.option()
                && self.options.len() < MAX_ARGUMENTS
                && self.options.iter().all(|other| other.name != option.name)
            {
                self.options.push(option);
            }
        }
    }

    fn add_commands(&mut self, branches: &[Branch<'_>]) {
        let names: Vec<&str> = branches
            .iter()
            .flat_map(|branch| &branch.patterns)
            .copied()
            .filter(|pattern| is_command(pattern))
            .take(MAX_COMMANDS)
            .collect();
        if names.len() > 1 && self.commands.is_none() {
            let names = names.iter().map(|name| (*name).to_owned());
            self.commands = Some(CommandSet::of_names("command", names));
        }
    }
}

impl Branch<'_> {
    /// Returns the option of `-o|--out)`.
    fn option(&self) -> Option<Argument> {
        let options: Vec<&str> = self
            .patterns
            .iter()
            .copied()
            .filter(|pattern| pattern.starts_with('-'))
            .collect();
        let spelled = |pattern: &&&str| !pattern.contains(['=', '*', '?', '[']);
        let separate = options
            .iter()
            .filter(spelled)
            .find(|pattern| pattern.starts_with("--"))
            .or_else(|| options.iter().find(spelled));
        let (spelling, is_joined) = match separate {
            Some(spelling) => (*spelling, false),
            None => (
                options
                    .iter()
                    .find_map(|pattern| pattern.strip_suffix("=*"))?,
                true,
            ),
        };
        let name = spelling.trim_start_matches('-');
        if !is_argument_name(name) || matches!(name, "h" | "help" | "version") {
            return None;
        }
        let option = spelling.to_owned();
        Some(if is_joined {
            Argument::new(
                name.to_owned(),
                JsonType::String,
                ArgumentStyle::JoinedOption(option),
            )
        } else if self.takes_value() {
            Argument::new(
                name.to_owned(),
                JsonType::String,
                ArgumentStyle::Option(option),
            )
        } else {
            let style = ArgumentStyle::Flag {
                option,
                when: true,
                otherwise: None,
            };
            Argument::new(name.to_owned(), JsonType::Boolean, style)
        })
    }

    /// Returns true if the body reads the next word.
    fn takes_value(&self) -> bool {
        let body = &self.body;
        if body.contains("$2") || body.contains("${2") || body.contains("shift 2") {
            return true;
        }
        let after_shift = body.split_once("shift").map_or("", |(_, rest)| rest);
        after_shift.contains("$1") || after_shift.contains("${1")
    }
}

/// Returns the variable of `for word in "$@"`, whose value is each word in turn.
fn loop_variable(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("for ")?;
    let (variable, rest) = rest.trim_start().split_once([' ', ';'])?;
    let is_all = rest.contains("\"$@\"") || rest.contains("$*") || rest.trim() == "do";
    is_all.then_some(variable)
}

/// Returns the variable of `case "$x" in`; `1` for the first word.
fn case_subject(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("case ")?;
    let subject = rest.trim_start().split([' ', '\t']).next()?;
    let subject = subject.trim_matches('"').strip_prefix('$')?;
    let subject = subject.trim_start_matches('{');
    let end = subject
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(subject.len());
    let is_plain = subject[end..].is_empty() || subject[end..].starts_with(['}', ':', '-']);
    (end > 0 && is_plain && has_command(line, "case")).then(|| &subject[..end])
}

/// Returns the branches of the `case` in the first line, and the number of lines after it.
fn branches<'a>(code: &[(usize, &'a str)]) -> (Vec<Branch<'a>>, usize) {
    let mut found: Vec<Branch<'a>> = Vec::new();
    let mut depth = 1_usize;
    let mut expects_pattern = true;
    for (index, (_, line)) in code.iter().enumerate().skip(1) {
        let mut rest = line.trim();
        if has_command(rest, "case") && !expects_pattern {
            depth += 1;
        }
        if rest.starts_with("esac") {
            depth -= 1;
            if depth == 0 {
                return (found, index);
            }
            continue;
        }
        if depth == 1
            && expects_pattern
            && let Some((patterns, body)) = split_pattern(rest)
        {
            found.push(Branch {
                patterns,
                body: String::new(),
            });
            expects_pattern = false;
            rest = body;
        }
        if let Some(branch) = found.last_mut() {
            branch.body.push_str(rest);
            branch.body.push('\n');
        }
        if depth == 1 && (rest.contains(";;") || rest.contains(";&")) {
            expects_pattern = true;
        }
    }
    (found, code.len() - 1)
}

/// Splits `-o|--out) body`.
fn split_pattern(line: &str) -> Option<(Vec<&str>, &str)> {
    let (pattern, body) = line.strip_prefix('(').unwrap_or(line).split_once(')')?;
    let patterns: Vec<&str> = pattern
        .split('|')
        .map(|part| part.trim().trim_matches(['"', '\'']))
        .collect();
    patterns
        .iter()
        .all(|part| !part.is_empty() && !part.contains([' ', '$', '(']))
        .then_some((patterns, body))
}

/// Returns true if a pattern is the name of a command, and not an answer or a class of characters.
fn is_command(pattern: &str) -> bool {
    is_argument_name(pattern)
        && pattern.len() > 1
        && pattern.starts_with(|c: char| c.is_ascii_lowercase())
        && !matches!(pattern, "help" | "yes" | "no" | "true" | "false")
}
