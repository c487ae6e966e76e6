//! Arguments of Python scripts.

mod click;
mod typer;

use super::{Signs, argparse, merge_code_and_usage, option_literals, position, usage};
use crate::ScriptWarning;
use crate::argument::{ArgumentSpec, InputConvention};
use crate::source::{Token, Tokens};

/// Names of packages and functions that read the command line.
const WORD_READERS: [&str; 13] = [
    "argv",
    "orig_argv",
    "argparse",
    "parse_args",
    "optparse",
    "getopt",
    "click",
    "typer",
    "fire",
    "docopt",
    "absl",
    "tyro",
    "cyclopts",
];
/// Functions that parse JSON.
const JSON_PARSERS: [&str; 2] = ["load", "loads"];

/// Maximum number of variables that are followed.
const MAX_VARIABLES: usize = 5;

pub(super) fn infer(
    source: &str,
    stem: &str,
    tokens: &Tokens<'_>,
    warnings: &mut Vec<ScriptWarning>,
) -> ArgumentSpec {
    let signs = signs(tokens);
    let framework = if tokens.has_name("argparse") || tokens.has_name("add_argument") {
        argparse::read(tokens, warnings)
    } else if tokens.has_name("typer") {
        typer::read(tokens)
    } else if tokens.has_name("click") {
        click::read(tokens, warnings)
    } else {
        None
    };
    signs.into_spec(framework, |signs| {
        if tokens.has_any_name(&["argparse", "add_argument", "click", "typer", "fire"]) {
            return ArgumentSpec::unknown(InputConvention::Words);
        }
        let code = if tokens.has_name("argv") {
            option_literals::add(position::python(tokens), tokens)
        } else {
            signs.without_known_words()
        };
        merge_code_and_usage(code, usage::read(source, stem))
    })
}

fn signs(tokens: &Tokens<'_>) -> Signs {
    let reads_words = tokens.has_any_name(&WORD_READERS);
    Signs {
        reads_words,
        parses_first_word: parses_first_word(tokens),
        reads_stdin: reads_stdin(tokens),
        parses_json: parses_stdin(tokens),
    }
}

/// Returns true if a JSON parser gets standard input, possibly through a variable.
fn parses_stdin(tokens: &Tokens<'_>) -> bool {
    let is_stdin =
        |at: usize| tokens.is_name(at, "stdin") && tokens.is_name(at.wrapping_sub(2), "sys");
    let variables: Vec<&str> = (0..tokens.all().len())
        .filter(|at| is_stdin(*at))
        .filter_map(|at| tokens.assigned_name(tokens.dotted_start(at)))
        .take(MAX_VARIABLES)
        .collect();
    tokens.method_calls(&JSON_PARSERS).any(|call| {
        call.inside.clone().any(is_stdin)
            || matches!(tokens.slice(call.inside.clone()), [Token::Name(name)] if variables.contains(name))
    })
}

/// Returns true if `json.loads` gets `sys.argv[1]`, possibly through a variable.
fn parses_first_word(tokens: &Tokens<'_>) -> bool {
    let variables = position::python_variables(tokens, 1);
    tokens.method_calls(&["loads"]).any(|call| {
        let inside = tokens.slice(call.inside.clone());
        match inside {
            [Token::Name(variable)] => variables.contains(variable),
            [
                Token::Name("sys"),
                Token::Symbol('.'),
                Token::Name("argv"),
                Token::Symbol('['),
                Token::Number("1"),
                Token::Symbol(']'),
                ..,
            ] => true,
            _ => false,
        }
    })
}

/// Returns true if standard input is read, and not only asked for its kind.
fn reads_stdin(tokens: &Tokens<'_>) -> bool {
    (0..tokens.all().len()).any(|at| match tokens.name(at) {
        Some("stdin") if tokens.is_symbol(at + 1, '.') => !matches!(
            tokens.name(at + 2),
            Some("isatty" | "fileno" | "close" | "reconfigure" | "encoding")
        ),
        // `stdin=subprocess.PIPE` is an argument of a call.
        Some("stdin") => {
            !tokens.is_symbol(at + 1, '=') && tokens.is_name(at.wrapping_sub(2), "sys")
        }
        Some("fileinput") => true,
        Some("input") => {
            tokens.is_symbol(at + 1, '(')
                && !tokens.is_symbol(at.wrapping_sub(1), '.')
                && !tokens.is_name(at.wrapping_sub(1), "def")
        }
        _ => false,
    })
}
