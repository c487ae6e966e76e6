//! Arguments of JavaScript and TypeScript scripts.

mod commander;
mod parse_args;
mod yargs;

use super::{Signs, merge_code_and_usage, option_literals, position, usage};
use crate::argument::ArgumentSpec;
use crate::source::{Token, Tokens};

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
    let signs = signs(source, tokens);
    let imports = |package: &str| tokens.all().iter().any(|token| is_text(token, package));
    let framework = if imports("commander") {
        commander::read(tokens)
    } else if imports("yargs") || imports("yargs/yargs") {
        yargs::read(tokens)
    } else if imports("util") || imports("node:util") {
        parse_args::read(tokens)
    } else {
        None
    };
    signs.into_spec(framework, |signs| {
        let code = if signs.reads_words {
            option_literals::add(position::javascript(tokens), tokens)
        } else {
            signs.without_known_words()
        };
        merge_code_and_usage(code, usage::read(source, stem))
    })
}

fn is_text(token: &Token<'_>, expected: &str) -> bool {
    matches!(token, Token::StringLiteral(text) if text == expected)
}

fn signs(source: &str, tokens: &Tokens<'_>) -> Signs {
    let is_runtime_argument =
        |at: usize| tokens.is_name(at, "args") && tokens.is_name(at.wrapping_sub(2), "Deno");
    let has_runtime_arguments = (0..tokens.all().len()).any(is_runtime_argument);
    Signs {
        reads_words: tokens.has_any_name(&WORD_READERS) || has_runtime_arguments,
        parses_first_word: parses_first_word(tokens),
        reads_stdin: reads_stdin(source, tokens),
        parses_json: !tokens.has_any_name(&["readline", "createInterface", "question"])
            && tokens
                .method_calls(&["parse"])
                .any(|call| tokens.is_name(call.at.saturating_sub(2), "JSON")),
    }
}

/// Returns true if `JSON.parse` gets `process.argv[2]`, possibly through a variable.
fn parses_first_word(tokens: &Tokens<'_>) -> bool {
    let variables = position::javascript_variables(tokens, 1);
    tokens
        .method_calls(&["parse"])
        .filter(|call| tokens.is_name(call.at.saturating_sub(2), "JSON"))
        .any(|call| match tokens.slice(call.inside.clone()) {
            [Token::Name(variable), ..] if variables.contains(variable) => call.inside.len() == 1,
            [
                Token::Name("process"),
                Token::Symbol('.'),
                Token::Name("argv"),
                Token::Symbol('['),
                Token::Number("2"),
                Token::Symbol(']'),
                ..,
            ] => true,
            _ => false,
        })
}

/// Returns true if standard input is read, and not only asked for its kind.
fn reads_stdin(source: &str, tokens: &Tokens<'_>) -> bool {
    source.contains("/dev/stdin")
        || source.contains("readFileSync(0")
        || (0..tokens.all().len()).any(|at| {
            let is_stdin = tokens.is_name(at, "stdin")
                && tokens.is_symbol(at.wrapping_sub(1), '.')
                && ["process", "Deno", "Bun"]
                    .iter()
                    .any(|owner| tokens.is_name(at.wrapping_sub(2), owner));
            is_stdin && !(tokens.is_symbol(at + 1, '.') && tokens.is_name(at + 2, "isTTY"))
        })
}
