//! The only module that knows the YAML library; a successor replaces this file.
//!
//! The library bounds nesting (128 levels) and the number of aliases it follows, but neither the text that aliases multiply nor the time
//! that unclosed brackets take. Both are bounded here, and repeated keys are refused in every spelling of the same key.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::MAX_FRONTMATTER_BYTES;
use crate::error::{ManifestError, Repr};
use crate::fence::Frontmatter;

/// The most brackets that may be open at once, quoted ones included.
const MAX_OPEN_BRACKETS: usize = 500;
/// How much text the values may hold once aliases are followed, each value counting some bytes on top.
const BUDGET_BYTES: usize = 4 * MAX_FRONTMATTER_BYTES;
const VALUE_BYTES: usize = 8;

/// Reads the frontmatter as a mapping from text to JSON values, in the order of the file.
///
/// Tags are dropped and never acted on; keys that are not text are written as text, numbers that JSON does not have too.
pub(crate) fn mapping(frontmatter: &Frontmatter<'_>) -> Result<Map<String, Value>, ManifestError> {
    if let Some(line) = too_many_brackets(frontmatter.yaml()) {
        let message = format!("more than {MAX_OPEN_BRACKETS} open brackets");
        return Err(Repr::Yaml { message, line: Some(frontmatter.first_line() + line) }.into());
    }
    let budget = Cell::new(BUDGET_BYTES);
    let deserializer = serde_yaml::Deserializer::from_str(frontmatter.yaml());
    let value = Json { budget: &budget }.deserialize(deserializer).map_err(|error| describe(frontmatter, &error))?;
    match value {
        Value::Object(map) => Ok(map),
        other => Err(Repr::NotMapping { found: type_name(&other), line: frontmatter.first_line() }.into()),
    }
}

/// Takes the library's own position, which counts from the fence, out of its message.
fn describe(frontmatter: &Frontmatter<'_>, error: &serde_yaml::Error) -> ManifestError {
    let line = error.location().map(|at| frontmatter.first_line() + at.line().saturating_sub(1));
    let message = error.to_string();
    let bare = message.rsplit_once(" at line ").filter(|(_, position)| position.starts_with(|c: char| c.is_ascii_digit()));
    Repr::Yaml { message: bare.map_or(message.as_str(), |(bare, _)| bare).to_owned(), line }.into()
}

/// Names the type of a value in the words of YAML.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Finds the line, counted from 0, on which too many brackets are open: the library's time grows with the square of them.
fn too_many_brackets(yaml: &str) -> Option<usize> {
    let mut open = 0usize;
    for (line, text) in yaml.lines().enumerate() {
        for byte in text.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MAX_OPEN_BRACKETS {
                return Some(line);
            }
        }
    }
    None
}

/// Builds a JSON value while the budget lasts.
#[derive(Clone, Copy)]
struct Json<'a> {
    budget: &'a Cell<usize>,
}

impl Json<'_> {
    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let rest = self.budget.get().checked_sub(bytes + VALUE_BYTES);
        self.budget.set(rest.ok_or_else(|| E::custom("its aliases multiply the text beyond all measure"))?);
        Ok(())
    }

    fn scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.spend(0)?;
        Ok(value.into())
    }

    fn text<E: Error>(self, text: &str) -> Result<Value, E> {
        self.spend(text.len())?;
        Ok(Value::String(text.to_owned()))
    }
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        self.scalar(flag)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        self.scalar(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        self.scalar(number)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Value, E> {
        self.text(&number.to_string())
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        self.text(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        match Number::from_f64(number) {
            Some(number) => self.scalar(number),
            None => self.text(&number.to_string()),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.text(text)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        use serde::de::VariantAccess;
        let (_tag, value) = tagged.variant::<String>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let key = match key {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate entry with key {key:?}")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
