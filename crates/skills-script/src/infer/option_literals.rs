//! Options that a script compares its words with, such as `if word == "--out"`.

use super::argument_list::push_new;
use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, ArgumentStyle, Framework, JsonType, is_argument_name,
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
    let texts = tokens
        .indices()
        .filter_map(|at| Some((at, option(tokens.text(at)?)?)));
    for (_, argument) in texts.filter(|(at, _)| is_compared(tokens, *at)) {
        let mut known = spec.arguments.iter_mut();
        if let Some(known) = known.find(|known| known.name == argument.name) {
            accept_both_styles(known, &argument);
        } else if !push_new(&mut spec.arguments, argument) {
            break;
        }
    }
    if spec.source == ArgumentSource::Unknown && !spec.arguments.is_empty() {
        return ArgumentSpec::plain_words(Framework::Position, spec.arguments);
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
    is_beside_equality(tokens, at)
        || is_case(tokens, at)
        || is_searched(tokens, at)
        || is_after_short_option(tokens, at)
}

/// Returns true for `--out ==`, `!= --out` and the like.
fn is_beside_equality(tokens: &Tokens<'_>, at: usize) -> bool {
    is_equality(tokens, at.wrapping_sub(2)) || is_equality(tokens, at + 1)
}

/// Returns true if `==` or `!=` starts at an index.
fn is_equality(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_first = tokens.is_symbol(at, '=') || tokens.is_symbol(at, '!');
    is_first && tokens.is_symbol(at.wrapping_add(1), '=')
}

/// Returns true for `case "--out"`, `"--out" in words` and `"--out" not in words`.
fn is_case(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_name(at.wrapping_sub(1), "case")
        || tokens.is_name(at + 1, "in")
        || tokens.is_name(at + 1, "not") && tokens.is_name(at + 2, "in")
}

/// Returns true for `words.includes("--out")`, `getFlag("--out")` and `word in ["--out"]`.
fn is_searched(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(function) = tokens.name(at.wrapping_sub(2)) else {
        return false;
    };
    match tokens.get(at - 1) {
        Some(Token::Symbol('(')) => {
            function == "in" || COMPARING_METHODS.contains(&function) || is_option_getter(function)
        }
        Some(Token::Symbol('[' | '{')) => function == "in",
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
/// option getter: `in ("--out", "-o")`, `getArg(args, "--out")`.
fn is_after_short_option(tokens: &Tokens<'_>, at: usize) -> bool {
    let function = tokens.name(at.wrapping_sub(4));
    let open = tokens.get(at.wrapping_sub(3));
    open.is_some_and(Token::is_opening_bracket)
        && tokens.is_symbol(at.wrapping_sub(1), ',')
        && function.is_some_and(|name| name == "in" || is_option_getter(name))
}
