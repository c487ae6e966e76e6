//! Builds a mapping from the events of the fast parser.

use serde_json::{Map, Number, Value};

use super::event::{EventSink, NestedKind, Scalar};
use super::parser::parse_into;

/// Parses `yaml`; `None` if only the YAML library can.
pub(super) fn parse_mapping(yaml: &str) -> Option<Map<String, Value>> {
    let mut builder = MapBuilder {
        // Enough for nearly all skills, so that the map is allocated once.
        root: MapFrame {
            map: Map::with_capacity(8),
            key: String::new(),
        },
        nested: Vec::new(),
        text: String::new(),
    };
    parse_into(yaml, &mut builder)?;
    Some(builder.root.map)
}

struct MapBuilder {
    root: MapFrame,
    /// The collections that are open, the innermost last.
    nested: Vec<Frame>,
    /// The pieces of the current text.
    text: String,
}

struct MapFrame {
    map: Map<String, Value>,
    /// The key of the value that follows.
    key: String,
}

enum Frame {
    Mapping(MapFrame),
    List(Vec<Value>),
}

impl MapBuilder {
    fn push(&mut self, value: Value) {
        match self.nested.last_mut() {
            Some(Frame::List(items)) => items.push(value),
            Some(Frame::Mapping(frame)) => frame.insert(value),
            None => self.root.insert(value),
        }
    }
}

impl MapFrame {
    fn insert(&mut self, value: Value) {
        self.map.insert(std::mem::take(&mut self.key), value);
    }
}

impl<'a> EventSink<'a> for MapBuilder {
    fn key(&mut self, key: &'a str) -> Option<()> {
        let frame = match self.nested.last_mut() {
            Some(Frame::Mapping(frame)) => frame,
            Some(Frame::List(_)) => return None,
            None => &mut self.root,
        };
        // The library reports duplicate keys.
        if frame.map.contains_key(key) {
            return None;
        }
        frame.key.push_str(key);
        Some(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()> {
        self.push(scalar.into());
        Some(())
    }

    fn text_piece(&mut self, piece: &'a str) -> Option<()> {
        self.text.push_str(piece);
        Some(())
    }

    fn line_breaks(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n('\n', count));
    }

    fn end_text(&mut self) -> Option<()> {
        let text = std::mem::take(&mut self.text);
        self.push(Value::String(text));
        Some(())
    }

    fn begin_nested(&mut self, kind: NestedKind) -> Option<()> {
        self.nested.push(match kind {
            NestedKind::List => Frame::List(Vec::new()),
            NestedKind::Mapping => Frame::Mapping(MapFrame {
                map: Map::new(),
                key: String::new(),
            }),
        });
        Some(())
    }

    fn end_nested(&mut self) -> Option<()> {
        let value = match self.nested.pop()? {
            Frame::List(items) => Value::Array(items),
            Frame::Mapping(frame) => Value::Object(frame.map),
        };
        self.push(value);
        Some(())
    }
}

impl From<Scalar<'_>> for Value {
    fn from(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Text(text) => Self::String(text.to_owned()),
            Scalar::Bool(flag) => Self::Bool(flag),
            Scalar::Number(number) => Self::from(number),
            // A number stays one only if JSON writes it in the same way: `1.10` is a version.
            Scalar::Decimal(text) => text
                .parse()
                .ok()
                .and_then(Number::from_f64)
                .filter(|number| number.to_string() == text)
                .map_or_else(|| Self::String(text.to_owned()), Self::Number),
            Scalar::Null => Self::Null,
        }
    }
}
