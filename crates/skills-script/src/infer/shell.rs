//! Arguments of shell scripts.

mod getopts;
mod lines;
mod shell_case;

use self::lines::has_command;
pub(crate) use self::lines::{ShellLines, is_function_start, is_variable};
use self::shell_case::CaseArguments;
use super::position::{optional_words, property_name, spec_of_names};
use super::signs::{Signs, merge_code_and_usage};
use super::usage;
use crate::argument::{
    ArgumentSpec, Framework, InputConvention, WordOrder, WordSyntax, is_argument_name,
};

/// Maximum number of variables for one word.
const MAX_VARIABLES: usize = 5;

pub(super) fn infer(source: &str, stem: &str) -> ArgumentSpec {
    let lines = ShellLines::new(source);
    let signs = signs(&lines);
    if signs.convention() != InputConvention::Words || !signs.reads_words {
        return signs.without_known_words();
    }
    let mut spec = merge_code_and_usage(infer_from_code(&lines), usage::read(source, stem));
    spec.standard_input = signs.standard_input();
    spec
}

fn infer_from_code(lines: &ShellLines<'_>) -> ArgumentSpec {
    if let Some(spec) = getopts::read(lines) {
        return spec;
    }
    let words = PositionalWords::find(lines);
    match shell_case::read(lines) {
        Some(case) => with_case(case, &words),
        None => words.into_spec(),
    }
}

/// Combines the arguments of a `case` with the words that are read before it.
fn with_case(case: CaseArguments, words: &PositionalWords) -> ArgumentSpec {
    let is_before = words.line.is_some_and(|line| line < case.line);
    // A command is the first word.
    let skipped = usize::from(case.commands.is_some());
    let names = words.names.get(skipped..).filter(|_| is_before);
    let mut arguments = optional_words(names.unwrap_or_default());
    arguments.extend(case.options);
    let mut spec =
        ArgumentSpec::inferred(Framework::ShellCase, arguments, WordSyntax::Plain).open();
    let commands = case.commands;
    spec.commands = commands.filter(|set| !spec.has_property(&set.property));
    if is_before || spec.commands.is_some() {
        spec.order = WordOrder::PositionalFirst;
    }
    spec
}

/// Variables that get a positional word at the top level, before any `shift`.
#[derive(Default)]
struct PositionalWords {
    names: Vec<String>,
    required: usize,
    /// The first line.
    line: Option<usize>,
}

impl PositionalWords {
    fn find(lines: &ShellLines<'_>) -> Self {
        let mut found = Self::default();
        let before_shift = lines
            .top_level()
            .take_while(|(_, line)| !has_command(line, "shift"));
        for (number, line) in before_shift {
            let word = AssignedWord::parse(line);
            let Some(word) = word.filter(|word| word.position == found.names.len() + 1) else {
                continue;
            };
            let name = property_name(word.variable);
            if !is_argument_name(&name) || found.names.contains(&name) {
                break;
            }
            found.names.push(name);
            found.line.get_or_insert(number);
            let is_unconditional = !line.starts_with([' ', '\t']);
            if word.is_required && is_unconditional && found.required + 1 == word.position {
                found.required = word.position;
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

/// A word of the command line that a line assigns to a variable, as in `FILE="${1:?usage}"`.
struct AssignedWord<'a> {
    variable: &'a str,
    position: usize,
    is_required: bool,
}

impl<'a> AssignedWord<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (variable, value) = without_declaration(line).split_once('=')?;
        let value = value.strip_prefix('"').unwrap_or(value).strip_prefix('$')?;
        let braced = value.strip_prefix('{');
        let value = braced.unwrap_or(value);
        let digits = value.chars().take_while(char::is_ascii_digit).count();
        let (position, rest) = value.split_at(digits);
        // `${10}` and the like are rare.
        let position = position
            .parse()
            .ok()
            .filter(|word| digits == 1 && *word > 0)?;
        let check = rest.strip_prefix(':').unwrap_or(rest);
        is_variable(variable).then_some(Self {
            variable,
            position,
            is_required: braced.is_some() && check.starts_with('?'),
        })
    }
}

fn without_declaration(line: &str) -> &str {
    let mut text = line.trim_start();
    for prefix in ["local ", "readonly ", "export ", "declare ", "-r "] {
        text = text.strip_prefix(prefix).unwrap_or(text).trim_start();
    }
    text
}

fn signs(lines: &ShellLines<'_>) -> Signs {
    let calls = |command| lines.code().any(|(_, line)| has_command(line, command));
    Signs {
        reads_words: lines.top_level().any(|(_, line)| mentions_word(line)),
        parses_first_word: parses_first_word(lines),
        reads_stdin: lines.reads_stdin(),
        parses_json: calls("jq") && !calls("read"),
    }
}

/// Returns true if `jq` gets the first word, possibly through a variable.
fn parses_first_word(lines: &ShellLines<'_>) -> bool {
    let forms = first_word_forms(lines);
    let mut texts = lines.top_level().filter_map(|(_, line)| parsed_text(line));
    texts.any(|text| forms.iter().any(|form| text.contains(form)))
}

fn first_word_forms(lines: &ShellLines<'_>) -> Vec<String> {
    let variables = lines
        .top_level()
        .filter_map(|(_, line)| AssignedWord::parse(line))
        .filter(|word| word.position == 1)
        .map(|word| word.variable)
        .take(MAX_VARIABLES);
    let mut forms = vec!["\"${1:-}\"".to_owned()];
    for name in variables.chain(["1"]) {
        forms.extend([format!("\"${name}\""), format!("\"${{{name}}}\"")]);
    }
    forms
}

/// Returns the text that a line gives to `jq` as JSON, in `jq … <<< "$1"` and `echo "$1" | jq …`.
fn parsed_text(line: &str) -> Option<&str> {
    let mut matches = line.match_indices("jq");
    let (at, _) = matches.find(|(at, _)| lines::is_command_at(line, *at, "jq"))?;
    let call = line[at..].split(['|', ')']).next()?;
    // With these, the input is text, or there is none.
    if call.split_whitespace().any(is_raw_input_option) {
        return None;
    }
    if let Some((_, text)) = call.split_once("<<<") {
        return Some(text);
    }
    let before = line[..at].trim_end().strip_suffix('|')?;
    let start = before.rfind("echo ").max(before.rfind("printf "))?;
    Some(&before[start..])
}

/// Returns true for `-R`, `-n` and their long spellings.
fn is_raw_input_option(word: &str) -> bool {
    if word.starts_with("--") {
        return word.starts_with("--raw-input") || word.starts_with("--null-input");
    }
    word.starts_with('-') && word.contains(['R', 'n'])
}

/// Returns true if a line reads a word of the command line.
fn mentions_word(line: &str) -> bool {
    has_command(line, "getopts")
        || line
            .match_indices('$')
            .any(|(at, _)| is_word_expansion(line[at + 1..].trim_start_matches('{')))
}

/// Returns true if the text after `$` stands for a word, all words or their number.
fn is_word_expansion(text: &str) -> bool {
    // `${#array[@]}` is a length, `${#}` the number of words.
    let is_length = text
        .strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
    !is_length && text.starts_with(|c: char| matches!(c, '1'..='9' | '@' | '*' | '#'))
}
