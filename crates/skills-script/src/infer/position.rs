//! Words that a script reads by their position, such as `sys.argv[1]` and `process.argv[2]`.

use std::collections::{BTreeMap, BTreeSet};

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, CommandSet, Framework, InputConvention, JsonType,
    WordOrder, WordSyntax, is_argument_name,
};
use crate::source::{Token, Tokens};

/// Maximum number of positional words that are inferred.
const MAX_WORDS: usize = 20;
/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;
/// Maximum number of tokens of a `switch` that are searched, since they can be nested.
const MAX_SWITCH_TOKENS: usize = 5000;
/// The property that selects a command.
const COMMAND: &str = "command";

/// The variables that get each word; the first word of the user is 1.
type Variables<'a> = BTreeMap<usize, BTreeSet<&'a str>>;

/// Returns the arguments of a Python script that reads `sys.argv` itself.
pub(super) fn python(tokens: &Tokens<'_>) -> ArgumentSpec {
    spec(tokens, &python_words(tokens), "1")
}

/// Returns the arguments of a JavaScript script that reads `process.argv` itself.
pub(super) fn javascript(tokens: &Tokens<'_>) -> ArgumentSpec {
    spec(tokens, &javascript_words(tokens), "2")
}

/// Returns the variables that get a word of a Python script.
pub(super) fn python_variables<'a>(tokens: &Tokens<'a>, word: usize) -> BTreeSet<&'a str> {
    python_words(tokens).remove(&word).unwrap_or_default()
}

/// Returns the variables that get a word of a JavaScript script.
pub(super) fn javascript_variables<'a>(tokens: &Tokens<'a>, word: usize) -> BTreeSet<&'a str> {
    javascript_words(tokens).remove(&word).unwrap_or_default()
}

fn spec(tokens: &Tokens<'_>, variables: &Variables<'_>, first_index: &str) -> ArgumentSpec {
    let names = positional_names(variables);
    let first = variables.get(&1).cloned().unwrap_or_default();
    let commands = compared_words(tokens, &first, first_index);
    let others = names.get(1..).unwrap_or_default();
    if commands.len() < 2 || others.iter().any(|name| name == COMMAND) {
        return spec_of_names(&names);
    }
    let arguments = spec_of_names(others).arguments;
    let mut spec = ArgumentSpec::inferred(Framework::Position, arguments, WordSyntax::Plain).open();
    spec.order = WordOrder::PositionalFirst;
    spec.commands = Some(CommandSet::of_names(COMMAND, commands));
    spec
}

/// Returns the constants that the first word is compared with.
fn compared_words(tokens: &Tokens<'_>, variables: &BTreeSet<&str>, index: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for at in 0..tokens.all().len() {
        let is_variable = tokens.name(at).is_some_and(|name| variables.contains(name));
        let is_element = tokens.is_symbol(at, ']')
            && tokens.get(at.wrapping_sub(1)) == Some(&Token::Number(index))
            && tokens.is_name(at.wrapping_sub(3), "argv");
        if is_variable || is_element {
            for text in compared_with(tokens, at) {
                let is_new = words.len() < MAX_COMMANDS && words.iter().all(|word| word != text);
                if is_new && is_argument_name(text) {
                    words.push(text.to_owned());
                }
            }
        }
    }
    words
}

/// Returns the constants that the expression which ends at `at` is compared with.
fn compared_with<'t>(tokens: &'t Tokens<'_>, at: usize) -> Vec<&'t str> {
    let is_equality = tokens.is_symbol(at + 1, '=') && tokens.is_symbol(at + 2, '=');
    if is_equality {
        // Or `===`.
        return tokens
            .text(at + 3)
            .or(tokens.text(at + 4))
            .into_iter()
            .collect();
    }
    if tokens.is_name(at + 1, "in") {
        let elements = tokens.inside(at + 2).into_iter().flatten();
        return elements
            .take(MAX_COMMANDS)
            .filter_map(|index| tokens.text(index))
            .collect();
    }
    let is_switch = tokens.is_name(at.wrapping_sub(2), "switch") && tokens.is_symbol(at + 1, ')');
    let body = tokens.inside(at + 2).filter(|_| is_switch);
    body.into_iter()
        .flatten()
        .take(MAX_SWITCH_TOKENS)
        .filter(|index| tokens.is_name(*index, "case"))
        .filter_map(|index| tokens.text(index + 1))
        .take(MAX_COMMANDS)
        .collect()
}

