//! Type and style of an argparse argument.

use serde_json::{Map, Value, json};

use crate::argument::{ArgumentStyle, JsonType};
use crate::infer::MAX_ARGUMENTS;
use crate::source::Call;

/// Type and style of an argument.
pub(super) struct ArgumentType {
    pub(super) json_type: JsonType,
    pub(super) style: ArgumentStyle,
    pub(super) keywords: Map<String, Value>,
}

impl ArgumentType {
    /// Interprets an option. Returns `None` if its values cannot be passed as data.
    pub(super) fn option(
        call: &Call<'_, '_>,
        action: Option<&str>,
        option_string: &str,
    ) -> Option<Self> {
        if let Some(flag) = Self::flag(call, action, option_string) {
            return Some(flag);
        }
        if !matches!(action, None | Some("store" | "extend" | "append")) {
            return None;
        }
        let option_string = option_string.to_owned();
        match (parse_nargs(call)?, action) {
            (Nargs::One | Nargs::Optional, Some("append")) => {
                Some(value_list(call, ArgumentStyle::Option(option_string), None))
            }
            (Nargs::One | Nargs::Optional, _) if call.keyword_name("type") == Some("bool") => {
                Some(ArgumentType {
                    json_type: JsonType::Boolean,
                    style: ArgumentStyle::EmptyIsFalse(option_string),
                    keywords: Map::new(),
                })
            }
            (Nargs::One | Nargs::Optional, _) => {
                Some(single_value(call, ArgumentStyle::Option(option_string)))
            }
            // The value would be a list of lists.
            (Nargs::Many { .. }, Some("append")) => None,
            (Nargs::Many { min, max }, _) => Some(value_list(
                call,
                ArgumentStyle::ManyValues {
                    option: option_string,
                    min,
                },
                max,
            )),
        }
    }

    /// Interprets an option without a value. Returns `None` if its action takes values or is
    /// unknown.
    fn flag(call: &Call<'_, '_>, action: Option<&str>, option_string: &str) -> Option<Self> {
        let flag = |when, otherwise| ArgumentType {
            json_type: JsonType::Boolean,
            style: ArgumentStyle::Flag {
                option: option_string.to_owned(),
                when,
                otherwise,
            },
            keywords: Map::new(),
        };
        match action {
            Some("store_true" | "count" | "store_const" | "append_const") => Some(flag(true, None)),
            // `--no-color` with `dest="color"` is passed for false; without `dest`, the option
            // itself is the property.
            Some("store_false") if call.keyword_text("dest").is_some() => {
                let mut flag = flag(false, None);
                flag.keywords.insert("default".to_owned(), true.into());
                Some(flag)
            }
            Some("store_false") => Some(flag(true, None)),
            None if call.keyword_name("action") == Some("BooleanOptionalAction") => {
                let otherwise = option_string
                    .strip_prefix("--")
                    .map(|bare| format!("--no-{bare}"));
                Some(flag(true, otherwise))
            }
            _ => None,
        }
    }

    /// Interprets a positional argument. Returns `None` if its values cannot be passed as data.
    pub(super) fn positional(call: &Call<'_, '_>, action: Option<&str>) -> Option<Self> {
        action
            .is_none_or(|action| matches!(action, "store" | "extend"))
            .then_some(())?;
        Some(match parse_nargs(call)? {
            Nargs::One => single_value(call, ArgumentStyle::Positional { min: 1, max: 1 }),
            Nargs::Optional => single_value(call, ArgumentStyle::Positional { min: 0, max: 1 }),
            Nargs::Many { min, max } => value_list(
                call,
                ArgumentStyle::Positional {
                    min,
                    max: max.unwrap_or(usize::MAX),
                },
                max,
            ),
        })
    }
}

/// Number of words of an argument.
enum Nargs {
    One,
    Optional,
    Many { min: usize, max: Option<usize> },
}

fn parse_nargs(call: &Call<'_, '_>) -> Option<Nargs> {
    let Some(nargs) = call
        .keyword_literal("nargs")
        .filter(|nargs| !nargs.is_null())
    else {
        // The rest of the line, including subcommands, cannot be distinguished from options.
        return (!matches!(call.keyword_name("nargs"), Some("REMAINDER" | "PARSER")))
            .then_some(Nargs::One);
    };
    match (
        nargs.as_str(),
        nargs.as_u64().and_then(|count| usize::try_from(count).ok()),
    ) {
        (Some("?"), _) => Some(Nargs::Optional),
        (Some("*"), _) => Some(Nargs::Many { min: 0, max: None }),
        (Some("+"), _) => Some(Nargs::Many { min: 1, max: None }),
        // A huge number would make the schema useless.
        (_, Some(count @ 1..=MAX_ARGUMENTS)) => Some(Nargs::Many {
            min: count,
            max: Some(count),
        }),
        _ => None,
    }
}

fn single_value(call: &Call<'_, '_>, style: ArgumentStyle) -> ArgumentType {
    let mut keywords = Map::new();
    if let Some(choices) = enum_choices(call) {
        keywords.insert("enum".to_owned(), choices);
    }
    ArgumentType {
        json_type: json_type(call),
        style,
        keywords,
    }
}

fn value_list(call: &Call<'_, '_>, style: ArgumentStyle, max: Option<usize>) -> ArgumentType {
    let mut items = Map::from_iter([("type".to_owned(), json_type(call).name().into())]);
    if let Some(choices) = enum_choices(call) {
        items.insert("enum".to_owned(), choices);
    }
    let mut keywords = Map::from_iter([("items".to_owned(), Value::Object(items))]);
    if let Some(max) = max {
        keywords.insert("maxItems".to_owned(), json!(max));
    }
    ArgumentType {
        json_type: JsonType::Array,
        style,
        keywords,
    }
}

fn json_type(call: &Call<'_, '_>) -> JsonType {
    match call.keyword_name("type") {
        Some("int") => JsonType::Integer,
        Some("float") => JsonType::Number,
        _ => JsonType::String,
    }
}

/// Returns the choices that are values of the type.
fn enum_choices(call: &Call<'_, '_>) -> Option<Value> {
    let choices = call.keyword_literal("choices")?;
    let kind = json_type(call);
    let fitting = choices
        .as_array()?
        .iter()
        .all(|choice| kind.accepts(choice));
    fitting.then_some(choices)
}
