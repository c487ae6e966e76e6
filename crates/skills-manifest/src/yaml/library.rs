//! Parses YAML with the library, which only this module depends on.
//!
//! The library limits nesting (128 levels) and the number of aliases that it resolves, but neither
//! the size to which aliases expand nor the time for unclosed brackets. This module limits both,
//! since frontmatter is not trusted.

mod number_text;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::brackets::{MAX_BRACKETS, MAX_OPEN_BRACKETS, find_excess_brackets};
use super::parsed::{DuplicateKey, ParseError, ParseErrorKind, Parsed};
use crate::MAX_FRONTMATTER_BYTES;

/// Maximum size of all values after aliases are resolved, in bytes of text plus
/// [`VALUE_OVERHEAD_BYTES`] for each value.
const MAX_EXPANDED_BYTES: usize = 4 * MAX_FRONTMATTER_BYTES;
const VALUE_OVERHEAD_BYTES: usize = 8;
/// Maximum number of recorded duplicate keys in nested mappings.
const MAX_DUPLICATE_KEYS: usize = 50;

/// Parses one document; see [`parse`](super::parse) for the values.
pub(super) fn parse(yaml: &str) -> Result<Parsed, ParseError> {
    let (mut parsed, has_numbers) = build_value(yaml)?;
    // The second pass walks the text and the values in parallel, which a dropped duplicate would
    // shift.
    if has_numbers && parsed.duplicate_keys.is_empty() {
        number_text::restore_number_text(yaml, &mut parsed.value);
    }
    Ok(parsed)
}

/// Parses one document with the numbers of YAML.
pub(super) fn parse_exact(yaml: &str) -> Result<Parsed, ParseError> {
    build_value(yaml).map(|(parsed, _)| parsed)
}

/// Parses one document, and returns whether it contains numbers.
fn build_value(yaml: &str) -> Result<(Parsed, bool), ParseError> {
    check_brackets(yaml)?;
    let state = BuildState::default();
    let builder = ValueBuilder {
        state: &state,
        depth: 0,
        role: NodeRole::Value,
    };
    let value = builder
        .deserialize(serde_yaml::Deserializer::from_str(yaml))
        .map_err(|error| to_parse_error(&error, &state))?;
    let parsed = Parsed {
        value,
        ..state.parsed.into_inner()
    };
    Ok((parsed, state.has_numbers.get()))
}

/// Rejects a text with too many brackets.
///
/// The time of the library grows with the square of the open brackets, so this check comes before
/// it.
fn check_brackets(yaml: &str) -> Result<(), ParseError> {
    match find_excess_brackets(yaml) {
        None => Ok(()),
        Some(line) => Err(ParseError {
            kind: ParseErrorKind::BudgetExceeded,
            message: format!(
                "more than {MAX_OPEN_BRACKETS} open brackets, or {MAX_BRACKETS} in total"
            ),
            line: line + 1,
            column: 1,
        }),
    }
}

/// Converts an error of the library, whose message contains positions of its own.
fn to_parse_error(error: &serde_yaml::Error, state: &BuildState) -> ParseError {
    let (line, column) = error
        .location()
        .map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
    // The library has no kinds of errors, so its limits are recognized by their messages.
    let message = strip_positions(&error.to_string());
    // The state tells what this module rejected; the library only relays the message.
    let kind = if let Some(found) = state.rejected_key.get() {
        ParseErrorKind::KeyNotScalar { found }
    } else if state.is_over_budget.get()
        || message.contains("recursion limit")
        || message.contains("repetition limit")
    {
        ParseErrorKind::BudgetExceeded
    } else {
        ParseErrorKind::Syntax
    };
    ParseError {
        kind,
        message,
        line,
        column,
    }
}

/// Removes ` at line 2 column 7` from a message.
///
/// These lines are counted from the delimiter; callers report the position in the file instead.
fn strip_positions(message: &str) -> String {
    let mut parts = message.split(" at line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = skip_digits(part);
        out.push_str(rest.strip_prefix(" column ").map_or(rest, skip_digits));
    }
    out
}

