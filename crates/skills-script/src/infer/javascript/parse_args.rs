//! Options of `util.parseArgs` of Node.js.

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordSyntax, is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::keywords::set_keyword;
use crate::source::{Fields, Token, Tokens};

/// Infers the options of the only call of `parseArgs` with an object of constants.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let at = (0..tokens.all().len()).find(|at| {
        tokens.is_name(*at, "parseArgs")
            && tokens.is_symbol(at + 1, '(')
            && tokens.is_symbol(at + 2, '{')
    })?;
    let config = Fields::parse(tokens.slice(tokens.inside(at + 2)?));
    let options = object(tokens, config.tokens("options")?)?;
    let mut arguments: Vec<Argument> = Vec::new();
    let mut is_partial = config.is_true("allowPositionals") || config.tokens("strict").is_some();
    for (name, tokens) in options.iter().take(MAX_ARGUMENTS) {
        let option = Fields::of_object(tokens);
        if name == "help" {
            continue;
        }
        match argument(name, &option) {
            Some(argument) => arguments.push(argument),
            None => is_partial = true,
        }
    }
    if arguments.is_empty() {
        return None;
    }
    let spec = ArgumentSpec::inferred(Framework::ParseArgs, arguments, WordSyntax::Gnu);
    Some(if is_partial { spec.open() } else { spec })
}

/// Returns the fields of an object, or of the object that a variable is assigned.
fn object<'t>(tokens: &'t Tokens<'_>, value: &'t [Token<'_>]) -> Option<Fields<'t, 't>> {
    let [Token::Name(variable)] = value else {
        return Some(Fields::of_object(value));
    };
    let at = (0..tokens.all().len()).find(|at| {
        tokens.is_name(*at, variable)
            && tokens.is_symbol(at + 1, '=')
            && tokens.is_symbol(at + 2, '{')
    })?;
    Some(Fields::parse(tokens.slice(tokens.inside(at + 2)?)))
}

fn argument(name: &str, option: &Fields<'_, '_>) -> Option<Argument> {
    if !is_argument_name(name) {
        return None;
    }
    let spelling = format!("--{name}");
    let is_flag = match option.text("type")?.as_str() {
        "boolean" => true,
        "string" => false,
        _ => return None,
    };
    let (json_type, style) = match (is_flag, option.is_true("multiple")) {
        (true, _) => (
            JsonType::Boolean,
            ArgumentStyle::Flag {
                option: spelling,
                when: true,
                otherwise: None,
            },
        ),
        (false, true) => (JsonType::Array, ArgumentStyle::Option(spelling)),
        (false, false) => (JsonType::String, ArgumentStyle::Option(spelling)),
    };
    let mut argument = Argument::new(name.to_owned(), json_type, style);
    if let Some(default) = option
        .literal("default")
        .filter(|value| json_type.accepts(value))
    {
        set_keyword(&mut argument, "default", default);
    }
    Some(argument)
}
