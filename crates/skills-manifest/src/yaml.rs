//! The only module that knows the YAML library; a successor replaces this file.
//!
//! The library bounds nesting (128 levels) and the number of aliases it follows, but neither the
//! text that aliases multiply nor the time that unclosed brackets take. Both are bounded here.

mod emit;
mod fast;
mod number_text;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::MAX_FRONTMATTER_BYTES;
pub(crate) use emit::{Field, write_fields};
pub(crate) use fast::{parse_mapping as simple, peek_name};

/// The most brackets that may be open at once, quoted ones included.
const MAX_OPEN_BRACKETS: usize = 500;
/// The most opening brackets in all: closing ones in quotes close nothing, and telling them apart
/// takes a parser.
const MAX_BRACKETS: usize = 2_000;
/// How much text the values may hold once aliases are followed, each value counting some bytes on
/// top.
const MAX_EXPANDED_BYTES: usize = 4 * MAX_FRONTMATTER_BYTES;
const VALUE_OVERHEAD_BYTES: usize = 8;
/// The most repeated keys of inner mappings that are noted.
const MAX_DUPLICATE_KEYS: usize = 50;

/// What a text of YAML holds.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// The keys that stand twice in one mapping; the first of each was kept.
    pub(crate) duplicate_keys: Vec<DuplicateKey>,
    /// Whether a value had a tag, which was dropped.
    pub(crate) has_tags: bool,
}

/// What a text of YAML holds, and what of it JSON cannot say or readers take differently.
#[derive(Debug)]
pub(crate) struct ParsedExact {
    pub(crate) value: Value,
    /// The first key that stands twice in one mapping.
    pub(crate) duplicate_key: Option<String>,
    /// Whether a value had a tag.
    pub(crate) has_tags: bool,
    /// Whether a key was a scalar but no text, or `<<`.
    pub(crate) has_non_text_key: bool,
    /// Whether a number was infinite, none, or longer than 64 bits.
    pub(crate) has_unrepresentable_number: bool,
}

/// A key that stands twice in one mapping.
#[derive(Debug)]
pub(crate) struct DuplicateKey {
    pub(crate) key: String,
    pub(crate) is_top_level: bool,
}

/// Why a text is no YAML that is read; lines and columns count from 1.
#[derive(Debug)]
pub(crate) enum ParseError {
    /// It breaks the grammar.
    Syntax {
        message: String,
        line: usize,
        column: usize,
    },
    /// A key of a mapping is itself a mapping or a list.
    KeyNotScalar {
        found: &'static str,
        line: usize,
        column: usize,
    },
    /// Nesting, brackets or aliases are beyond all measure.
    BudgetExceeded { message: String, line: usize },
}

/// Reads one document.
///
/// Tags are dropped and never acted on, merge keys are ordinary keys; numbers, truth values and
/// `null` as keys are written as text, and keys that are mappings or lists are refused. A number is
/// a number only when JSON writes it the same way: `1.10`, `0x1F` and `1e3` are text.
pub(crate) fn parse(yaml: &str) -> Result<Parsed, ParseError> {
    let (mut value, state) = build_value(yaml)?;
    let repeated = state.duplicate_keys.into_inner();
    // With a key left out, the second reading would not stand beside the first.
    if state.has_numbers.get() && repeated.is_empty() {
        number_text::restore_number_text(yaml, &mut value);
    }
    Ok(Parsed {
        value,
        duplicate_keys: repeated,
        has_tags: state.has_tags.get(),
    })
}

/// Reads one document as YAML has it, numbers among them: `1.10` is 1.1, `0x1F` is 31.
pub(crate) fn parse_exact(yaml: &str) -> Result<ParsedExact, ParseError> {
    let (value, state) = build_value(yaml)?;
    let repeated = state
        .duplicate_keys
        .into_inner()
        .into_iter()
        .next()
        .map(|repeated| repeated.key);
    Ok(ParsedExact {
        value,
        duplicate_key: repeated,
        has_tags: state.has_tags.get(),
        has_non_text_key: state.has_non_text_key.get(),
        has_unrepresentable_number: state.has_unrepresentable_number.get(),
    })
}

fn build_value(yaml: &str) -> Result<(Value, BuildState), ParseError> {
    if let Some(line) = find_excess_brackets(yaml) {
        return Err(ParseError::BudgetExceeded {
            message: format!(
                "more than {MAX_OPEN_BRACKETS} open brackets, or {MAX_BRACKETS} in all"
            ),
            line: line + 1,
        });
    }
    let state = BuildState::default();
    let result = ValueBuilder {
        state: &state,
        depth: 0,
        role: NodeRole::Value,
    }
    .deserialize(serde_yaml::Deserializer::from_str(yaml));
    let value = result.map_err(|error| to_parse_error(&error, &state))?;
    Ok((value, state))
}

/// Takes the library's own position out of its message.
fn to_parse_error(error: &serde_yaml::Error, state: &BuildState) -> ParseError {
    let (line, column) = error
        .location()
        .map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
    if let Some(found) = state.rejected_key.get() {
        return ParseError::KeyNotScalar {
            found,
            line,
            column,
        };
    }
    let message = strip_positions(&error.to_string());
    if state.is_over_budget.get()
        || message.contains("recursion limit")
        || message.contains("repetition limit")
    {
        ParseError::BudgetExceeded { message, line }
    } else {
        ParseError::Syntax {
            message,
            line,
            column,
        }
    }
}

