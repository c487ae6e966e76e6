//! The only module that knows the YAML library; a successor replaces this file.
//!
//! The library bounds nesting (128 levels) and the number of aliases it follows, but neither the text that aliases multiply nor the time
//! that unclosed brackets take. Both are bounded here.

mod emit;
mod simple;
mod written;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::MAX_FRONTMATTER_BYTES;
pub(crate) use emit::{Field, write};
pub(crate) use simple::{glance, mapping as simple};

/// The most brackets that may be open at once, quoted ones included.
const MAX_OPEN_BRACKETS: usize = 500;
/// The most opening brackets in all: closing ones in quotes close nothing, and telling them apart takes a parser.
const MAX_BRACKETS: usize = 2_000;
/// How much text the values may hold once aliases are followed, each value counting some bytes on top.
const BUDGET_BYTES: usize = 4 * MAX_FRONTMATTER_BYTES;
const VALUE_BYTES: usize = 8;
/// The most repeated keys of inner mappings that are noted.
const MAX_REPEATED: usize = 50;

/// What a text of YAML holds.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) value: Value,
    /// The keys that stand twice in one mapping; the first of each was kept.
    pub(crate) repeated: Vec<Repeated>,
    /// Whether a value had a tag, which was dropped.
    pub(crate) tagged: bool,
}

/// What a text of YAML holds, and what of it JSON cannot say or readers take differently.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) value: Value,
    /// The first key that stands twice in one mapping.
    pub(crate) repeated: Option<String>,
    /// Whether a value had a tag.
    pub(crate) tagged: bool,
    /// Whether a key was a scalar but no text, or `<<`.
    pub(crate) odd_key: bool,
    /// Whether a number was infinite, none, or longer than 64 bits.
    pub(crate) odd_number: bool,
}

/// A key that stands twice in one mapping.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) key: String,
    pub(crate) is_top_level: bool,
}

/// Why a text is no YAML that is read; lines and columns count from 1.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It breaks the grammar.
    Syntax { message: String, line: usize, column: usize },
    /// A key of a mapping is itself a mapping or a list.
    Key { found: &'static str, line: usize, column: usize },
    /// Nesting, brackets or aliases are beyond all measure.
    Budget { message: String, line: usize },
}

/// Reads one document.
///
/// Tags are dropped and never acted on, merge keys are ordinary keys; numbers, truth values and `null` as keys are written as text, and
/// keys that are mappings or lists are refused. A number is a number only when JSON writes it the same way: `1.10`, `0x1F` and `1e3` are
/// text.
pub(crate) fn read(yaml: &str) -> Result<Read, Failure> {
    let (mut value, state) = build(yaml)?;
    let repeated = state.repeated.into_inner();
    // With a key left out, the second reading would not stand beside the first.
    if state.numbers.get() && repeated.is_empty() {
        written::restore(yaml, &mut value);
    }
    Ok(Read { value, repeated, tagged: state.tagged.get() })
}

/// Reads one document as YAML has it, numbers among them: `1.10` is 1.1, `0x1F` is 31.
pub(crate) fn exact(yaml: &str) -> Result<Exact, Failure> {
    let (value, state) = build(yaml)?;
    let repeated = state.repeated.into_inner().into_iter().next().map(|repeated| repeated.key);
    Ok(Exact { value, repeated, tagged: state.tagged.get(), odd_key: state.odd_key.get(), odd_number: state.odd_number.get() })
}

fn build(yaml: &str) -> Result<(Value, State), Failure> {
    if let Some(line) = too_many_brackets(yaml) {
        return Err(Failure::Budget {
            message: format!("more than {MAX_OPEN_BRACKETS} open brackets, or {MAX_BRACKETS} in all"),
            line: line + 1,
        });
    }
    let state = State::default();
    let result = Json { state: &state, depth: 0, part: Part::Value }.deserialize(serde_yaml::Deserializer::from_str(yaml));
    let value = result.map_err(|error| describe(&error, &state))?;
    Ok((value, state))
}

/// Takes the library's own position out of its message.
fn describe(error: &serde_yaml::Error, state: &State) -> Failure {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
    if let Some(found) = state.refused_key.get() {
        return Failure::Key { found, line, column };
    }
    let message = without_places(&error.to_string());
    if state.overspent.get() || message.contains("recursion limit") || message.contains("repetition limit") {
        Failure::Budget { message, line }
    } else {
        Failure::Syntax { message, line, column }
    }
}

