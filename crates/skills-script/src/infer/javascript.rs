//! Arguments of JavaScript and TypeScript scripts.

mod commander;
mod parse_args;

use super::signs::{Signs, merge_code_and_usage};
use super::{option_literals, position, usage};
use crate::argument::ArgumentSpec;
use crate::source::{MethodCall, Token, Tokens};

/// Names of packages and functions that read the command line.
const WORD_READERS: [&str; 9] = [
    "argv",
    "yargs",
    "hideBin",
    "commander",
    "Command",
    "parseArgs",
    "minimist",
    "cac",
    "meow",
];

pub(super) fn infer(source: &str, stem: &str, tokens: &Tokens<'_>) -> ArgumentSpec {
    signs(source, tokens).into_spec(framework(tokens), |signs| {
        let code = if signs.reads_words {
            option_literals::add(position::javascript(tokens), tokens)
        } else {
            signs.without_known_words()
        };
        merge_code_and_usage(code, usage::read(source, stem))
    })
}

fn framework(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let imports = |package: &str| tokens.all().iter().any(|token| is_text(token, package));
    if imports("commander") {
        commander::read(tokens)
    } else if imports("util") || imports("node:util") {
        parse_args::read(tokens)
    } else {
        None
    }
}

fn is_text(token: &Token<'_>, expected: &str) -> bool {
    matches!(token, Token::StringLiteral(text) if text == expected)
}

fn signs(source: &str, tokens: &Tokens<'_>) -> Signs {
    Signs {
        reads_words: tokens.has_any_name(&WORD_READERS)
            || members(tokens, "args", &["Deno"]).next().is_some(),
        parses_first_word: parses_first_word(tokens),
        reads_stdin: reads_stdin(source, tokens),
        parses_json: json_parses(tokens).next().is_some()
            && !tokens.has_any_name(&["readline", "createInterface", "question"]),
    }
}

/// Returns the indices of `owner.name`, for any of these owners.
fn members<'t>(
    tokens: &'t Tokens<'_>,
    name: &'t str,
    owners: &'t [&str],
) -> impl Iterator<Item = usize> {
    tokens.indices().filter(move |at| {
        tokens.is_name(*at, name)
            && tokens
                .owner(*at)
                .is_some_and(|owner| owners.contains(&owner))
    })
}

fn json_parses<'t, 'a>(tokens: &'t Tokens<'a>) -> impl Iterator<Item = MethodCall<'t, 'a>> {
    tokens
        .method_calls(&["parse"])
        .filter(|call| tokens.owner(call.at) == Some("JSON"))
}

/// Returns true if `JSON.parse` gets `process.argv[2]`, possibly through a variable.
fn parses_first_word(tokens: &Tokens<'_>) -> bool {
    let variables = position::javascript_variables(tokens, 1);
    json_parses(tokens).any(|call| match tokens.slice(call.inside.clone()) {
        [Token::Name(variable)] => variables.contains(variable),
        _ => position::is_first_word(tokens, call.inside.start, "process", "2"),
    })
}

/// Returns true if standard input is read, and not only asked for its kind.
fn reads_stdin(source: &str, tokens: &Tokens<'_>) -> bool {
    let is_kind = |at: usize| tokens.is_symbol(at + 1, '.') && tokens.is_name(at + 2, "isTTY");
    source.contains("/dev/stdin")
        || source.contains("readFileSync(0")
        || members(tokens, "stdin", &["process", "Deno", "Bun"])
            .any(|at| tokens.is_symbol(at - 1, '.') && !is_kind(at))
}
