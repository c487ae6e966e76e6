//! What an argument of argparse may be, and how it is passed.

use serde_json::{Map, Value, json};

use super::super::argument::{Form, Kind};
use super::MAX_ARGUMENTS;
use super::call::Call;

/// What an argument may be, and how it is passed.
pub(super) struct Shape {
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) keywords: Map<String, Value>,
}

impl Shape {
    /// Reads an option; nothing when its values cannot be given as data.
    pub(super) fn option(call: &Call<'_, '_>, action: Option<&str>, word: &str) -> Option<Self> {
        let word = word.to_owned();
        let flag = |when, otherwise| Shape {
            kind: Kind::Boolean,
            form: Form::Flag {
                word: word.clone(),
                when,
                otherwise,
            },
            keywords: Map::new(),
        };
        match action {
            Some("store_true" | "count" | "store_const" | "append_const") => {
                return Some(flag(true, None));
            }
            // `--no-color` that stores into `color` is passed for false; one that has no other name
            // says itself what it does.
            Some("store_false") if call.text("dest").is_some() => {
                let mut flag = flag(false, None);
                flag.keywords.insert("default".to_owned(), true.into());
                return Some(flag);
            }
            Some("store_false") => return Some(flag(true, None)),
            None if call.name("action") == Some("BooleanOptionalAction") => {
                return Some(flag(
                    true,
                    word.strip_prefix("--").map(|bare| format!("--no-{bare}")),
                ));
            }
            None | Some("store" | "extend" | "append") => {}
            Some(_) => return None,
        }
        match (count(call)?, action) {
            (Count::One | Count::Optional, Some("append")) => {
                Some(list(call, Form::Option(word), None))
            }
            (Count::One | Count::Optional, _) if call.name("type") == Some("bool") => Some(Shape {
                kind: Kind::Boolean,
                form: Form::NonEmpty(word),
                keywords: Map::new(),
            }),
            (Count::One | Count::Optional, _) => Some(single(call, Form::Option(word))),
            (Count::Many { .. }, Some("append")) => None,
            (Count::Many { least, most }, _) => {
                Some(list(call, Form::Together { word, least }, most))
            }
        }
    }

    /// Reads a positional argument; nothing when its values cannot be given as data.
    pub(super) fn positional(call: &Call<'_, '_>, action: Option<&str>) -> Option<Self> {
        action
            .is_none_or(|action| matches!(action, "store" | "extend"))
            .then_some(())?;
        Some(match count(call)? {
            Count::One => single(call, Form::Positional { least: 1, most: 1 }),
            Count::Optional => single(call, Form::Positional { least: 0, most: 1 }),
            Count::Many { least, most } => list(
                call,
                Form::Positional {
                    least,
                    most: most.unwrap_or(usize::MAX),
                },
                most,
            ),
        })
    }
}

/// How many words an argument takes.
enum Count {
    One,
    Optional,
    Many { least: usize, most: Option<usize> },
}

fn count(call: &Call<'_, '_>) -> Option<Count> {
    let Some(nargs) = call.literal("nargs").filter(|nargs| !nargs.is_null()) else {
        // The rest of the line, commands and all, cannot be told from options.
        return (!matches!(call.name("nargs"), Some("REMAINDER" | "PARSER"))).then_some(Count::One);
    };
    match (
        nargs.as_str(),
        nargs.as_u64().and_then(|count| usize::try_from(count).ok()),
    ) {
        (Some("?"), _) => Some(Count::Optional),
        (Some("*"), _) => Some(Count::Many {
            least: 0,
            most: None,
        }),
        (Some("+"), _) => Some(Count::Many {
            least: 1,
            most: None,
        }),
        (_, Some(count @ 1..=MAX_ARGUMENTS)) => Some(Count::Many {
            least: count,
            most: Some(count),
        }),
        _ => None,
    }
}

fn single(call: &Call<'_, '_>, form: Form) -> Shape {
    let mut keywords = Map::new();
    if let Some(choices) = choices(call) {
        keywords.insert("enum".to_owned(), choices);
    }
    Shape {
        kind: kind(call),
        form,
        keywords,
    }
}

fn list(call: &Call<'_, '_>, form: Form, most: Option<usize>) -> Shape {
    let mut items = Map::from_iter([("type".to_owned(), kind(call).as_str().into())]);
    if let Some(choices) = choices(call) {
        items.insert("enum".to_owned(), choices);
    }
    let mut keywords = Map::from_iter([("items".to_owned(), Value::Object(items))]);
    if let Some(most) = most {
        keywords.insert("maxItems".to_owned(), json!(most));
    }
    Shape {
        kind: Kind::Array,
        form,
        keywords,
    }
}

fn kind(call: &Call<'_, '_>) -> Kind {
    match call.name("type") {
        Some("int") => Kind::Integer,
        Some("float") => Kind::Number,
        _ => Kind::String,
    }
}

/// Returns the choices that a value of the type can be at all.
fn choices(call: &Call<'_, '_>) -> Option<Value> {
    let choices = call.literal("choices")?;
    let kind = kind(call);
    let fitting = choices.as_array()?.iter().all(|choice| fits(choice, kind));
    fitting.then_some(choices)
}

/// Says whether a constant is a value of the type.
pub(super) fn fits(value: &Value, kind: Kind) -> bool {
    match kind {
        Kind::String => value.is_string(),
        Kind::Integer => value.is_i64() || value.is_u64(),
        Kind::Number => value.is_number(),
        Kind::Boolean => value.is_boolean(),
        Kind::Array => value.is_array(),
        Kind::Object => value.is_object(),
    }
}
