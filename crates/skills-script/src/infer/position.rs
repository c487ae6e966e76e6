//! Words that a script reads by their position, such as `sys.argv[1]` and `process.argv[2]`.

use std::collections::{BTreeMap, BTreeSet};

use super::argument_list::MAX_COMMANDS;
use crate::argument::{
    Argument, ArgumentSpec, COMMAND, CommandSet, Framework, InputConvention, JsonType,
    is_argument_name,
};
use crate::source::{Token, Tokens};

/// Maximum number of positional words that are inferred.
const MAX_WORDS: usize = 20;
/// Maximum number of tokens of a `switch` that are searched, since they can be nested.
const MAX_SWITCH_TOKENS: usize = 5000;
/// Maximum number of calls around an expression that are skipped.
const MAX_WRAPPERS: usize = 3;

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

/// Returns true if the tokens at `start` are `owner.argv[index]`.
pub(super) fn is_first_word(tokens: &Tokens<'_>, start: usize, owner: &str, index: &str) -> bool {
    tokens.is_name(start, owner)
        && tokens.is_symbol(start + 1, '.')
        && is_element(tokens, start + 5, index)
}

/// Returns true if `argv[index]` ends at `end`.
fn is_element(tokens: &Tokens<'_>, end: usize, index: &str) -> bool {
    tokens.is_symbol(end, ']')
        && tokens.get(end.wrapping_sub(1)) == Some(&Token::Number(index))
        && tokens.is_symbol(end.wrapping_sub(2), '[')
        && tokens.is_name(end.wrapping_sub(3), "argv")
}

fn spec(tokens: &Tokens<'_>, variables: &Variables<'_>, first_index: &str) -> ArgumentSpec {
    let names = positional_names(variables);
    let commands = compared_words(tokens, variables.get(&1), first_index);
    let others = names.get(1..).unwrap_or_default();
    if commands.len() < 2 || others.iter().any(|name| name == COMMAND) {
        return spec_of_names(&names);
    }
    ArgumentSpec {
        commands: Some(CommandSet::of_names(commands)),
        ..ArgumentSpec::plain_words(Framework::Position, optional_words(others))
    }
}

/// Returns the constants that the first word is compared with.
fn compared_words(
    tokens: &Tokens<'_>,
    variables: Option<&BTreeSet<&str>>,
    index: &str,
) -> Vec<String> {
    let is_variable = |name| variables.is_some_and(|variables| variables.contains(name));
    let texts = tokens
        .indices()
        .filter(|at| tokens.name(*at).is_some_and(is_variable) || is_element(tokens, *at, index))
        .flat_map(|at| compared_with(tokens, at));
    let mut words: Vec<String> = Vec::new();
    for text in texts.filter(|text| is_argument_name(text)) {
        if words.len() < MAX_COMMANDS && words.iter().all(|word| word != text) {
            words.push(text.to_owned());
        }
    }
    words
}

/// Returns the constants that the expression which ends at `at` is compared with.
fn compared_with<'t>(tokens: &'t Tokens<'_>, at: usize) -> Vec<&'t str> {
    if tokens.is_symbol(at + 1, '=') && tokens.is_symbol(at + 2, '=') {
        // Or `===`.
        let text = tokens.text(at + 3).or(tokens.text(at + 4));
        return text.into_iter().collect();
    }
    if tokens.is_name(at + 1, "in") {
        return list_texts(tokens, at + 2);
    }
    if tokens.is_name(at.wrapping_sub(2), "switch") && tokens.is_symbol(at + 1, ')') {
        return case_texts(tokens, at + 2);
    }
    Vec::new()
}

/// Returns the constants of the list that starts at a bracket.
fn list_texts<'t>(tokens: &'t Tokens<'_>, open: usize) -> Vec<&'t str> {
    let elements = tokens.inside(open).into_iter().flatten();
    elements
        .take(MAX_COMMANDS)
        .filter_map(|index| tokens.text(index))
        .collect()
}

/// Returns the constants after each `case` of the `switch` whose body starts at a bracket.
fn case_texts<'t>(tokens: &'t Tokens<'_>, open: usize) -> Vec<&'t str> {
    let body = tokens.inside(open).into_iter().flatten();
    body.take(MAX_SWITCH_TOKENS)
        .filter(|index| tokens.is_name(*index, "case"))
        .filter_map(|index| tokens.text(index + 1))
        .take(MAX_COMMANDS)
        .collect()
}

