//! Builds a mapping from the events of the fast parser.

use serde_json::{Map, Value};

use super::parser::{EventSink, NestedKind, Scalar, parse_into};

/// Parses `yaml`; `None` if only the YAML library can.
pub(crate) fn parse_mapping(yaml: &str) -> Option<Map<String, Value>> {
    let mut builder = MapBuilder {
        // Enough for nearly all skills, so that the map is allocated once.
        map: Map::with_capacity(8),
        key: String::new(),
    };
    parse_into(yaml, &mut builder)?;
    Some(builder.map)
}

struct MapBuilder {
    map: Map<String, Value>,
    key: String,
}

impl MapBuilder {
    /// Returns the value of the current key, null before its first event.
    fn current_value(&mut self) -> &mut Value {
        self.map.entry(self.key.as_str()).or_insert(Value::Null)
    }

    /// Appends to the block scalar of the current key, which becomes text with the first call.
    fn append_text(&mut self, add: impl FnOnce(&mut String)) {
        let value = self.current_value();
        if value.is_null() {
            *value = Value::String(String::new());
        }
        if let Value::String(text) = value {
            add(text);
        }
    }
}

impl<'a> EventSink<'a> for MapBuilder {
    fn key(&mut self, key: &'a str) -> Option<()> {
        self.key.clear();
        self.key.push_str(key);
        // The library reports duplicate keys.
        (!self.map.contains_key(key)).then_some(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()> {
        *self.current_value() = scalar.into();
        Some(())
    }

    fn block_text(&mut self, piece: &'a str) -> Option<()> {
        self.append_text(|text| text.push_str(piece));
        Some(())
    }

    fn line_breaks(&mut self, count: usize) {
        self.append_text(|text| text.extend(std::iter::repeat_n('\n', count)));
    }

    fn begin_nested(&mut self, kind: NestedKind) -> Option<()> {
        *self.current_value() = if kind == NestedKind::List {
            Value::Array(Vec::new())
        } else {
            Value::Object(Map::new())
        };
        Some(())
    }

    fn nested_entry(&mut self, key: &'a str, scalar: Scalar<'a>) -> Option<()> {
        let map = self.current_value().as_object_mut()?;
        if map.contains_key(key) {
            return None;
        }
        map.insert(key.to_owned(), scalar.into());
        Some(())
    }

    fn list_item(&mut self, scalar: Scalar<'a>) {
        if let Value::Array(items) = self.current_value() {
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
