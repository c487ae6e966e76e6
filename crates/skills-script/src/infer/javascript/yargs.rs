//! Options of the package `yargs`.

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordSyntax, is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::infer::argument_list::push_new;
use crate::keywords::{set_default, set_keyword};
use crate::source::{Call, Fields, Tokens};

/// Infers the options. `yargs` accepts any others, and commands describe their words in a syntax of
/// their own, so the result is open.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let has_commands = tokens.method_calls(&["command"]).next().is_some();
    let options = tokens
        .method_calls(&["option", "options"])
        .flat_map(|method| arguments(&method.call));
    let mut known: Vec<Argument> = Vec::new();
    for mut argument in options.take(MAX_ARGUMENTS) {
        // An option of one command is not required by the others.
        argument.required &= !has_commands;
        push_new(&mut known, argument);
    }
    (!known.is_empty())
        .then(|| ArgumentSpec::inferred(Framework::Yargs, known, WordSyntax::Gnu).open())
}

/// Interprets `.option("name", {…})` and `.options({name: {…}})`.
fn arguments(call: &Call<'_, '_>) -> Vec<Argument> {
    match call.values.as_slice() {
        [_, object] => call
            .value_text(0)
            .and_then(|name| argument(&name, &Fields::of_object(object)))
            .into_iter()
            .collect(),
        [object] => Fields::of_object(object)
            .iter()
            .filter_map(|(name, tokens)| argument(name, &Fields::of_object(tokens)))
            .collect(),
        _ => Vec::new(),
    }
}

fn argument(name: &str, option: &Fields<'_, '_>) -> Option<Argument> {
    if !is_argument_name(name) {
        return None;
    }
    let (json_type, style) = type_and_style(name, option);
    let mut argument = Argument::new(name.to_owned(), json_type, style);
    argument.required = option.is_true("demandOption") || option.is_true("required");
    let mut descriptions = ["describe", "description", "desc"].iter();
    argument.describe(descriptions.find_map(|field| option.text(field)));
    let choices = option.literal("choices");
    let choices = choices.filter(|values| json_type.accepts_each(values));
    if let Some(choices) = choices.filter(|_| json_type != JsonType::Array) {
        set_keyword(&mut argument, "enum", choices);
    }
    set_default(&mut argument, option.literal("default"));
    Some(argument)
}

fn type_and_style(name: &str, option: &Fields<'_, '_>) -> (JsonType, ArgumentStyle) {
    let spelling = match name.len() {
        1 => format!("-{name}"),
        _ => format!("--{name}"),
    };
    match option.text("type").as_deref() {
        // The option takes all words up to the next one.
        kind if kind == Some("array") || option.is_true("array") => {
            let (option, min) = (spelling, 1);
            (JsonType::Array, ArgumentStyle::ManyValues { option, min })
        }
        Some("boolean") => (JsonType::Boolean, ArgumentStyle::negatable_flag(spelling)),
        Some("number") => (JsonType::Number, ArgumentStyle::Option(spelling)),
        Some("string") => (JsonType::String, ArgumentStyle::Option(spelling)),
        _ => (JsonType::Any, ArgumentStyle::FlagOrOption(spelling)),
    }
}
