//! Parameters of functions that the package `typer` turns into commands.

use serde_json::Value;

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Command, CommandSet, Framework, JsonType, WordSyntax,
    is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::keywords::set_keyword;
use crate::source::{Call, Token, Tokens, parse_literal};
use crate::text;

/// Maximum number of commands that are inferred.
const MAX_COMMANDS: usize = 50;

/// Infers arguments from the parameters of the decorated functions, or of the function that
/// `typer.run` gets.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    // These combine programs, or add parameters that are not in the signature.
    if tokens.has_any_name(&["add_typer", "callback"]) {
        return None;
    }
    let functions = functions(tokens)?;
    if functions.len() > 1 {
        let mut commands = Vec::new();
        for function in functions {
            commands.push(Command {
                name: function.name?,
                description: None,
                arguments: parameters(tokens, function.open)?,
            });
        }
        let is_taken = commands
            .iter()
            .flat_map(|command| &command.arguments)
            .any(|argument| argument.name == "command");
        if is_taken {
            return None;
        }
        let mut spec = ArgumentSpec::inferred(Framework::Typer, Vec::new(), WordSyntax::Getopt);
        spec.commands = Some(CommandSet {
            property: "command".to_owned(),
            required: false,
            commands,
        });
        return Some(spec);
    }
    let arguments = parameters(tokens, functions.first()?.open)?;
    Some(ArgumentSpec::inferred(
        Framework::Typer,
        arguments,
        WordSyntax::Getopt,
    ))
}

struct Function {
    /// The name of its command, if it is a constant.
    name: Option<String>,
    /// The index of the bracket before its parameters.
    open: usize,
}

fn functions(tokens: &Tokens<'_>) -> Option<Vec<Function>> {
    let mut found = Vec::new();
    let mut decorator: Option<Option<String>> = None;
    let run = tokens
        .method_calls(&["run"])
        .find(|call| tokens.is_name(call.at.saturating_sub(2), "typer"))
        .and_then(|call| tokens.name(call.inside.start));
    for at in 0..tokens.all().len() {
        let is_command = tokens.is_symbol(at, '@')
            && tokens.is_symbol(at + 2, '.')
            && tokens.is_name(at + 3, "command");
        if is_command && let Some(call) = tokens.call_at(at + 3) {
            decorator = Some(call.call.value_text(0).or(call.call.keyword_text("name")));
        } else if tokens.is_name(at, "def") {
            let name = tokens.name(at + 1)?;
            let decorated = decorator.take();
            if decorated.is_some() || Some(name) == run {
                let derived = name.to_ascii_lowercase().replace('_', "-");
                let name = decorated.flatten().unwrap_or(derived);
                found.push(Function {
                    name: Some(name).filter(|name| is_argument_name(name)),
                    open: at + 2,
                });
            }
        }
    }
    (!found.is_empty() && found.len() <= MAX_COMMANDS).then_some(found)
}

/// Interprets the parameters of a function. `None` if one is not understood.
fn parameters(tokens: &Tokens<'_>, open: usize) -> Option<Vec<Argument>> {
    let inside = tokens.slice(tokens.inside(open)?);
    let mut arguments: Vec<Argument> = Vec::new();
    for parameter in crate::source::split_at_commas(inside) {
        if parameter.is_empty() {
            continue;
        }
        let argument = parse_parameter(parameter)?;
        if arguments.len() == MAX_ARGUMENTS
            || arguments.iter().any(|other| other.name == argument.name)
        {
            return None;
        }
        arguments.push(argument);
    }
    Some(arguments)
}