/// Returns an open spec with optional positional words of these names.
pub(super) fn spec_of_names(names: &[String]) -> ArgumentSpec {
    if names.is_empty() {
        return ArgumentSpec::unknown(InputConvention::Words);
    }
    ArgumentSpec::plain_words(Framework::Position, optional_words(names))
}

/// Returns optional positional arguments of one word each.
pub(super) fn optional_words(names: &[String]) -> Vec<Argument> {
    let names = names.iter().cloned();
    names
        .map(|name| Argument::positional(name, JsonType::String, 0))
        .collect()
}

/// Returns the names of the first words, up to one without a single name.
fn positional_names(variables: &Variables<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in 1..=MAX_WORDS {
        // With several names, the meaning of the word depends on another one.
        match variables.get(&word).and_then(single_name) {
            Some(name) if !names.contains(&name) => names.push(name),
            _ => break,
        }
    }
    names
}

fn single_name(variables: &BTreeSet<&str>) -> Option<String> {
    let name = property_name(variables.first()?);
    (variables.len() == 1 && is_argument_name(&name)).then_some(name)
}

pub(super) fn property_name(variable: &str) -> String {
    let name = variable.trim_start_matches(['_', '$']);
    // A constant.
    if !name.contains(char::is_lowercase) {
        return name.to_ascii_lowercase();
    }
    name.to_owned()
}

fn python_words<'a>(tokens: &Tokens<'a>) -> Variables<'a> {
    WordReader::new(tokens).read(WordReader::python_list, WordReader::add_python_access)
}

fn javascript_words<'a>(tokens: &Tokens<'a>) -> Variables<'a> {
    WordReader::new(tokens).read(
        WordReader::javascript_list,
        WordReader::add_javascript_access,
    )
}

/// An expression that is a list of words.
struct WordList {
    /// The index of its first token.
    start: usize,
    /// Number of elements before the words.
    skipped: usize,
    /// The word that is the first element after those.
    first_word: usize,
}

impl WordList {
    fn word(&self, index: usize) -> Option<usize> {
        Some(index.checked_sub(self.skipped)? + self.first_word)
    }
}

/// Follows the words from the list of all words to variables.
struct WordReader<'t, 'a> {
    tokens: &'t Tokens<'a>,
    variables: Variables<'a>,
    /// The first word of each list that is assigned to a variable.
    lists: BTreeMap<&'a str, usize>,
}

impl<'t, 'a> WordReader<'t, 'a> {
    fn new(tokens: &'t Tokens<'a>) -> Self {
        Self {
            tokens,
            variables: Variables::new(),
            lists: BTreeMap::new(),
        }
    }

