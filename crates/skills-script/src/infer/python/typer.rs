//! Parameters of functions that the package `typer` turns into commands.

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Command, CommandSet, Framework, JsonType, WordSyntax,
    is_argument_name,
};
use crate::infer::argument_list::ArgumentList;
use crate::infer::{MAX_COMMANDS, preferred_spelling};
use crate::keywords::set_default;
use crate::source::{Call, Token, Tokens, parse_literal, split_at_commas, top_level_equals};

/// Infers arguments from the parameters of the decorated functions, or of the function that
/// `typer.run` gets.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    // These combine programs, or add parameters that are not in the signature.
    if tokens.has_any_name(&["add_typer", "callback"]) {
        return None;
    }
    let functions = functions(tokens)?;
    let spec = |arguments| ArgumentSpec::inferred(Framework::Typer, arguments, WordSyntax::Getopt);
    if let [function] = functions.as_slice() {
        return Some(spec(parameters(tokens, function.open)?));
    }
    let commands = functions
        .into_iter()
        .map(|function| {
            Some(Command::new(
                function.name?,
                parameters(tokens, function.open)?,
            ))
        })
        .collect::<Option<_>>()?;
    spec(Vec::new()).with_commands(CommandSet::new(commands))
}

struct Function {
    /// The name of its command, if it is a constant.
    name: Option<String>,
    /// The index of the bracket before its parameters.
    open: usize,
}

fn functions(tokens: &Tokens<'_>) -> Option<Vec<Function>> {
    let mut found = Vec::new();
    let mut decorator = None;
    let run = run_function(tokens);
    for at in tokens.indices() {
        if let Some(call) = tokens.decorator_at(at)
            && call.name == "command"
        {
            decorator = Some(call.call);
        } else if tokens.is_name(at, "def") {
            let function = tokens.name(at + 1)?;
            let decorator = decorator.take();
            if decorator.is_some() || Some(function) == run {
                found.push(Function {
                    name: command_name(function, decorator.as_ref()),
                    open: at + 2,
                });
            }
        }
    }
    (!found.is_empty() && found.len() <= MAX_COMMANDS).then_some(found)
}

/// Returns the name of the function that `typer.run` gets.
fn run_function<'a>(tokens: &Tokens<'a>) -> Option<&'a str> {
    tokens
        .method_calls(&["run"])
        .find(|call| tokens.owner(call.at) == Some("typer"))
        .and_then(|call| tokens.name(call.inside.start))
}

/// Returns the given name, or the one that `typer` derives from the name of the function.
fn command_name(function: &str, decorator: Option<&Call<'_, '_>>) -> Option<String> {
    let given = decorator.and_then(|call| call.value_text(0).or(call.keywords.text("name")));
    let name = given.unwrap_or_else(|| function.to_ascii_lowercase().replace('_', "-"));
    is_argument_name(&name).then_some(name)
}

/// Interprets the parameters of a function. `None` if one is not understood.
fn parameters(tokens: &Tokens<'_>, open: usize) -> Option<Vec<Argument>> {
    let mut list = ArgumentList::default();
    for parameter in split_at_commas(tokens.slice(tokens.inside(open)?)) {
        if !parameter.is_empty() {
            list.push(Parameter::parse(parameter).and_then(Parameter::into_argument));
        }
        if list.is_partial {
            return None;
        }
    }
    Some(list.arguments)
}

type Expression<'t, 'a> = &'t [Token<'a>];

/// A parameter `name: type = default`.
struct Parameter<'t, 'a> {
    name: &'a str,
    json_type: JsonType,
    default: Option<Expression<'t, 'a>>,
    marker: Option<Marker<'t, 'a>>,
}

impl<'t, 'a> Parameter<'t, 'a> {
    fn parse(tokens: Expression<'t, 'a>) -> Option<Self> {
        let (name, rest) = match tokens {
            [Token::Name(name), Token::Symbol(':'), rest @ ..] => (name, rest),
            [Token::Name(name), Token::Symbol('='), default @ ..] => {
                return Some(Self::without_annotation(name, default));
            }
            _ => return None,
        };
        let (annotation, assigned) = match top_level_equals(rest) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let (annotation, annotated) = split_annotated(annotation)?;
        let (default, marker) = match annotated {
            Some(annotated) => (assigned, Marker::parse(annotated)),
            None => split_marker(assigned),
        };
        Some(Self {
            name,
            json_type: json_type(annotation),
            default,
            marker,
        })
    }

    /// Returns a parameter `name = default`, whose type is that of the default.
    fn without_annotation(name: &'a str, assigned: Expression<'t, 'a>) -> Self {
        let (default, marker) = split_marker(Some(assigned));
        let literal = default.and_then(parse_literal);
        let json_type = literal.as_ref().and_then(JsonType::of_literal);
        Self {
            name,
            json_type: json_type.unwrap_or(JsonType::String),
            default,
            marker,
        }
    }

