//! Arguments of shell scripts.

mod getopts;
mod lines;
mod shell_case;

pub(crate) use self::lines::{ShellLines, is_function_start};
use super::position::{property_name, spec_of_names};
use super::{Signs, merge_code_and_usage, usage};
use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, Framework, InputConvention, WordOrder, WordSyntax,
};

/// Maximum number of variables for one word.
const MAX_VARIABLES: usize = 5;

pub(super) fn infer(source: &str, stem: &str) -> ArgumentSpec {
    let lines = ShellLines::new(source);
    let signs = signs(&lines);
    let convention = signs.convention();
    if convention != InputConvention::Words || !signs.reads_words {
        return signs.without_known_words();
    }
    let words = PositionalWords::find(&lines);
    let case = shell_case::read(&lines);
    let code = match (getopts::read(&lines), case) {
        (Some(spec), _) => spec,
        (None, Some(case)) => with_case(case, &words),
        (None, None) => words.into_spec(),
    };
    let mut spec = merge_code_and_usage(code, usage::read(source, stem));
    spec.standard_input = signs.standard_input();
    spec
}

/// Combines the arguments of a `case` with the words that are read before it.
fn with_case(case: shell_case::CaseArguments, words: &PositionalWords) -> ArgumentSpec {
    let has_commands = case.commands.is_some();
    let names: Vec<String> = words
        .names
        .iter()
        // The command is the first word.
        .skip(usize::from(has_commands))
        .cloned()
        .collect();
    let is_before = words.line.is_some_and(|line| line < case.line);
    let mut arguments: Vec<Argument> = if is_before {
        spec_of_names(&names).arguments
    } else {
        Vec::new()
    };
    arguments.extend(case.options);
    let commands = case.commands.filter(|set| {
        arguments
            .iter()
            .all(|argument| argument.name != set.property)
    });
    let mut spec =
        ArgumentSpec::inferred(Framework::ShellCase, arguments, WordSyntax::Plain).open();
    spec.commands = commands;
    if is_before || spec.commands.is_some() {
        spec.order = WordOrder::PositionalFirst;
    }
    if spec.arguments.is_empty() && spec.commands.is_none() {
        spec.source = ArgumentSource::Unknown;
    }
    spec
}

/// Variables that get a positional word at the top level, before any `shift`.
struct PositionalWords {
    names: Vec<String>,
    required: usize,
    /// The first line.
    line: Option<usize>,
}

impl PositionalWords {
    fn find(lines: &ShellLines<'_>) -> Self {
        let mut found = Self {
            names: Vec::new(),
            required: 0,
            line: None,
        };
        for (number, line) in lines.top_level() {
            if lines::has_command(line, "shift") {
                break;
            }
            let Some((variable, word, is_required)) = assigned_word(line) else {
                continue;
            };
            if word == found.names.len() + 1 {
                let name = property_name(variable);
                if !crate::argument::is_argument_name(&name) || found.names.contains(&name) {
                    break;
                }
                found.names.push(name);
                found.line.get_or_insert(number);
                let is_unconditional = !line.starts_with([' ', '\t']);
                if is_required && is_unconditional && found.required + 1 == word {
                    found.required = word;
                }
            }
        }
        found
    }

    fn into_spec(self) -> ArgumentSpec {
        let mut spec = spec_of_names(&self.names);
        for argument in spec.arguments.iter_mut().take(self.required) {
            argument.required = true;
        }
        spec
    }
}

/// Returns the variable, the number of the word and whether it is required, for a line such as
/// `FILE="${1:?usage}"`.
fn assigned_word(line: &str) -> Option<(&str, usize, bool)> {
    let mut text = line.trim_start();
    for prefix in ["local ", "readonly ", "export ", "declare ", "-r "] {
        text = text.strip_prefix(prefix).unwrap_or(text).trim_start();
    }
    let (variable, value) = text.split_once('=')?;
    let is_variable = !variable.is_empty()
        && variable
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let value = value.strip_prefix('"').unwrap_or(value).strip_prefix('$')?;
    let (braced, digits) = match value.strip_prefix('{') {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let word = digits
        .chars()
        .next()?
        .to_digit(10)
        .filter(|digit| *digit > 0)?;
    let rest = &digits[1..];
    let is_required = braced && (rest.starts_with(":?") || rest.starts_with('?'));
    // `${10}` and the like are rare.
    let is_word = is_variable && !rest.starts_with(|c: char| c.is_ascii_digit());
    is_word.then_some((variable, usize::try_from(word).ok()?, is_required))
}

fn signs(lines: &ShellLines<'_>) -> Signs {
    let first_word: Vec<&str> = lines
        .top_level()
        .filter_map(|(_, line)| assigned_word(line))
        .filter(|(_, word, _)| *word == 1)
        .map(|(variable, _, _)| variable)
        .take(MAX_VARIABLES)
        .collect();
    let mentions_first = |text: &str| {
        ["\"$1\"", "\"${1}\"", "\"${1:-}\""]
            .iter()
            .any(|word| text.contains(word))
            || first_word.iter().any(|variable| {
                text.contains(&format!("\"${variable}\""))
                    || text.contains(&format!("\"${{{variable}}}\""))
            })
    };
    Signs {
        reads_words: lines.top_level().any(|(_, line)| mentions_word(line)),
        parses_first_word: lines
            .top_level()
            .any(|(_, line)| parsed_text(line).is_some_and(mentions_first)),
        reads_stdin: lines.reads_stdin(),
        parses_json: !lines
            .code()
            .any(|(_, line)| lines::has_command(line, "read"))
            && lines.code().any(|(_, line)| lines::has_command(line, "jq")),
    }
}

/// Returns the text that a line gives to `jq` as JSON, in `jq … <<< "$1"` and `echo "$1" | jq …`.
fn parsed_text(line: &str) -> Option<&str> {
    let at = line
        .match_indices("jq")
        .find(|(at, _)| lines::is_command_at(line, *at, "jq"))?
        .0;
    let call = line[at..].split(['|', ')']).next()?;
    // With these, the input is text, or there is none.
    let is_raw = call.split_whitespace().any(|word| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(['R', 'n'])
            || word.starts_with("--raw-input")
            || word.starts_with("--null-input")
    });
    if is_raw {
        return None;
    }
    if let Some((_, text)) = call.split_once("<<<") {
        return Some(text);
    }
    let before = line[..at].trim_end().strip_suffix('|')?;
    let start = ["echo ", "printf "]
        .iter()
        .filter_map(|command| before.rfind(command))
        .max()?;
    Some(&before[start..])
}

/// Returns true if a line reads a word of the command line.
fn mentions_word(line: &str) -> bool {
    if lines::has_command(line, "getopts") {
        return true;
    }
    line.match_indices('$').any(|(at, _)| {
        let rest = line[at + 1..].trim_start_matches('{');
        rest.starts_with(|c: char| matches!(c, '1'..='9' | '@' | '*' | '#'))
            // `${#array[@]}` is a length, `${#}` the number of words.
            && !(rest.starts_with('#') && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    })
}