fn skip_digits(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

/// The state that all builders of one document share.
#[derive(Default)]
struct BuildState {
    // Cells: serde passes seeds by value, and each node has its own.
    used_bytes: Cell<usize>,
    is_over_budget: Cell<bool>,
    has_numbers: Cell<bool>,
    rejected_key: Cell<Option<&'static str>>,
    /// The result, except for its value.
    parsed: RefCell<Parsed>,
}

/// Builds a JSON value from the events of the library, within the budget.
#[derive(Clone, Copy)]
struct ValueBuilder<'a> {
    state: &'a BuildState,
    depth: usize,
    role: NodeRole,
}

/// Whether a node is the key of a mapping.
#[derive(Clone, Copy, PartialEq)]
enum NodeRole {
    Key,
    Value,
}

impl ValueBuilder<'_> {
    fn child(self, role: NodeRole) -> Self {
        Self {
            depth: self.depth + 1,
            role,
            ..self
        }
    }

    /// Starts a mapping or a list, which cannot be a key.
    ///
    /// JSON keys are text, so such a key would be rendered, and the rendering of a key in a key
    /// escapes its quotes again. Its length doubles with each level: 100 bytes of YAML with 40
    /// levels would use all memory.
    fn enter_collection<E: Error>(self, found: &'static str) -> Result<(), E> {
        match self.role {
            NodeRole::Value => self.charge(0),
            NodeRole::Key => {
                self.state.rejected_key.set(Some(found));
                Err(E::custom(format_args!("a key is {found}")))
            }
        }
    }

    /// Subtracts a value from the budget; fails if the budget is exhausted.
    fn charge<E: Error>(self, bytes: usize) -> Result<(), E> {
        // Empty values use memory too, so each of them costs some bytes.
        let used = self.state.used_bytes.get() + bytes + VALUE_OVERHEAD_BYTES;
        self.state.used_bytes.set(used);
        if used > MAX_EXPANDED_BYTES {
            self.state.is_over_budget.set(true);
            return Err(E::custom(format_args!(
                "aliases expand to more than {MAX_EXPANDED_BYTES} bytes"
            )));
        }
        Ok(())
    }

    fn build_scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.charge(0)?;
        let value = value.into();
        if value.is_number() {
            self.state.has_numbers.set(true);
        }
        Ok(value)
    }

    /// Builds a number without a JSON equivalent as text.
    fn build_unrepresentable_number<E: Error>(self, raw: &str) -> Result<Value, E> {
        self.state.parsed.borrow_mut().has_unrepresentable_number = true;
        self.build_text(raw)
    }

    fn build_text<E: Error>(self, text: &str) -> Result<Value, E> {
        self.charge(text.len())?;
        Ok(Value::String(text.to_owned()))
    }
}

impl<'de> DeserializeSeed<'de> for ValueBuilder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueBuilder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.state.parsed.borrow_mut().null_count += 1;
        self.build_scalar(Value::Null)
    }

    // The library calls this for a text without a document, such as one with only comments.
    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        self.build_scalar(flag)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        self.build_scalar(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        self.build_scalar(number)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Value, E> {
        self.build_unrepresentable_number(&number.to_string())
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        self.build_unrepresentable_number(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        match Number::from_f64(number) {
            Some(number) => self.build_scalar(number),
            None => self.build_unrepresentable_number(&number.to_string()),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.build_text(text)
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        use serde::de::VariantAccess;
        // The library presents a tagged value as an enum variant named after the tag.
        self.state.parsed.borrow_mut().has_tags = true;
        let (_tag, value) = tagged.variant::<String>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.enter_collection("a list")?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.child(NodeRole::Value))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.enter_collection("a mapping")?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self.child(NodeRole::Key))? {
            if !key.is_string() || key == "<<" {
                self.state.parsed.borrow_mut().has_non_text_key = true;
            }
            let key = match key {
                Value::String(text) => text,
                scalar => scalar.to_string(),
            };
            let value = entries.next_value_seed(self.child(NodeRole::Value))?;
            // The first value wins; the manifest rejects duplicates of fields that matter.
            if map.contains_key(&key) {
                let duplicates = &mut self.state.parsed.borrow_mut().duplicate_keys;
                // Bounds the warnings of a hostile file. Duplicates at the top level are always
                // recorded, since one of a restriction is an error.
                if self.depth > 0 && duplicates.len() >= MAX_DUPLICATE_KEYS {
                    continue;
                }
                duplicates.push(DuplicateKey {
                    key,
                    is_top_level: self.depth == 0,
                });
            } else {
                map.insert(key, value);
            }
        }
        Ok(Value::Object(map))
    }
}