/// Finds the line, counted from 0, on which too many brackets are open: the library's time grows with the square of them.
fn too_many_brackets(yaml: &str) -> Option<usize> {
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

/// Takes ` at line 2 column 7` out of a message: it counts from the fence, and the place is told beside it.
fn without_places(message: &str) -> String {
    let mut parts = message.split(" at line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = &part[part.len() - digits(part)..];
        let rest = rest.strip_prefix(" column ").map_or(rest, |column| &column[column.len() - digits(column)..]);
        out.push_str(rest);
    }
    out
}

/// What is known while values are built.
struct State {
    budget: Cell<usize>,
    overspent: Cell<bool>,
    numbers: Cell<bool>,
    tagged: Cell<bool>,
    odd_key: Cell<bool>,
    refused_key: Cell<Option<&'static str>>,
    odd_number: Cell<bool>,
    repeated: RefCell<Vec<Repeated>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            budget: Cell::new(BUDGET_BYTES),
            overspent: Cell::new(false),
            numbers: Cell::new(false),
            tagged: Cell::new(false),
            odd_key: Cell::new(false),
            refused_key: Cell::new(None),
            odd_number: Cell::new(false),
            repeated: RefCell::default(),
        }
    }
}

/// Builds a JSON value while the budget lasts.
#[derive(Clone, Copy)]
struct Json<'a> {
    state: &'a State,
    depth: usize,
    part: Part,
}

/// The part of a mapping that is built; whatever is in no mapping is a value.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Key,
    Value,
}

impl Json<'_> {
    fn inner(self, part: Part) -> Self {
        Self { depth: self.depth + 1, part, ..self }
    }

    /// Begins a mapping or a list, which only a value may be.
    ///
    /// As a key it would have to be written as text, and the text of a key within a key is quoted once more: its length doubles with
    /// each level, and 40 levels take 100 bytes of YAML.
    fn collection<E: Error>(self, found: &'static str) -> Result<(), E> {
        if self.part == Part::Key {
            self.state.refused_key.set(Some(found));
            return Err(E::custom(format_args!("a key is {found}")));
        }
        self.spend(0)
    }

    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let rest = self.state.budget.get().checked_sub(bytes + VALUE_BYTES);
        self.state.overspent.set(rest.is_none());
        self.state.budget.set(rest.ok_or_else(|| E::custom("its aliases multiply the text beyond all measure"))?);
        Ok(())
    }

    fn scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.spend(0)?;
        let value = value.into();
        self.state.numbers.set(self.state.numbers.get() || value.is_number());
        Ok(value)
    }

    /// A number that JSON does not have.
    fn odd_number<E: Error>(self, written: &str) -> Result<Value, E> {
        self.state.odd_number.set(true);
        self.text(written)
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

    /// A text without any document is none.
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
        self.odd_number(&number.to_string())
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        self.odd_number(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        match Number::from_f64(number) {
            Some(number) => self.scalar(number),
            None => self.odd_number(&number.to_string()),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.text(text)
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        use serde::de::VariantAccess;
        self.state.tagged.set(true);
        let (_tag, value) = tagged.variant::<String>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.collection("a list")?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner(Part::Value))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.collection("a mapping")?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self.inner(Part::Key))? {
            let is_odd = !key.is_string() || key == "<<";
            self.state.odd_key.set(self.state.odd_key.get() || is_odd);
            let key = match key {
                Value::String(text) => text,
                scalar => scalar.to_string(),
            };
            let value = entries.next_value_seed(self.inner(Part::Value))?;
            if map.contains_key(&key) {
                let mut repeated = self.state.repeated.borrow_mut();
                // Nobody reads ten thousand of them, but one that decides something is always noted.
                if self.depth > 0 && repeated.len() >= MAX_REPEATED {
                    continue;
                }
                repeated.push(Repeated { key, is_top_level: self.depth == 0 });
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
        let value = read("a: 1.10\nb: 1.5\nc: [0x1F, 12, {d: 1e3}]\ne: '1.10'\nf: -0\n").unwrap().value;
        assert_eq!(value, serde_json::json!({"a": "1.10", "b": 1.5, "c": ["0x1F", 12, {"d": "1e3"}], "e": "1.10", "f": "-0"}));
    }
}