/// Returns an open spec with optional positional words of these names.
pub(super) fn spec_of_names(names: &[String]) -> ArgumentSpec {
    let arguments: Vec<Argument> = names
        .iter()
        .map(|name| {
            let style = ArgumentStyle::Positional { min: 0, max: 1 };
            Argument::new(name.clone(), JsonType::String, style)
        })
        .collect();
    if arguments.is_empty() {
        return ArgumentSpec::unknown(InputConvention::Words);
    }
    let mut spec = ArgumentSpec::inferred(Framework::Position, arguments, WordSyntax::Plain).open();
    spec.order = WordOrder::PositionalFirst;
    spec
}

/// Returns the names of the first words, up to one without a single name.
fn positional_names(variables: &Variables<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in 1..=MAX_WORDS {
        let Some(found) = variables.get(&word) else {
            break;
        };
        let mut found = found.iter().map(|name| property_name(name));
        match (found.next(), found.next()) {
            (Some(name), None) if is_argument_name(&name) && !names.contains(&name) => {
                names.push(name);
            }
            // The meaning of the word depends on another one.
            _ => break,
        }
    }
    names
}

/// Returns the name of a property for a variable.
pub(super) fn property_name(variable: &str) -> String {
    let name = variable.trim_start_matches(['_', '$']);
    if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        name.to_owned()
    } else {
        name.to_ascii_lowercase()
    }
}

fn python_words<'a>(tokens: &Tokens<'a>) -> Variables<'a> {
    let mut found = Variables::new();
    let mut aliases: BTreeMap<&str, usize> = BTreeMap::new();
    for at in 0..tokens.all().len() {
        let Some(name) = tokens.name(at) else {
            continue;
        };
        let (start, offset) = match name {
            "argv" => (tokens.dotted_start(at), 0),
            name if !tokens.is_symbol(at.wrapping_sub(1), '.') => match aliases.get(name) {
                Some(offset) => (at, *offset),
                None => continue,
            },
            _ => continue,
        };
        match tokens.slice(at + 1..at + 5) {
            // `argv[1]`, but not `argv[1:]`.
            [
                Token::Symbol('['),
                Token::Number(number),
                Token::Symbol(']'),
                ..,
            ] => {
                let word = number.parse::<usize>().map(|index| index + offset);
                if let (Ok(word), Some(variable)) = (word, assigned_variable(tokens, start)) {
                    found.entry(word).or_default().insert(variable);
                }
            }
            [
                Token::Symbol('['),
                Token::Number(number),
                Token::Symbol(':'),
                Token::Symbol(']'),
            ] => {
                let first = number.parse::<usize>().map(|index| index + offset);
                if let (Ok(first), Some(variable)) = (first, assigned_variable(tokens, start))
                    && is_end_of_statement(tokens.get(at + 5))
                {
                    aliases.insert(variable, first);
                }
            }
            _ => {}
        }
    }
    found
}