    fn into_argument(self) -> Option<Argument> {
        let name = self.name.to_owned();
        let min = usize::from(self.is_required());
        let mut argument = if self.is_option() {
            Argument::new(name, self.json_type, self.option_style())
        } else {
            Argument::positional(name, self.json_type, min)
        };
        argument.required = self.is_required();
        argument.describe(self.help());
        set_default(&mut argument, self.default.and_then(parse_literal));
        is_argument_name(self.name).then_some(argument)
    }

    fn is_required(&self) -> bool {
        let ellipsis = [const { Token::Symbol('.') }; 3];
        self.default.is_none_or(|default| default == ellipsis)
    }

    fn is_option(&self) -> bool {
        match &self.marker {
            Some(marker) => marker.is_option,
            None => self.default.is_some(),
        }
    }

    fn help(&self) -> Option<String> {
        self.marker.as_ref()?.call.keywords.text("help")
    }

    fn option_style(&self) -> ArgumentStyle {
        let options = self
            .marker
            .as_ref()
            .map(Marker::options)
            .unwrap_or_default();
        let given = preferred_spelling(options.iter().map(String::as_str));
        let derived = || format!("--{}", self.name.trim_matches('_').replace('_', "-"));
        match (given, self.json_type) {
            // With names of its own an option has no opposite.
            (Some(given), JsonType::Boolean) => ArgumentStyle::flag_pair(given),
            (None, JsonType::Boolean) => ArgumentStyle::negatable_flag(derived()),
            (given, _) => ArgumentStyle::Option(given.map_or_else(derived, str::to_owned)),
        }
    }
}

/// Splits `Annotated[type, marker]`. Another annotation is a type without a marker.
fn split_annotated<'t, 'a>(
    annotation: Expression<'t, 'a>,
) -> Option<(Expression<'t, 'a>, Option<Expression<'t, 'a>>)> {
    let Some(inside) = subscript(annotation, &["Annotated"]) else {
        return Some((annotation, None));
    };
    let mut parts = split_at_commas(inside);
    Some((parts.next()?, parts.next()))
}

/// Splits `typer.Option(default, …)` into the default and the rest. Another expression is a default
/// without a marker.
fn split_marker<'t, 'a>(
    assigned: Option<Expression<'t, 'a>>,
) -> (Option<Expression<'t, 'a>>, Option<Marker<'t, 'a>>) {
    let Some(mut marker) = assigned.and_then(Marker::parse) else {
        return (assigned, None);
    };
    let values = &mut marker.call.values;
    let default = (!values.is_empty()).then(|| values.remove(0));
    (default, Some(marker))
}

/// Returns the tokens between the brackets of `name[…]`.
fn subscript<'t, 'a>(tokens: Expression<'t, 'a>, names: &[&str]) -> Option<Expression<'t, 'a>> {
    match tokens {
        [
            Token::Name(name),
            Token::Symbol('['),
            inside @ ..,
            Token::Symbol(']'),
        ] if names.contains(name) => Some(inside),
        _ => None,
    }
}

/// `typer.Option(…)` or `typer.Argument(…)`, without the default.
struct Marker<'t, 'a> {
    is_option: bool,
    call: Call<'t, 'a>,
}

impl<'t, 'a> Marker<'t, 'a> {
    fn parse(tokens: Expression<'t, 'a>) -> Option<Self> {
        match tokens {
            [Token::Name("typer"), Token::Symbol('.'), rest @ ..] => Self::parse_call(rest),
            tokens => Self::parse_call(tokens),
        }
    }

    fn parse_call(tokens: Expression<'t, 'a>) -> Option<Self> {
        match tokens {
            [
                Token::Name(name @ ("Option" | "Argument")),
                Token::Symbol('('),
                inside @ ..,
                Token::Symbol(')'),
            ] => Some(Self {
                is_option: *name == "Option",
                call: Call::parse(inside),
            }),
            _ => None,
        }
    }

    /// Returns the spellings of the option.
    fn options(&self) -> Vec<String> {
        (0..self.call.values.len())
            .filter_map(|index| self.call.value_text(index))
            .filter(|option| option.starts_with('-'))
            .collect()
    }
}

/// Returns the type of an annotation. A type of the program's own has values that only the program
/// knows, as text.
fn json_type(annotation: Expression<'_, '_>) -> JsonType {
    match annotation {
        [Token::Name("int")] => JsonType::Integer,
        [Token::Name("float")] => JsonType::Number,
        [Token::Name("bool")] => JsonType::Boolean,
        [inside @ .., Token::Symbol('|'), Token::Name("None")] => json_type(inside),
        _ if subscript(annotation, &["List", "list"]).is_some() => JsonType::Array,
        _ => subscript(annotation, &["Optional"]).map_or(JsonType::String, json_type),
    }
}
