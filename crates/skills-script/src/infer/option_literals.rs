//! Options that a script compares its words with, such as `if word == "--out"`.

use super::MAX_ARGUMENTS;
use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordOrder,
    WordSyntax, is_argument_name,
};
use crate::source::{Token, Tokens};

/// Methods that compare words with their argument.
const COMPARING_METHODS: [&str; 12] = [
    "includes",
    "indexOf",
    "lastIndexOf",
    "index",
    "startswith",
    "startsWith",
    "has",
    "count",
    "remove",
    "get",
    "find",
    "equals",
];
/// Options that print a text and exit.
const INFORMATIVE: [&str; 2] = ["--help", "--version"];

/// Adds the options to an open spec. Whether they take values cannot be inferred.
pub(super) fn add(mut spec: ArgumentSpec, tokens: &Tokens<'_>) -> ArgumentSpec {
    for at in 0..tokens.all().len() {
        let Some(text) = tokens.text(at) else {
            continue;
        };
        let Some(argument) = option(text).filter(|_| is_compared(tokens, at)) else {
            continue;
        };
        let known = spec
            .arguments
            .iter()
            .position(|one| one.name == argument.name);
        match known {
            Some(index) => accept_both_styles(&mut spec.arguments[index], &argument),
            None if spec.arguments.len() == MAX_ARGUMENTS => break,
            None => spec.arguments.push(argument),
        }
    }
    if spec.source == ArgumentSource::Unknown && !spec.arguments.is_empty() {
        spec.source = ArgumentSource::Inferred(Framework::Position);
        spec.syntax = WordSyntax::Plain;
        spec.order = WordOrder::PositionalFirst;
    }
    spec
}

/// Passes an option that is compared as `--out` and as `--out=` in the first way.
fn accept_both_styles(known: &mut Argument, other: &Argument) {
    if !known.is_positional() && known.style != other.style {
        known.style = ArgumentStyle::FlagOrOption(format!("--{}", known.name));
    }
}

/// Returns the argument for `--name` or `--name=`.
fn option(text: &str) -> Option<Argument> {
    let bare = text.strip_prefix("--")?;
    let name = bare.strip_suffix('=').unwrap_or(bare);
    if !is_argument_name(name) || INFORMATIVE.contains(&text) {
        return None;
    }
    let option = format!("--{name}");
    let style = if bare.ends_with('=') {
        ArgumentStyle::JoinedOption(option)
    } else {
        ArgumentStyle::FlagOrOption(option)
    };
    Some(Argument::new(name.to_owned(), JsonType::Any, style))
}

/// Returns true if a text is compared with a word, and not passed to another program.
fn is_compared(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).and_then(|index| tokens.get(index));
    let is_equality = |one: Option<&Token<'_>>, other: Option<&Token<'_>>| {
        one == Some(&Token::Symbol('=')) && matches!(other, Some(Token::Symbol('=' | '!')))
    };
    if is_equality(before(1), before(2)) || is_equality(tokens.get(at + 2), tokens.get(at + 1)) {
        return true;
    }
    if matches!(before(1), Some(Token::Name("case"))) || tokens.is_name(at + 1, "in") {
        return true;
    }
    if tokens.is_name(at + 1, "not") && tokens.is_name(at + 2, "in") {
        return true;
    }
    match (before(1), before(2)) {
        (Some(Token::Symbol('(')), Some(Token::Name(function))) => {
            *function == "in" || COMPARING_METHODS.contains(function) || is_option_getter(function)
        }
        // `in ("--out", "-o")`, and the second argument of `getArg(args, "--out")`.
        (Some(Token::Symbol('[' | '{')), Some(Token::Name("in"))) => true,
        (Some(Token::Symbol(',')), Some(_)) => is_after_short_option(tokens, at),
        _ => false,
    }
}

/// Returns true if a function has a name such as `getArg` or `hasFlag`.
fn is_option_getter(function: &str) -> bool {
    let name = function.to_ascii_lowercase();
    ["arg", "flag", "opt", "param"]
        .iter()
        .any(|part| name.contains(part))
        && name != "add_argument"
}

/// Returns true if a text follows another one of a list after `in`, or the first argument of an
/// option getter.
fn is_after_short_option(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(first) = at.checked_sub(4) else {
        return false;
    };
    let is_opened = matches!(tokens.get(first + 1), Some(Token::Symbol('(' | '[' | '{')));
    is_opened
        && tokens
            .name(first)
            .is_some_and(|name| name == "in" || is_option_getter(name))
}