fn javascript_words<'a>(tokens: &Tokens<'a>) -> Variables<'a> {
    let mut found = Variables::new();
    let mut aliases: BTreeMap<&str, usize> = BTreeMap::new();
    for at in 0..tokens.all().len() {
        let Some(name) = tokens.name(at) else {
            continue;
        };
        // The first two words are the interpreter and the script. An offset counts words of the
        // user, so that `argv[2]` is the word 1.
        let (start, first_index, offset) = match name {
            "argv" if tokens.is_name(at.wrapping_sub(2), "process") => {
                (tokens.dotted_start(at), 2, 1)
            }
            name if !tokens.is_symbol(at.wrapping_sub(1), '.') => match aliases.get(name) {
                Some(offset) => (at, 0, *offset),
                None => continue,
            },
            _ => continue,
        };
        let word = |index: usize| Some(index.checked_sub(first_index)? + offset);
        let number = |token: usize| match tokens.get(token) {
            Some(Token::Number(number)) => number.parse::<usize>().ok(),
            _ => None,
        };
        let is_slice = tokens.is_name(at + 2, "slice") && tokens.is_symbol(at + 3, '(');
        if tokens.is_symbol(at + 1, '[') && tokens.is_symbol(at + 3, ']') {
            let word = number(at + 2).and_then(word);
            if let (Some(word), Some(variable)) = (word, assigned_variable(tokens, start)) {
                found.entry(word).or_default().insert(variable);
            }
        } else if is_slice && tokens.is_symbol(at + 5, ')') {
            let Some(first) = number(at + 4).and_then(word) else {
                continue;
            };
            match assigned_variable(tokens, start) {
                Some(variable) if !tokens.is_symbol(at + 6, '.') => {
                    aliases.insert(variable, first);
                }
                _ => add_pattern(tokens, start, first, &mut found),
            }
        } else if first_index == 2 {
            // `[, , file] = process.argv`: the first name is the third element.
            add_pattern_after_two(tokens, start, &mut found);
        } else {
            add_pattern(tokens, start, offset, &mut found);
        }
    }
    found
}

/// Returns the variable that an expression is assigned to.
fn assigned_variable<'a>(tokens: &Tokens<'a>, start: usize) -> Option<&'a str> {
    // Also in `int(sys.argv[1])`, `Path(sys.argv[1])` and the like.
    let mut start = start;
    for _ in 0..3 {
        let is_wrapped = tokens.is_symbol(start.checked_sub(1)?, '(');
        let function = start.checked_sub(2).filter(|_| is_wrapped);
        match function.filter(|function| tokens.name(*function).is_some()) {
            Some(function) => start = tokens.dotted_start(function),
            None => break,
        }
    }
    let variable = tokens.assigned_name(start)?;
    let before = start.checked_sub(3);
    match before.and_then(|before| tokens.get(before)) {
        // A type: `file: str = …`.
        Some(Token::Symbol(':')) => tokens.name(start.checked_sub(4)?),
        Some(Token::Symbol('|')) => None,
        _ => Some(variable),
    }
}

fn is_end_of_statement(token: Option<&Token<'_>>) -> bool {
    matches!(token, None | Some(Token::Newline | Token::Symbol(';')))
}

/// Adds the names of `[a, b] = …`, of which the first gets the word `first`.
fn add_pattern<'a>(tokens: &Tokens<'a>, start: usize, first: usize, found: &mut Variables<'a>) {
    for (index, name) in pattern_names(tokens, start).into_iter().enumerate() {
        if let Some(name) = name {
            found.entry(first + index).or_default().insert(name);
        }
    }
}

fn add_pattern_after_two<'a>(tokens: &Tokens<'a>, start: usize, found: &mut Variables<'a>) {
    for (index, name) in pattern_names(tokens, start).into_iter().enumerate().skip(2) {
        if let Some(name) = name {
            found.entry(index - 1).or_default().insert(name);
        }
    }
}

/// Returns the elements of the array pattern before `=`. An element without a name is `None`.
fn pattern_names<'a>(tokens: &Tokens<'a>, start: usize) -> Vec<Option<&'a str>> {
    let Some(close) = start.checked_sub(2) else {
        return Vec::new();
    };
    if !tokens.is_symbol(start - 1, '=') || !tokens.is_symbol(close, ']') {
        return Vec::new();
    }
    let mut elements = Vec::new();
    let mut current = None;
    // Elements with defaults or nested patterns end the search.
    for at in (0..close).rev().take(4 * MAX_WORDS) {
        match tokens.get(at) {
            Some(Token::Name(name)) if current.is_none() => current = Some(*name),
            Some(Token::Symbol(',')) => elements.push(current.take()),
            Some(Token::Symbol('[')) => {
                elements.push(current.take());
                elements.reverse();
                return elements;
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}
