//! Options of the package `yargs`.

use crate::argument::{
    Argument, ArgumentSpec, ArgumentStyle, Framework, JsonType, WordSyntax, is_argument_name,
};
use crate::infer::MAX_ARGUMENTS;
use crate::keywords::set_keyword;
use crate::source::{Fields, Tokens};
use crate::text;

/// Infers the options. `yargs` accepts any others, and commands describe their words in a syntax of
/// their own, so the result is open.
pub(super) fn read(tokens: &Tokens<'_>) -> Option<ArgumentSpec> {
    let mut arguments: Vec<Argument> = Vec::new();
    let has_commands = tokens.method_calls(&["command"]).next().is_some();
    for call in tokens.method_calls(&["option", "options"]) {
        match call.call.values.as_slice() {
            [_, object] => {
                let name = call.call.value_text(0);
                arguments.extend(name.and_then(|name| argument(&name, &Fields::of_object(object))));
            }
            [object] => {
                for (name, tokens) in Fields::of_object(object).iter() {
                    arguments.extend(argument(name, &Fields::of_object(tokens)));
                }
            }
            _ => {}
        }
    }
    let mut known: Vec<Argument> = Vec::new();
    for mut argument in arguments.into_iter().take(MAX_ARGUMENTS) {
        // An option of one command is not required by the others.
        argument.required &= !has_commands;
        if known.iter().all(|other| other.name != argument.name) {
            known.push(argument);
        }
    }
    (!known.is_empty())
        .then(|| ArgumentSpec::inferred(Framework::Yargs, known, WordSyntax::Gnu).open())
}

fn argument(name: &str, option: &Fields<'_, '_>) -> Option<Argument> {
    if !is_argument_name(name) {
        return None;
    }
    let spelling = if name.len() == 1 {
        format!("-{name}")
    } else {
        format!("--{name}")
    };
    let kind = option.text("type");
    let is_array = option.is_true("array") || kind.as_deref() == Some("array");
    let (json_type, style) = match kind.as_deref() {
        // The option takes all words up to the next one.
        _ if is_array => {
            let style = ArgumentStyle::ManyValues {
                option: spelling,
                min: 1,
            };
            (JsonType::Array, style)
        }
        Some("boolean") => {
            let otherwise = spelling
                .strip_prefix("--")
                .map(|bare| format!("--no-{bare}"));
            let style = ArgumentStyle::Flag {
                option: spelling,
                when: true,
                otherwise,
            };
            (JsonType::Boolean, style)
        }
        Some("number") => (JsonType::Number, ArgumentStyle::Option(spelling)),
        Some("string") => (JsonType::String, ArgumentStyle::Option(spelling)),
        _ => (JsonType::Any, ArgumentStyle::FlagOrOption(spelling)),
    };
    let mut argument = Argument::new(name.to_owned(), json_type, style);
    argument.required = option.is_true("demandOption") || option.is_true("required");
    argument.description = ["describe", "description", "desc"]
        .iter()
        .find_map(|field| option.text(field))
        .and_then(|text| text::argument_description(&text));
    for (field, keyword) in [("choices", "enum"), ("default", "default")] {
        if let Some(value) = option.literal(field) {
            let fits = match &value {
                serde_json::Value::Array(values) if field == "choices" => {
                    !is_array && values.iter().all(|value| json_type.accepts(value))
                }
                value => json_type.accepts(value),
            };
            if fits {
                set_keyword(&mut argument, keyword, value);
            }
        }
    }
    Some(argument)
}
