//! Type and style of an argparse argument.

use serde_json::{Map, Value, json};

use crate::argument::{ArgumentStyle, JsonType};
use crate::infer::argument_list::MAX_ARGUMENTS;
use crate::source::Call;

/// Type and style of an argument.
pub(super) struct ArgumentType {
    pub(super) json_type: JsonType,
    pub(super) style: ArgumentStyle,
    pub(super) keywords: Map<String, Value>,
}

impl ArgumentType {
    /// Interprets a call for an option, or for the name of a positional argument. Returns `None` if
    /// its values cannot be passed as data.
    pub(super) fn parse(call: &Call<'_, '_>, option: &str) -> Option<Self> {
        let action = call.keywords.text("action");
        let action = action.as_deref();
        if !option.starts_with('-') {
            return Self::positional(call, action);
        }
        Self::flag(call, action, option).or_else(|| Self::option(call, action, option.to_owned()))
    }

    /// Interprets an option with values.
    fn option(call: &Call<'_, '_>, action: Option<&str>, option: String) -> Option<Self> {
        let is_repeated = match action {
            None | Some("store" | "extend") => false,
            Some("append") => true,
            Some(_) => return None,
        };
        match parse_nargs(call)? {
            // The value would be a list of lists.
            Nargs::Many { .. } if is_repeated => None,
            Nargs::Many { min, max } => {
                let style = ArgumentStyle::ManyValues { option, min };
                Some(value_list(call, style, max))
            }
            Nargs::AtMostOne { .. } if is_repeated => {
                Some(value_list(call, ArgumentStyle::Option(option), None))
            }
            Nargs::AtMostOne { .. } if call.keywords.name("type") == Some("bool") => {
                Some(Self::boolean(ArgumentStyle::EmptyIsFalse(option)))
            }
            Nargs::AtMostOne { .. } => Some(single_value(call, ArgumentStyle::Option(option))),
        }
    }

    /// Interprets an option without a value. Returns `None` if its action takes values or is
    /// unknown.
    fn flag(call: &Call<'_, '_>, action: Option<&str>, option: &str) -> Option<Self> {
        let option = option.to_owned();
        match action {
            // `--no-color` with `dest="color"` is passed for false; without `dest`, the option
            // itself is the property.
            Some("store_false") if call.keywords.text("dest").is_some() => {
                Some(Self::cleared_by(option))
            }
            Some("store_true" | "store_false" | "count" | "store_const" | "append_const") => {
                Some(Self::boolean(ArgumentStyle::flag(option)))
            }
            None if call.keywords.name("action") == Some("BooleanOptionalAction") => {
                Some(Self::boolean(ArgumentStyle::negatable_flag(option)))
            }
            _ => None,
        }
    }

    fn boolean(style: ArgumentStyle) -> Self {
        Self {
            json_type: JsonType::Boolean,
            style,
            keywords: Map::new(),
        }
    }

    /// Returns the type of a property that is true unless the option is passed.
    fn cleared_by(option: String) -> Self {
        let style = ArgumentStyle::Flag {
            option,
            when: false,
            otherwise: None,
        };
        Self {
            keywords: Map::from_iter([("default".to_owned(), true.into())]),
            ..Self::boolean(style)
        }
    }

    /// Interprets a positional argument.
    fn positional(call: &Call<'_, '_>, action: Option<&str>) -> Option<Self> {
        if !matches!(action, None | Some("store" | "extend")) {
            return None;
        }
        Some(match parse_nargs(call)? {
            Nargs::AtMostOne { min } => {
                single_value(call, ArgumentStyle::Positional { min, max: 1 })
            }
            Nargs::Many { min, max } => {
                let style = ArgumentStyle::Positional {
                    min,
                    max: max.unwrap_or(usize::MAX),
                };
                value_list(call, style, max)
            }
        })
    }
}

/// Number of words of an argument.
enum Nargs {
    AtMostOne { min: usize },
    Many { min: usize, max: Option<usize> },
}

fn parse_nargs(call: &Call<'_, '_>) -> Option<Nargs> {
    let nargs = call.keywords.literal("nargs");
    match nargs.filter(|nargs| !nargs.is_null()) {
        Some(nargs) => match nargs.as_str() {
            Some("?") => Some(Nargs::AtMostOne { min: 0 }),
            Some("*") => Some(Nargs::Many { min: 0, max: None }),
            Some("+") => Some(Nargs::Many { min: 1, max: None }),
            _ => fixed_count(&nargs),
        },
        // The rest of the line, including subcommands, cannot be distinguished from options.
        None if matches!(call.keywords.name("nargs"), Some("REMAINDER" | "PARSER")) => None,
        None => Some(Nargs::AtMostOne { min: 1 }),
    }
}

fn fixed_count(nargs: &Value) -> Option<Nargs> {
    let min = usize::try_from(nargs.as_u64()?).ok()?;
    // A huge number would make the schema useless.
    let is_usable = (1..=MAX_ARGUMENTS).contains(&min);
    let max = Some(min);
    is_usable.then_some(Nargs::Many { min, max })
}

fn single_value(call: &Call<'_, '_>, style: ArgumentStyle) -> ArgumentType {
    // The script gets text, and has a number without it: models pass either.
    let json_type = if has_number_default(call) {
        JsonType::Any
    } else {
        json_type(call)
    };
    ArgumentType {
        json_type,
        style,
        keywords: enum_keyword(call).into_iter().collect(),
    }
}

fn value_list(call: &Call<'_, '_>, style: ArgumentStyle, max: Option<usize>) -> ArgumentType {
    let mut items = Map::from_iter([("type".to_owned(), json_type(call).name().into())]);
    items.extend(enum_keyword(call));
    let mut keywords = Map::from_iter([("items".to_owned(), Value::Object(items))]);
    keywords.extend(max.map(|max| ("maxItems".to_owned(), json!(max))));
    ArgumentType {
        json_type: JsonType::Array,
        style,
        keywords,
    }
}

fn json_type(call: &Call<'_, '_>) -> JsonType {
    match call.keywords.name("type") {
        Some("int") => JsonType::Integer,
        Some("float") => JsonType::Number,
        _ => JsonType::String,
    }
}

fn has_number_default(call: &Call<'_, '_>) -> bool {
    let default = call.keywords.literal("default");
    call.keywords.tokens("type").is_none() && default.is_some_and(|default| default.is_number())
}

/// Returns the choices, if they are values of the type.
fn enum_keyword(call: &Call<'_, '_>) -> Option<(String, Value)> {
    let choices = call.keywords.literal("choices")?;
    let is_valid = json_type(call).accepts_each(&choices);
    is_valid.then(|| ("enum".to_owned(), choices))
}
