//! Arguments that a skill declares in its `scripts` block.

use serde_json::Value;
use skills_manifest::ScriptArg;

use crate::argument::{Argument, ArgumentStyle, JsonType, is_argument_name};
use crate::warning::{ScriptWarning, truncate_name};
use crate::{keywords, text};

/// Parses declared arguments. Those without a valid and unique name are omitted with a warning.
pub(crate) fn parse_declared(
    args: &[ScriptArg],
    warnings: &mut Vec<ScriptWarning>,
) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    for arg in args {
        let name = || truncate_name(&arg.name);
        // The name becomes an option, so it must not contain `=`, spaces or a leading hyphen.
        if !is_argument_name(&arg.name) {
            warnings.push(ScriptWarning::InvalidArgumentName { argument: name() });
        } else if arguments.iter().any(|other| other.name == arg.name) {
            warnings.push(ScriptWarning::DuplicateArgument { argument: name() });
        } else {
            arguments.push(parse_argument(arg, warnings));
        }
    }
    arguments
}

fn parse_argument(arg: &ScriptArg, warnings: &mut Vec<ScriptWarning>) -> Argument {
    let json_type = JsonType::parse(&arg.kind).unwrap_or_else(|| {
        warnings.push(ScriptWarning::UnknownType {
            argument: arg.name.clone(),
            kind: truncate_name(&arg.kind),
        });
        JsonType::String
    });
    let description = arg.description.as_deref();
    Argument {
        name: arg.name.clone(),
        json_type,
        required: arg.required,
        description: description.and_then(text::argument_description),
        keywords: keywords::parse_keywords(&arg.name, json_type, &arg.raw, warnings),
        style: style(arg, json_type),
    }
}

fn style(arg: &ScriptArg, json_type: JsonType) -> ArgumentStyle {
    let has = |key: &str, value: Value| arg.raw.get(key) == Some(&value);
    let option = format!("--{}", arg.name);
    match json_type {
        _ if has("style", "json".into()) => ArgumentStyle::Json(option),
        JsonType::Boolean if has("negatable", true.into()) => ArgumentStyle::negatable_flag(option),
        JsonType::Boolean => ArgumentStyle::flag(option),
        _ => ArgumentStyle::Option(option),
    }
}