/// Interprets `name: type = default`.
fn parse_parameter(tokens: &[Token<'_>]) -> Option<Argument> {
    let [Token::Name(name), Token::Symbol(':'), rest @ ..] = tokens else {
        return None;
    };
    let (annotation, default) = match top_level_equals(rest) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (annotation, annotated) = split_annotated(annotation)?;
    let marker = annotated.or(default).and_then(typer_call);
    // The first value of `typer.Option(…)` is the default, except in `Annotated`.
    let default = match (&marker, annotated) {
        (Some(marker), None) => marker.call.values.first().copied(),
        _ => default,
    };
    let is_required = match default {
        None => true,
        Some([Token::Symbol('.'), Token::Symbol('.'), Token::Symbol('.')]) => true,
        Some(_) => false,
    };
    let is_option = match &marker {
        Some(marker) => marker.is_option,
        None => default.is_some(),
    };
    let (json_type, is_known) = json_type(annotation);
    // A type of the program's own has values that only the program knows, as text.
    let json_type = if is_known {
        json_type
    } else {
        JsonType::String
    };
    let style = if is_option {
        let skipped = usize::from(annotated.is_none());
        let options = marker
            .as_ref()
            .map_or_else(Vec::new, |marker| marker.option_strings(skipped));
        option_style(name, &options, json_type)?
    } else {
        positional_style(usize::from(is_required), json_type)
    };
    if !is_argument_name(name) {
        return None;
    }
    let mut argument = Argument::new((*name).to_owned(), json_type, style);
    argument.required = is_required;
    argument.description = marker
        .and_then(|marker| marker.call.keyword_text("help"))
        .and_then(|help| text::argument_description(&help));
    let default = default
        .and_then(parse_literal)
        .filter(|value| json_type.accepts(value));
    if let Some(default) = default.filter(|value| !matches!(value, Value::Null)) {
        set_keyword(&mut argument, "default", default);
    }
    Some(argument)
}

/// Splits `Annotated[type, marker]`. Another annotation is a type without a marker.
fn split_annotated<'a, 'b>(
    annotation: &'b [Token<'a>],
) -> Option<(&'b [Token<'a>], Option<&'b [Token<'a>]>)> {
    match annotation {
        [
            Token::Name("Annotated"),
            Token::Symbol('['),
            inside @ ..,
            Token::Symbol(']'),
        ] => {
            let mut parts = crate::source::split_at_commas(inside);
            Some((parts.next()?, parts.next()))
        }
        _ => Some((annotation, None)),
    }
}

fn positional_style(min: usize, json_type: JsonType) -> ArgumentStyle {
    let max = match json_type {
        JsonType::Array => usize::MAX,
        _ => 1,
    };
    ArgumentStyle::Positional { min, max }
}

fn option_style(name: &str, options: &[String], json_type: JsonType) -> Option<ArgumentStyle> {
    let default = format!("--{}", name.trim_matches('_').replace('_', "-"));
    let spelled = options
        .iter()
        .find(|option| option.starts_with("--"))
        .or(options.first())
        .unwrap_or(&default);
    if json_type != JsonType::Boolean {
        return Some(ArgumentStyle::Option(spelled.clone()));
    }
    let (option, otherwise) = match spelled.split_once('/') {
        Some((option, otherwise)) => (option.trim().to_owned(), Some(otherwise.trim().to_owned())),
        // With names of its own an option has no opposite.
        None if !options.is_empty() => (spelled.clone(), None),
        None => (default.clone(), Some(default.replacen("--", "--no-", 1))),
    };
    option.starts_with('-').then_some(ArgumentStyle::Flag {
        option,
        when: true,
        otherwise,
    })
}

/// `typer.Option(…)` or `typer.Argument(…)`.
struct Marker<'t, 'a> {
    is_option: bool,
    call: Call<'t, 'a>,
}

impl Marker<'_, '_> {
    /// Returns the spellings after the first `skipped` values.
    fn option_strings(&self, skipped: usize) -> Vec<String> {
        (skipped..self.call.values.len())
            .filter_map(|index| self.call.value_text(index))
            .filter(|option| option.starts_with('-'))
            .collect()
    }
}

fn typer_call<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<Marker<'t, 'a>> {
    let tokens = match tokens {
        [Token::Name("typer"), Token::Symbol('.'), rest @ ..] => rest,
        tokens => tokens,
    };
    match tokens {
        [
            Token::Name(name @ ("Option" | "Argument")),
            Token::Symbol('('),
            inside @ ..,
            Token::Symbol(')'),
        ] => Some(Marker {
            is_option: *name == "Option",
            call: Call::parse(inside),
        }),
        _ => None,
    }
}

/// Returns the type of an annotation, and whether it is one that is known.
fn json_type(annotation: &[Token<'_>]) -> (JsonType, bool) {
    match annotation {
        [Token::Name("int")] => (JsonType::Integer, true),
        [Token::Name("float")] => (JsonType::Number, true),
        [Token::Name("bool")] => (JsonType::Boolean, true),
        [Token::Name("str" | "Path")] => (JsonType::String, true),
        [
            Token::Name("Optional"),
            Token::Symbol('['),
            inside @ ..,
            Token::Symbol(']'),
        ] => json_type(inside),
        [inside @ .., Token::Symbol('|'), Token::Name("None")] => json_type(inside),
        [
            Token::Name("List" | "list"),
            Token::Symbol('['),
            ..,
            Token::Symbol(']'),
        ] => (JsonType::Array, true),
        _ => (JsonType::String, false),
    }
}

/// Returns the `=` that is not inside brackets.
fn top_level_equals(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == Token::Symbol('=')
    })
}
