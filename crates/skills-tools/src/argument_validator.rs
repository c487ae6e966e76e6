//! Validation of arguments against the input schema of a tool.
//!
//! The schemas are made by this crate and by `skills-script`, of [few keywords](KEYWORDS). A library
//! for the whole of JSON Schema would be a tenth of the `skills` command.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Number, Value};
use skills_runtime::is_invisible;
use skills_script::Pattern;

use crate::coercion::{self, near_form};
use crate::nearest_name::nearest_name;
use crate::portable_schema::PRIVATE_PREFIX;
use crate::virtual_path::escape_and_truncate;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of mistakes in one error message.
const MAX_MISTAKES: usize = 5;
/// Number of mistakes after which no further values are checked.
const MAX_COUNTED: usize = 1000;
/// Maximum length of the text of one mistake, in characters.
const MAX_MISTAKE_CHARS: usize = 300;
/// Maximum length of the location of a mistake, in characters.
const MAX_LOCATION_CHARS: usize = 100;
/// Maximum length of a value in an error message, in characters; longer values are replaced.
const MAX_VALUE_CHARS: usize = 60;

/// The keywords that are checked, as JSON Schema 2020-12 defines them.
const KEYWORDS: [&str; 18] = [
    "type",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
/// The keywords that accept every value.
const ANNOTATIONS: [&str; 3] = ["default", "description", "format"];

/// A schema that validates arguments.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentValidator {
    schema: Value,
    /// The compiled values of `pattern`.
    patterns: BTreeMap<String, Pattern>,
}

