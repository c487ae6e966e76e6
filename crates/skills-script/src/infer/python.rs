//! Arguments of Python scripts.

use super::signs::{Signs, merge_code_and_usage};
use super::{argparse, option_literals, position, usage};
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
/// Packages that read the command line from decorators and parameters of functions.
const WORD_PACKAGES: [&str; 3] = ["click", "typer", "fire"];
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
    signs(tokens).into_spec(framework(tokens, warnings), |signs| {
        if tokens.has_any_name(&["argparse", "add_argument"]) {
            return ArgumentSpec::unknown(InputConvention::Words);
        }
        // Beside a package that reads the words, `argv` is something else.
        let reads_itself = tokens.has_name("argv") && !tokens.has_any_name(&WORD_PACKAGES);
        let code = if reads_itself {
            option_literals::add(position::python(tokens), tokens)
        } else {
            signs.without_known_words()
        };
        merge_code_and_usage(code, usage::read(source, stem))
    })
}

fn framework(tokens: &Tokens<'_>, warnings: &mut Vec<ScriptWarning>) -> Option<ArgumentSpec> {
    if tokens.has_any_name(&["argparse", "add_argument"]) {
        argparse::read(tokens, warnings)
    } else {
        None
    }
}

fn signs(tokens: &Tokens<'_>) -> Signs {
    Signs {
        reads_words: tokens.has_any_name(&WORD_READERS),
        parses_first_word: parses_first_word(tokens),
        reads_stdin: tokens.indices().any(|at| reads_stdin_at(tokens, at)),
        parses_json: parses_stdin(tokens),
    }
}

/// Returns true if a JSON parser gets standard input, possibly through a variable.
fn parses_stdin(tokens: &Tokens<'_>) -> bool {
    let variables = stdin_variables(tokens);
    tokens.method_calls(&JSON_PARSERS).any(|call| {
        call.inside.clone().any(|at| is_stdin(tokens, at))
            || matches!(tokens.slice(call.inside), [Token::Name(name)] if variables.contains(name))
    })
}

fn is_stdin(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_name(at, "stdin") && tokens.owner(at) == Some("sys")
}

fn stdin_variables<'a>(tokens: &Tokens<'a>) -> Vec<&'a str> {
    tokens
        .indices()
        .filter(|at| is_stdin(tokens, *at))
        .filter_map(|at| tokens.assigned_name(tokens.dotted_start(at)))
        .take(MAX_VARIABLES)
        .collect()
}

/// Returns true if `json.loads` gets `sys.argv[1]`, possibly through a variable.
fn parses_first_word(tokens: &Tokens<'_>) -> bool {
    let variables = position::python_variables(tokens, 1);
    tokens
        .method_calls(&["loads"])
        .any(|call| match tokens.slice(call.inside.clone()) {
            [Token::Name(variable)] => variables.contains(variable),
            _ => position::is_first_word(tokens, call.inside.start, "sys", "1"),
        })
}

/// Returns true if a name reads standard input, and not only asks for its kind.
fn reads_stdin_at(tokens: &Tokens<'_>, at: usize) -> bool {
    match tokens.name(at) {
        Some("stdin") if tokens.is_symbol(at + 1, '.') => !matches!(
            tokens.name(at + 2),
            Some("isatty" | "fileno" | "close" | "reconfigure" | "encoding")
        ),
        // `stdin=subprocess.PIPE` is an argument of a call.
        Some("stdin") => is_stdin(tokens, at) && !tokens.is_symbol(at + 1, '='),
        Some("fileinput") => true,
        Some("input") => is_function_call(tokens, at),
        _ => false,
    }
}

/// Returns true if the name at an index is called, and is neither a method nor being defined.
fn is_function_call(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    tokens.is_symbol(at + 1, '(')
        && !tokens.is_symbol(before, '.')
        && !tokens.is_name(before, "def")
}