/// Finds the line, counted from 0, on which too many brackets are open: the library's time grows
/// with the square of them.
fn find_excess_brackets(yaml: &str) -> Option<usize> {
    let (mut open, mut all) = (0usize, 0usize);
    for (line, text) in yaml.lines().enumerate() {
        for byte in text.bytes() {
            match byte {
                b'[' | b'{' => (open, all) = (open + 1, all + 1),
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MAX_OPEN_BRACKETS || all > MAX_BRACKETS {
                return Some(line);
            }
        }
    }
    None
}

/// Takes ` at line 2 column 7` out of a message: it counts from the fence, and the place is told
/// beside it.
fn strip_positions(message: &str) -> String {
    let mut parts = message.split(" at line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = &part[part.len() - digits(part)..];
        let rest = rest
            .strip_prefix(" column ")
            .map_or(rest, |column| &column[column.len() - digits(column)..]);
        out.push_str(rest);
    }
    out
}

/// What is known while values are built.
struct BuildState {
    budget: Cell<usize>,
    is_over_budget: Cell<bool>,
    has_numbers: Cell<bool>,
    has_tags: Cell<bool>,
    has_non_text_key: Cell<bool>,
    rejected_key: Cell<Option<&'static str>>,
    has_unrepresentable_number: Cell<bool>,
    duplicate_keys: RefCell<Vec<DuplicateKey>>,
}

impl Default for BuildState {
    fn default() -> Self {
        Self {
            budget: Cell::new(MAX_EXPANDED_BYTES),
            is_over_budget: Cell::new(false),
            has_numbers: Cell::new(false),
            has_tags: Cell::new(false),
            has_non_text_key: Cell::new(false),
            rejected_key: Cell::new(None),
            has_unrepresentable_number: Cell::new(false),
            duplicate_keys: RefCell::default(),
        }
    }
}

/// Builds a JSON value while the budget lasts.
#[derive(Clone, Copy)]
struct ValueBuilder<'a> {
    state: &'a BuildState,
    depth: usize,
    role: NodeRole,
}

/// The part of a mapping that is built; whatever is in no mapping is a value.
#[derive(Clone, Copy, PartialEq)]
enum NodeRole {
    Key,
    Value,
}

impl ValueBuilder<'_> {
    fn child(self, part: NodeRole) -> Self {
        Self {
            depth: self.depth + 1,
            role: part,
            ..self
        }
    }

    /// Begins a mapping or a list, which only a value may be.
    ///
    /// As a key it would have to be written as text, and the text of a key within a key is quoted
    /// once more: its length doubles with each level, and 40 levels take 100 bytes of YAML.
    fn enter_collection<E: Error>(self, found: &'static str) -> Result<(), E> {
        if self.role == NodeRole::Key {
            self.state.rejected_key.set(Some(found));
            return Err(E::custom(format_args!("a key is {found}")));
        }
        self.charge(0)
    }

    fn charge<E: Error>(self, bytes: usize) -> Result<(), E> {
        let rest = self
            .state
            .budget
            .get()
            .checked_sub(bytes + VALUE_OVERHEAD_BYTES);
        self.state.is_over_budget.set(rest.is_none());
        self.state.budget.set(
            rest.ok_or_else(|| E::custom("its aliases multiply the text beyond all measure"))?,
        );
        Ok(())
    }

    fn build_scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.charge(0)?;
        let value = value.into();
        self.state
            .has_numbers
            .set(self.state.has_numbers.get() || value.is_number());
        Ok(value)
    }

    /// A number that JSON does not have.
    fn build_unrepresentable_number<E: Error>(self, written: &str) -> Result<Value, E> {
        self.state.has_unrepresentable_number.set(true);
        self.build_text(written)
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
        self.build_scalar(Value::Null)
    }

    /// A text without any document is none.
    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.build_scalar(Value::Null)
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
        self.state.has_tags.set(true);
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
            let is_odd = !key.is_string() || key == "<<";
            self.state
                .has_non_text_key
                .set(self.state.has_non_text_key.get() || is_odd);
            let key = match key {
                Value::String(text) => text,
                scalar => scalar.to_string(),
            };
            let value = entries.next_value_seed(self.child(NodeRole::Value))?;
            if map.contains_key(&key) {
                let mut repeated = self.state.duplicate_keys.borrow_mut();
                // Nobody reads ten thousand of them, but one that decides something is always
                // noted.
                if self.depth > 0 && repeated.len() >= MAX_DUPLICATE_KEYS {
                    continue;
                }
                repeated.push(DuplicateKey {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_written_form() {
        let value = parse("a: 1.10\nb: 1.5\nc: [0x1F, 12, {d: 1e3}]\ne: '1.10'\nf: -0\n")
            .unwrap()
            .value;
        assert_eq!(
            value,
            serde_json::json!({"a": "1.10", "b": 1.5, "c": ["0x1F", 12, {"d": "1e3"}], "e": "1.10", "f": "-0"})
        );
    }
}