    /// Finds the lists of words, and what is done with them.
    fn read(
        mut self,
        list_at: impl Fn(&Self, usize) -> Option<WordList>,
        add_access: impl Fn(&mut Self, &WordList, usize),
    ) -> Variables<'a> {
        for at in self.tokens.indices() {
            if let Some(list) = list_at(&self, at) {
                add_access(&mut self, &list, at);
            }
        }
        self.variables
    }

    /// Returns the list of words whose expression ends with the name at an index.
    fn python_list(&self, at: usize) -> Option<WordList> {
        if !self.tokens.is_name(at, "argv") {
            return self.assigned_list(at);
        }
        Some(WordList {
            start: self.tokens.dotted_start(at),
            skipped: 0,
            first_word: 0,
        })
    }

    fn javascript_list(&self, at: usize) -> Option<WordList> {
        if !self.tokens.is_name(at, "argv") || self.tokens.owner(at) != Some("process") {
            return self.assigned_list(at);
        }
        // The first two elements are the interpreter and the script.
        Some(WordList {
            start: self.tokens.dotted_start(at),
            skipped: 2,
            first_word: 1,
        })
    }

    fn assigned_list(&self, at: usize) -> Option<WordList> {
        let first_word = *self.lists.get(self.tokens.name(at)?)?;
        let is_member = self.tokens.is_symbol(at.wrapping_sub(1), '.');
        (!is_member).then_some(WordList {
            start: at,
            skipped: 0,
            first_word,
        })
    }

    /// Adds the variable that gets `list[1]` or `list[1:]`.
    fn add_python_access(&mut self, list: &WordList, at: usize) {
        match self.tokens.slice(at + 1..at + 5) {
            [Token::Symbol('['), Token::Number(_), Token::Symbol(']'), ..] => {
                self.add_element(list, at + 2);
            }
            [
                Token::Symbol('['),
                Token::Number(_),
                Token::Symbol(':'),
                Token::Symbol(']'),
            ] if is_end_of_statement(self.tokens.get(at + 5)) => self.add_slice(list, at + 2),
            _ => {}
        }
    }

    /// Adds the variables that get `list[2]`, `list.slice(2)` or the elements of the list.
    fn add_javascript_access(&mut self, list: &WordList, at: usize) {
        let tokens = self.tokens;
        let is = |offset: usize, symbol| tokens.is_symbol(at + offset, symbol);
        let is_call = tokens.is_name(at + 2, "slice") && is(3, '(') && is(5, ')');
        if is(1, '[') && is(3, ']') {
            self.add_element(list, at + 2);
        } else if is_call && is(6, '.') {
            self.add_slice_pattern(list, at + 4);
        } else if is_call {
            self.add_slice(list, at + 4);
            self.add_slice_pattern(list, at + 4);
        } else {
            self.add_pattern(list);
        }
    }

    /// Returns the word that the number at an index stands for.
    fn word_at(&self, list: &WordList, at: usize) -> Option<usize> {
        list.word(self.tokens.number(at)?)
    }

    fn add_element(&mut self, list: &WordList, index: usize) {
        if let Some((word, variable)) = self.assignment(list, index) {
            self.variables.entry(word).or_default().insert(variable);
        }
    }

    fn add_slice(&mut self, list: &WordList, index: usize) {
        if let Some((first_word, variable)) = self.assignment(list, index) {
            self.lists.insert(variable, first_word);
        }
    }

    /// Returns the word that the number at an index stands for, and the variable that gets it.
    fn assignment(&self, list: &WordList, index: usize) -> Option<(usize, &'a str)> {
        let variable = assigned_variable(self.tokens, list.start)?;
        Some((self.word_at(list, index)?, variable))
    }

    /// Adds the names of the array pattern that the rest of a list is assigned to.
    fn add_slice_pattern(&mut self, list: &WordList, index: usize) {
        if let Some(first_word) = self.word_at(list, index) {
            self.add_pattern(&WordList {
                start: list.start,
                skipped: 0,
                first_word,
            });
        }
    }

    /// Adds the names of the array pattern that a list is assigned to, `[a, b] = …`.
    fn add_pattern(&mut self, list: &WordList) {
        let names = pattern_names(self.tokens, list.start).unwrap_or_default();
        for (index, name) in names.into_iter().enumerate() {
            if let (Some(word), Some(name)) = (list.word(index), name) {
                self.variables.entry(word).or_default().insert(name);
            }
        }
    }
}

fn assigned_variable<'a>(tokens: &Tokens<'a>, start: usize) -> Option<&'a str> {
    let mut start = start;
    for _ in 0..MAX_WRAPPERS {
        start = wrapper_start(tokens, start).unwrap_or(start);
    }
    let variable = tokens.assigned_name(start)?;
    match tokens.get(start.wrapping_sub(3)) {
        // A type: `file: str = …`.
        Some(Token::Symbol(':')) => tokens.name(start.checked_sub(4)?),
        Some(Token::Symbol('|')) => None,
        _ => Some(variable),
    }
}

/// Returns the start of the call around an expression, such as `int(sys.argv[1])`.
fn wrapper_start(tokens: &Tokens<'_>, start: usize) -> Option<usize> {
    let function = start.checked_sub(2)?;
    tokens.name(function)?;
    let is_wrapped = tokens.is_symbol(start - 1, '(');
    is_wrapped.then(|| tokens.dotted_start(function))
}

fn is_end_of_statement(token: Option<&Token<'_>>) -> bool {
    matches!(token, None | Some(Token::Newline | Token::Symbol(';')))
}

/// Returns the elements of the array pattern before `=`. An element without a name is `None`.
fn pattern_names<'a>(tokens: &Tokens<'a>, start: usize) -> Option<Vec<Option<&'a str>>> {
    let close = start.checked_sub(2)?;
    if !tokens.is_symbol(start - 1, '=') || !tokens.is_symbol(close, ']') {
        return None;
    }
    let mut elements = Vec::new();
    let mut current = None;
    // Elements with defaults or nested patterns end the search.
    for at in (0..close).rev().take(4 * MAX_WORDS) {
        match tokens.get(at)? {
            Token::Name(name) if current.is_none() => current = Some(*name),
            Token::Symbol(',') => elements.push(current.take()),
            Token::Symbol('[') => {
                elements.push(current);
                elements.reverse();
                return Some(elements);
            }
            _ => return None,
        }
    }
    None
}
