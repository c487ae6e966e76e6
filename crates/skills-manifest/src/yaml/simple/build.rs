//! Builds the mapping.

use serde_json::{Map, Value};

use super::{Nest, Scalar, Sink, read};

/// Reads `yaml`, or gives up.
pub(crate) fn mapping(yaml: &str) -> Option<Map<String, Value>> {
    let mut builder = Builder { map: Map::with_capacity(8), key: String::new() };
    read(yaml, &mut builder)?;
    Some(builder.map)
}

struct Builder {
    map: Map<String, Value>,
    key: String,
}

impl Builder {
    /// The value of the key as far as it is there.
    fn value(&mut self) -> &mut Value {
        self.map.entry(self.key.as_str()).or_insert(Value::Null)
    }

    /// The text of a block scalar as far as it is there.
    fn push(&mut self, add: impl FnOnce(&mut String)) {
        let value = self.value();
        if value.is_null() {
            *value = Value::String(String::new());
        }
        if let Value::String(text) = value {
            add(text);
        }
    }
}

impl<'a> Sink<'a> for Builder {
    fn key(&mut self, key: &'a str) -> Option<()> {
        self.key.clear();
        self.key.push_str(key);
        (!self.map.contains_key(key)).then_some(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()> {
        *self.value() = scalar.into();
        Some(())
    }

    fn block(&mut self, piece: &'a str) -> Option<()> {
        self.push(|text| text.push_str(piece));
        Some(())
    }

    fn breaks(&mut self, count: usize) {
        self.push(|text| text.extend(std::iter::repeat_n('\n', count)));
    }

    fn nest(&mut self, nest: Nest) -> Option<()> {
        *self.value() = if nest == Nest::List { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        Some(())
    }

    fn nested_entry(&mut self, key: &'a str, scalar: Scalar<'a>) -> Option<()> {
        let map = self.value().as_object_mut()?;
        if map.contains_key(key) {
            return None;
        }
        map.insert(key.to_owned(), scalar.into());
        Some(())
    }

    fn item(&mut self, scalar: Scalar<'a>) {
        if let Value::Array(items) = self.value() {
            items.push(scalar.into());
        }
    }
}

impl From<Scalar<'_>> for Value {
    fn from(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Text(text) => Self::String(text.to_owned()),
            Scalar::Bool(flag) => Self::Bool(flag),
            Scalar::Number(number) => Self::from(number),
            Scalar::Null => Self::Null,
        }
    }
}
