//! Gives numbers their written form back where it would be lost.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Reads `yaml` once more beside `value`, which was read from it, and turns numbers that JSON would
/// write differently into text.
pub(super) fn restore_number_text(yaml: &str, value: &mut Value) {
    // What was read before is good; a form that this reading does not know (a tag, a repeated key)
    // keeps its numbers.
    let _ = NumberRestorer(value).deserialize(serde_yaml::Deserializer::from_str(yaml));
}

struct NumberRestorer<'a>(&'a mut Value);

impl<'de> DeserializeSeed<'de> for NumberRestorer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            Value::Number(_) => deserializer.deserialize_str(self),
            Value::Array(_) => deserializer.deserialize_seq(self),
            Value::Object(_) => deserializer.deserialize_map(self),
            _ => deserializer.deserialize_ignored_any(IgnoredAny).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for NumberRestorer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was read before")
    }

    fn visit_str<E: Error>(self, written: &str) -> Result<(), E> {
        let as_json = self.0.to_string();
        if as_json != written {
            *self.0 = Value::String(written.to_owned());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Value::Array(values) = self.0 else {
            return Err(A::Error::custom("not a list"));
        };
        for value in values {
            items.next_element_seed(NumberRestorer(value))?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Value::Object(values) = self.0 else {
            return Err(A::Error::custom("not a mapping"));
        };
        for (_, value) in values {
            // A value without a key makes the library panic.
            if entries.next_key::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
            entries.next_value_seed(NumberRestorer(value))?;
        }
        // What is left over are keys that stand twice.
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
