//! Descriptions of programs that `click` and `typer` make of functions.

use crate::source::{MethodCall, Token, Tokens};

/// Maximum number of tokens between the parameters of a function and its body.
const MAX_ANNOTATION_TOKENS: usize = 20;

/// A function that is a command.
struct Command {
    help: Option<String>,
    docstring: Option<String>,
    /// Whether it describes the whole program: a program of its own, or the start of a group.
    is_whole: bool,
}

/// Returns what the script says about its program: the help text, else the first line of the
/// docstring, of its only command, or of the function that starts a group of commands.
pub(super) fn find(tokens: &Tokens<'_>) -> Option<String> {
    if let Some(help) = app_help(tokens) {
        return Some(help);
    }
    let mut commands = commands(tokens);
    let index = match commands.iter().position(|command| command.is_whole) {
        Some(index) => index,
        None if commands.len() == 1 => 0,
        None => return None,
    };
    let command = commands.swap_remove(index);
    command.help.or(command.docstring)
}

/// Returns the help text of `typer.Typer(help="…")`.
fn app_help(tokens: &Tokens<'_>) -> Option<String> {
    let mut apps = tokens.method_calls(&["Typer"]);
    apps.find_map(|call| call.call.keywords.text("help"))
}

fn commands(tokens: &Tokens<'_>) -> Vec<Command> {
    let run = run_function(tokens);
    let mut found = Vec::new();
    let mut decorator: Option<MethodCall<'_, '_>> = None;
    for at in tokens.indices() {
        if let Some(call) = tokens.decorator_at(at)
            && ["command", "group", "callback"].contains(&call.name)
        {
            decorator = Some(call);
        } else if tokens.is_name(at, "def") {
            let decorator = decorator.take();
            let is_run = run.is_some() && tokens.name(at + 1) == run;
            if decorator.is_some() || is_run {
                found.push(command(tokens, at, decorator.as_ref(), is_run));
            }
        }
    }
    found
}

fn command(
    tokens: &Tokens<'_>,
    def: usize,
    decorator: Option<&MethodCall<'_, '_>>,
    is_run: bool,
) -> Command {
    let of_click = |call: &&MethodCall<'_, '_>| tokens.owner(call.at) == Some("click");
    let of_app = |call: &&MethodCall<'_, '_>| call.name == "callback";
    Command {
        help: decorator.and_then(|call| call.call.keywords.text("help")),
        docstring: docstring(tokens, def),
        is_whole: is_run || decorator.is_some_and(|call| of_click(&call) || of_app(&call)),
    }
}

/// Returns the name of the function that `typer.run` gets.
fn run_function<'a>(tokens: &Tokens<'a>) -> Option<&'a str> {
    tokens
        .method_calls(&["run"])
        .find(|call| tokens.owner(call.at) == Some("typer"))
        .and_then(|call| tokens.name(call.inside.start))
}

/// Returns the first line of the docstring of the function whose `def` is at an index.
fn docstring(tokens: &Tokens<'_>, def: usize) -> Option<String> {
    let end = tokens.inside(def + 2)?.end + 1;
    let mut body = tokens
        .slice(end..(end + MAX_ANNOTATION_TOKENS).min(tokens.all().len()))
        .iter()
        .skip_while(|token| **token != Token::Newline)
        .skip_while(|token| **token == Token::Newline);
    match (body.next(), body.next()) {
        (Some(Token::StringLiteral(text)), Some(Token::Newline) | None) => {
            let mut lines = text.lines().map(str::trim);
            lines.find(|line| !line.is_empty()).map(str::to_owned)
        }
        _ => None,
    }
}