/// Returns which properties unknown ones were probably meant to be, after a semicolon; empty if none
/// is near. Of the first unknown ones, since a caller can send any number.
fn meant_properties(given: &Map<String, Value>, declared: Option<&Map<String, Value>>) -> String {
    let known = || declared.into_iter().flat_map(Map::keys).map(String::as_str);
    let unknown = given
        .keys()
        .filter(|name| known().all(|known| known != *name));
    let near = unknown
        .take(MAX_MISTAKES)
        .filter_map(|name| nearest_name(name, known()));
    let near: Vec<String> = near.map(|name| format!("`{name}`")).collect();
    match near.as_slice() {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

impl ArgumentValidator {
    /// Compiles a schema. Patterns are matched in linear time.
    ///
    /// # Errors
    /// Fails if the schema has an unknown keyword, which would be ignored, or an invalid pattern.
    pub(crate) fn new(schema: &Value) -> Result<Self, ToolError> {
        let mut patterns = BTreeMap::new();
        compile(schema, &mut patterns).ok_or_else(|| {
            ToolErrorCode::Internal
                .error("cannot compile the input schema of the tool; nothing was done")
        })?;
        Ok(Self {
            schema: schema.clone(),
            patterns,
        })
    }

    /// Validates arguments.
    ///
    /// # Errors
    /// `invalid_arguments`, with the first mistakes, their locations, and the number of further
    /// mistakes.
    pub(crate) fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let mistakes = self.mistakes(arguments);
        if mistakes.count == 0 {
            return Ok(());
        }
        let more = match mistakes.count - mistakes.first.len() {
            0 => String::new(),
            more if mistakes.count < MAX_COUNTED => format!("; and {more} more"),
            more => format!("; and {more} or more others"),
        };
        let error = ToolErrorCode::InvalidArguments.error(format!(
            "invalid arguments: {}{more}",
            mistakes.first.join("; ")
        ));
        Err(error.with_hint("check the input schema of the tool, then retry"))
    }

    fn mistakes(&self, arguments: &Value) -> Mistakes {
        let mut mistakes = Mistakes::default();
        self.check(&self.schema, arguments, "", &mut mistakes);
        mistakes
    }

    /// Adds the mistakes of a value. As deep as the schema, not as the value.
    fn check(&self, schema: &Value, value: &Value, location: &str, mistakes: &mut Mistakes) {
        let Value::Object(schema) = schema else {
            // `true` accepts everything; `false` occurs as `additionalProperties` only.
            return;
        };
        if mistakes.count >= MAX_COUNTED {
            return;
        }
        let mut add = |text: String| mistakes.add(location, &text);
        if let Some(expected) = schema.get("type").filter(|kind| !has_type(value, kind)) {
            let near = near_form(value, schema).filter(|form| form.len() <= MAX_VALUE_CHARS);
            let meant = near.map_or_else(String::new, |form| format!("; did you mean {form}?"));
            add(format!("{} is not of type {expected}{meant}", shown(value)));
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.iter().any(|one| is_equal(one, value))
        {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            let values = values.join(", ");
            add(format!("{} is not one of {values}", shown(value)));
        }
        match value {
            Value::Number(number) => check_number(schema, number, &mut add),
            Value::String(text) => self.check_text(schema, text, &mut add),
            Value::Array(items) => self.check_items(schema, items, location, mistakes),
            Value::Object(given) => self.check_properties(schema, given, location, mistakes),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_text(&self, schema: &Map<String, Value>, text: &str, add: &mut dyn FnMut(String)) {
        let value = || shown(&text.into());
        let length = text.chars().count();
        if let Some(min) = limit(schema, "minLength").filter(|min| length < *min) {
            add(format!(
                "{} is shorter than {}",
                value(),
                counted(min, "character")
            ));
        }
        if let Some(max) = limit(schema, "maxLength").filter(|max| length > *max) {
            add(format!(
                "{} is longer than {}",
                value(),
                counted(max, "character")
            ));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && !self
                .patterns
                .get(pattern)
                .is_some_and(|compiled| compiled.is_match(text))
        {
            add(format!("{} does not match `{pattern}`", value()));
        }
    }

    fn check_items(
        &self,
        schema: &Map<String, Value>,
        items: &[Value],
        location: &str,
        mistakes: &mut Mistakes,
    ) {
        if let Some(min) = limit(schema, "minItems").filter(|min| items.len() < *min) {
            mistakes.add(location, &format!("has less than {}", counted(min, "item")));
        }
        if let Some(max) = limit(schema, "maxItems").filter(|max| items.len() > *max) {
            mistakes.add(location, &format!("has more than {}", counted(max, "item")));
        }
        let is_unique = || {
            let mut seen = HashSet::new();
            items.iter().all(|item| seen.insert(canonical(item)))
        };
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) && !is_unique() {
            mistakes.add(location, "has equal items");
        }
        if let Some(of_items) = schema.get("items") {
            for (at, item) in items.iter().enumerate() {
                self.check(of_items, item, &format!("{location}/{at}"), mistakes);
            }
        }
    }

    fn check_properties(
        &self,
        schema: &Map<String, Value>,
        given: &Map<String, Value>,
        location: &str,
        mistakes: &mut Mistakes,
    ) {
        let declared = schema.get("properties").and_then(Value::as_object);
        let is_declared = |name: &str| declared.is_some_and(|known| known.contains_key(name));
        let others = schema.get("additionalProperties");
        if others == Some(&Value::Bool(false)) {
            let unexpected: Vec<String> = given
                .keys()
                .filter(|name| !is_declared(name))
                .map(|name| format!("'{name}'"))
                .collect();
            if !unexpected.is_empty() {
                let were = if unexpected.len() == 1 { "was" } else { "were" };
                let names = unexpected.join(", ");
                let meant = meant_properties(given, declared);
                let text = format!(
                    "Additional properties are not allowed ({names} {were} unexpected){meant}"
                );
                mistakes.add(location, &text);
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        for name in required.filter(|name| !given.contains_key(*name)) {
            let text = format!("{} is a required property", Value::from(name));
            mistakes.add(location, &text);
        }
        if let Some(max) = limit(schema, "maxProperties").filter(|max| given.len() > *max) {
            let text = format!("has {} properties, at most {max} are allowed", given.len());
            mistakes.add(location, &text);
        }
        for (name, value) in given {
            let property = declared.and_then(|declared| declared.get(name)).or(others);
            if let Some(property) = property {
                let location = format!("{location}/{}", pointer_part(name));
                self.check(property, value, &location, mistakes);
            }
        }
    }
}

/// The mistakes of a call: the texts of the first, and the number of all. The arguments of a call can
/// have as many as values.
#[derive(Debug, Default)]
struct Mistakes {
    first: Vec<String>,
    count: usize,
}

impl Mistakes {
    fn add(&mut self, location: &str, text: &str) {
        self.count += 1;
        if self.first.len() == MAX_MISTAKES {
            return;
        }
        // The text contains parts of the arguments and goes into logs and terminals. Backslashes
        // stay, since JSON and patterns contain them.
        let escape = |text: &str, max| escape_and_truncate(text, max, is_invisible);
        let text = escape(text, MAX_MISTAKE_CHARS);
        self.first.push(match escape(location, MAX_LOCATION_CHARS) {
            location if location.is_empty() => text,
            location => format!("{location}: {text}"),
        });
    }
}

/// Compiles the patterns of a schema. `None` if a keyword is unknown or a pattern is invalid.
fn compile(schema: &Value, patterns: &mut BTreeMap<String, Pattern>) -> Option<()> {
    let Value::Object(schema) = schema else {
        return schema.is_boolean().then_some(());
    };
    for (keyword, value) in schema {
        let is_known = KEYWORDS.contains(&keyword.as_str())
            || ANNOTATIONS.contains(&keyword.as_str())
            || keyword.starts_with(PRIVATE_PREFIX);
        match keyword.as_str() {
            "pattern" => {
                let pattern = value.as_str()?;
                patterns.insert(pattern.to_owned(), Pattern::new(pattern)?);
            }
            "items" | "additionalProperties" => compile(value, patterns)?,
            "properties" => {
                for property in value.as_object()?.values() {
                    compile(property, patterns)?;
                }
            }
            _ if is_known => {}
            _ => return None,
        }
    }
    Some(())
}

/// Returns true if a value has the type, or one of the types, of a schema.
fn has_type(value: &Value, expected: &Value) -> bool {
    match expected {
        Value::Array(types) => types.iter().any(|one| has_type(value, one)),
        Value::String(name) => coercion::has_type(value, name),
        _ => false,
    }
}

fn check_number(schema: &Map<String, Value>, number: &Number, add: &mut dyn FnMut(String)) {
    let bounds: [(&str, &[Ordering], &str); 4] = [
        ("minimum", &[Ordering::Less], "is less than"),
        ("maximum", &[Ordering::Greater], "is greater than"),
        (
            "exclusiveMinimum",
            &[Ordering::Less, Ordering::Equal],
            "is not greater than",
        ),
        (
            "exclusiveMaximum",
            &[Ordering::Greater, Ordering::Equal],
            "is not less than",
        ),
    ];
    for (keyword, refused, text) in bounds {
        if let Some(Value::Number(bound)) = schema.get(keyword)
            && refused.contains(&compare(number, bound))
        {
            add(format!("{number} {text} {bound}"));
        }
    }
    if let Some(Value::Number(step)) = schema.get("multipleOf")
        && !is_multiple(number, step)
    {
        add(format!("{number} is not a multiple of {step}"));
    }
}

/// Compares exactly: an integer of any size is not rounded to a float.
fn compare(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one)
            .partial_cmp(&float(other))
            .unwrap_or(Ordering::Equal),
    }
}

/// Decimal fractions such as 0.1 have no exact representation: the quotient may differ from an integer
/// by the error of a division.
fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (integer(number), integer(step)) {
        return step != 0 && number % step == 0;
    }
    let quotient = float(number) / float(step);
    let tolerance = (quotient.abs() * 4.0 * f64::EPSILON).min(0.25);
    (quotient - quotient.round()).abs() <= tolerance
}

/// Returns the value of an integer, also if it is written as `1.0`.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = float(number);
        let is_integral = float.fract() == 0.0;
        // The text of an integral float is exact.
        is_integral.then(|| format!("{float:.0}").parse().ok())?
    })
}

/// JSON has no number that is not finite.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Returns true if two values are equal: `1` equals `1.0`, and properties have no order.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(_) | Value::Object(_), _) => canonical(one) == canonical(other),
        _ => one == other,
    }
}

/// Returns a text that is equal for equal values: `1` equals `1.0`, and properties have no order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() && float(number).fract() == 0.0 => {
            // Without the sign of a negative zero.
            format!("{:.0}", float(number) + 0.0)
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(properties) => {
            let mut properties: Vec<String> = properties
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            properties.sort_unstable();
            format!("{{{}}}", properties.join(","))
        }
        value => value.to_string(),
    }
}

/// Returns a value as JSON, or words in its place if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > MAX_VALUE_CHARS {
        return "the value".to_owned();
    }
    text
}

fn limit(schema: &Map<String, Value>, keyword: &str) -> Option<usize> {
    let limit = schema.get(keyword)?.as_u64()?;
    Some(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Escapes a name in a JSON pointer.
fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
