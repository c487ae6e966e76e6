//! Argument schemas of scripts, as JSON Schema 2020-12.

use serde_json::{Map, Value, json};

use crate::argument::{
    Argument, ArgumentSource, ArgumentSpec, ArgumentStyle, Command, CommandSet, EXTRA_WORDS,
    ExtraArguments, InputConvention, JsonType, STDIN_TEXT,
};
use crate::text;

/// Returns the input schema of a script.
///
/// If nothing else is accepted, the known arguments are the only properties. Inferred schemas are
/// marked with `x-derived`.
pub(crate) fn input_schema(spec: &ArgumentSpec) -> Value {
    let (properties, required) = (properties(spec), required_properties(spec));
    let is_open = spec.extra == ExtraArguments::Accepted;
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !properties.is_empty() || !is_open {
        schema.insert("properties".to_owned(), properties.into());
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), is_open.into());
    if let ArgumentSource::Inferred(framework) = spec.source {
        schema.insert("x-derived".to_owned(), framework.as_str().into());
    }
    Value::Object(schema)
}

fn properties(spec: &ArgumentSpec) -> Map<String, Value> {
    let mut properties = Map::new();
    let set = spec.commands.as_ref();
    properties.extend(set.map(|set| (set.property.clone(), command_property(set))));
    for argument in &spec.arguments {
        properties.insert(argument.name.clone(), property_schema(argument));
    }
    for (name, property) in set.into_iter().flat_map(command_argument_properties) {
        properties.entry(name).or_insert(property);
    }
    if spec.accepts_words() {
        properties.insert(EXTRA_WORDS.to_owned(), extra_words_property(spec));
    }
    if spec.accepts_command_line() {
        let description = "All words of the command line, instead of the other properties.";
        let property =
            json!({"type": "array", "items": {"type": "string"}, "description": description});
        properties.insert(EXTRA_WORDS.to_owned(), property);
    }
    if spec.accepts_stdin() {
        let property = json!({"type": "string", "description": "Text for standard input."});
        properties.insert(STDIN_TEXT.to_owned(), property);
    }
    properties
}

fn required_properties(spec: &ArgumentSpec) -> Vec<&str> {
    let set = spec.commands.iter().filter(|set| set.required);
    let arguments = spec.arguments.iter().filter(|argument| argument.required);
    set.map(|set| set.property.as_str())
        .chain(arguments.map(|argument| argument.name.as_str()))
        .collect()
}

/// Returns the sentence that explains to a model how its arguments reach the script. `None` if the
/// schema says everything.
pub(crate) fn input_sentence(spec: &ArgumentSpec) -> Option<&'static str> {
    let is_open = spec.extra == ExtraArguments::Accepted;
    match spec.input {
        InputConvention::JsonArgument => {
            Some("All properties are passed as one JSON object in the first argument.")
        }
        InputConvention::JsonStdin => {
            Some("All properties are passed as one JSON object on standard input.")
        }
        InputConvention::TextStdin => Some(
            "`stdin` is passed as text on standard input; without it, all properties are passed there as one JSON object.",
        ),
        InputConvention::Words if !is_open => None,
        InputConvention::Words if spec.source == ArgumentSource::NoneFound => Some(
            "The script seems to take no arguments; `args` would be words of its command line.",
        ),
        InputConvention::Words if spec.source == ArgumentSource::Unknown => Some(
            "`args` are the words of the command line; other properties are passed as `--name value`.",
        ),
        InputConvention::Words if spec.accepts_words() => Some(
            "Further words of the command line go into `args`; other properties are passed as `--name value`.",
        ),
        InputConvention::Words => Some("Other properties are passed as `--name value`."),
    }
}

