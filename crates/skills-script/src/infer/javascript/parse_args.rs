//! Options of `util.parseArgs` of Node.js.

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordSyntax, is_argument_name,
};
use crate::infer::argument_list::{ArgumentList, MAX_ARGUMENTS};
use crate::keywords::set_default;
use crate::source::{Fields, Token, Tokens};

/// Infers the options of the only call of `parseArgs` with an object of constants.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let config = object_after(tokens, "parseArgs", '(')?;
    let options = object(tokens, config.tokens("options")?)?;
    let mut list = ArgumentList {
        is_partial: config.is_true("allowPositionals") || config.tokens("strict").is_some(),
        ..ArgumentList::default()
    };
    for (name, tokens) in options.iter().take(MAX_ARGUMENTS) {
        match argument(name, &Fields::of_object(tokens)) {
            _ if name == "help" => {}
            Some(argument) => list.arguments.push(argument),
            None => list.is_partial = true,
        }
    }
    (!list.arguments.is_empty()).then(|| list.into_spec(Framework::ParseArgs, WordSyntax::Gnu))
}

/// Returns the fields of an object, or of the object that a variable is assigned.
fn object<'t>(tokens: &'t Tokens<'_>, value: &'t [Token<'_>]) -> Option<Fields<'t, 't>> {
    match value {
        [Token::Name(variable)] => object_after(tokens, variable, '='),
        value => Some(Fields::of_object(value)),
    }
}

/// Returns the fields of the first object that follows a name and a symbol.
fn object_after<'t, 'a>(
    tokens: &'t Tokens<'a>,
    name: &str,
    symbol: char,
) -> Option<Fields<'t, 'a>> {
    let at = tokens.indices().find(|at| {
        tokens.is_name(*at, name)
            && tokens.is_symbol(at + 1, symbol)
            && tokens.is_symbol(at + 2, '{')
    })?;
    Some(Fields::parse(tokens.slice(tokens.inside(at + 2)?)))
}

fn argument(name: &str, option: &Fields<'_, '_>) -> Option<Argument> {
    let spelling = format!("--{name}");
    let (json_type, style) = match option.text("type")?.as_str() {
        "boolean" => (JsonType::Boolean, ArgumentStyle::flag(spelling)),
        "string" if option.is_true("multiple") => {
            (JsonType::Array, ArgumentStyle::Option(spelling))
        }
        "string" => (JsonType::String, ArgumentStyle::Option(spelling)),
        _ => return None,
    };
    let mut argument = Argument::new(name.to_owned(), json_type, style);
    set_default(&mut argument, option.literal("default"));
    is_argument_name(name).then_some(argument)
}