fn extra_words_property(spec: &ArgumentSpec) -> Value {
    let description = match spec.source {
        ArgumentSource::Unknown | ArgumentSource::NoneFound => {
            "Words of the command line, in order, options included."
        }
        ArgumentSource::Declared | ArgumentSource::Inferred(_) => {
            "Further words of the command line, in order."
        }
    };
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn command_property(set: &CommandSet) -> Value {
    let names: Vec<&str> = set.commands.iter().map(|one| one.name.as_str()).collect();
    let described = set.commands.iter().filter_map(|command| {
        let description = command.description.as_deref()?;
        Some(format!("{}: {description}", command.name))
    });
    let description = described.collect::<Vec<_>>().join("; ");
    let mut property = json!({"type": "string", "enum": names});
    set_description(&mut property, &description);
    property
}

fn set_description(property: &mut Value, text: &str) {
    if let Some(description) = text::argument_description(text) {
        property["description"] = description.into();
    }
}

/// Returns the properties of the arguments of all commands, each with the commands it is for.
fn command_argument_properties(set: &CommandSet) -> Vec<(String, Value)> {
    let arguments = set.commands.iter().flat_map(|command| &command.arguments);
    unique(arguments.map(|argument| argument.name.as_str()))
        .into_iter()
        .map(|name| (name.to_owned(), shared_property(name, set)))
        .collect()
}

/// Returns the texts in their order, each once.
fn unique<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Returns the property of an argument that may differ between commands.
fn shared_property(name: &str, set: &CommandSet) -> Value {
    let users: Vec<(&Command, &Argument)> = set
        .commands
        .iter()
        .filter_map(|command| {
            let argument = command.arguments.iter().find(|one| one.name == name)?;
            Some((command, argument))
        })
        .collect();
    let schemas = users.iter().map(|(_, argument)| property_schema(argument));
    let mut property = schemas
        .reduce(|one, other| common_keywords(one, &other))
        .unwrap_or_else(|| json!({}));
    set_description(
        &mut property,
        &shared_description(&users, set.commands.len()),
    );
    property
}

/// Keeps the keywords that are equal in both schemas, so that each value that one of them accepts
/// is accepted.
fn common_keywords(mut one: Value, other: &Value) -> Value {
    let Some(object) = one.as_object_mut() else {
        return one;
    };
    object.retain(|keyword, value| other.get(keyword) == Some(value));
    // Without its type, the other keywords would still apply to values of that type.
    if !object.contains_key("type") {
        object.clear();
    }
    one
}

/// Returns the descriptions of an argument, and the commands that have or require it.
fn shared_description(users: &[(&Command, &Argument)], commands: usize) -> String {
    let descriptions = users
        .iter()
        .filter_map(|(_, argument)| argument.description.as_deref());
    let mut line = unique(descriptions).join("; ");
    let notes = command_notes(users, commands);
    if !notes.is_empty() {
        line.push_str(&format!(" ({})", notes.join("; ")));
    }
    line
}

fn command_notes(users: &[(&Command, &Argument)], commands: usize) -> Vec<String> {
    let all: Vec<&str> = users
        .iter()
        .map(|(command, _)| command.name.as_str())
        .collect();
    let required: Vec<&str> = users
        .iter()
        .filter(|(_, argument)| argument.required)
        .map(|(command, _)| command.name.as_str())
        .collect();
    let mut notes = Vec::new();
    if all.len() < commands && required.len() < all.len() {
        notes.push(format!("with {}", all.join(", ")));
    }
    if !required.is_empty() {
        notes.push(format!("required with {}", required.join(", ")));
    }
    notes
}

fn property_schema(argument: &Argument) -> Value {
    let mut property = Map::new();
    if let Some(name) = argument.json_type.name() {
        property.insert("type".to_owned(), name.into());
    }
    if let Some(description) = &argument.description {
        property.insert("description".to_owned(), description.as_str().into());
    }
    property.extend(argument.keywords.clone());
    if let Some(min) = min_items(argument) {
        property.entry("minItems").or_insert_with(|| min.into());
    }
    Value::Object(property)
}

/// Returns the number of items of an array that the script accepts only if it is not empty.
fn min_items(argument: &Argument) -> Option<usize> {
    match argument.style {
        ArgumentStyle::ManyValues { min, .. } | ArgumentStyle::Positional { min, .. } => {
            (argument.json_type == JsonType::Array && min > 0).then_some(min)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::PatternOptions;

    use super::*;
    use crate::resolve::resolve_arguments;
    use crate::spec_match::tests::specs;

    /// Parses the arguments of one script, in YAML, and returns the schema and the warnings.
    fn read(args: &str) -> (Value, Vec<String>) {
        let indented: String = args.lines().map(|line| format!("      {line}\n")).collect();
        let specs = specs(&format!("  a:\n    args:\n{indented}"));
        let (arguments, warnings) = resolve_arguments(specs.first(), "", "a.sh");
        let schema = input_schema(&arguments);
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .unwrap();
        (schema, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn arguments_become_a_closed_schema() {
        let (schema, warnings) = read(
            "- {name: city, type: string, required: true, description: \"Name\\n of the\\u200b city\", pattern: '^[A-Z]', min_length: 2}
- {name: days, type: int, default: 3, min: 1, max: 3}
- {name: unit, enum: [metric, imperial], min: 3}
- {name: cities, type: array, items: {type: string, enum: [a, b]}, maxItems: 2}
- {name: verbose, type: boolean}
- {name: more, type: object}",
        );
        assert_eq!(warnings, [""; 0]);
        insta::assert_json_snapshot!("arguments", schema);
    }

    #[test]
    fn invalid_keywords_are_omitted_with_a_warning() {
        let (schema, warnings) = read(
            "- {name: \"a=b\", type: string}
- {name: \"a b\"}
- {name: one, type: color, pattern: '(', enum: [], default: \"x\\u202ey\"}
- {name: one}
- {name: two, type: number, minimum: low, multipleOf: 0}
- {name: three, type: array, items: {type: {}}}
- {name: four, pattern: '(?=a)a'}",
        );
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        argument `a=b` ignored: expected a name of a letter or `_`, then at most 63 letters, digits, `_` and `-`
        argument `a b` ignored: expected a name of a letter or `_`, then at most 63 letters, digits, `_` and `-`
        unknown type `color` of argument `one`; using `string`
        invalid `default` of argument `one`; ignored
        invalid `enum` of argument `one`; ignored
        invalid `pattern` of argument `one`; ignored
        duplicate argument `one`; using the first
        invalid `minimum` of argument `two`; ignored
        invalid `multipleOf` of argument `two`; ignored
        invalid `items` of argument `three`; ignored
        invalid `pattern` of argument `four`; ignored
        "#);
        insta::assert_json_snapshot!(schema["properties"], @r#"
        {
          "one": {
            "type": "string"
          },
          "two": {
            "type": "number"
          },
          "three": {
            "type": "array",
            "items": {
              "type": "string"
            }
          },
          "four": {
            "type": "string"
          }
        }
        "#);
    }

    #[test]
    fn unknown_arguments_are_open_and_empty_ones_closed() {
        assert_eq!(
            input_schema(&ArgumentSpec::unknown(InputConvention::JsonStdin)),
            json!({"type": "object", "additionalProperties": true})
        );
        assert_eq!(
            read("[]").0,
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }

    #[test]
    fn descriptions_are_truncated() {
        let (schema, _) = read(&format!(
            "- {{name: a, description: {}}}",
            "word ".repeat(1000)
        ));
        assert_eq!(
            schema["properties"]["a"]["description"]
                .as_str()
                .unwrap()
                .chars()
                .count(),
            text::MAX_ARGUMENT_CHARS
        );
    }
}
