//! Restores the text of numbers that JSON would write differently, such as `1.10`.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Replaces numbers in `value` with their text in `yaml` where JSON would write them differently.
///
/// `value` is the result of parsing `yaml`, which is parsed again in parallel with it.
pub(super) fn restore_number_text(yaml: &str, value: &mut Value) {
    // An error is harmless: `value` is complete already, and in a form that this pass does not
    // support, such as a tag, the remaining numbers stay numbers.
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
        f.write_str("the value of the first pass")
    }

    fn visit_str<E: Error>(self, raw: &str) -> Result<(), E> {
        let as_json = self.0.to_string();
        if as_json != raw {
            *self.0 = Value::String(raw.to_owned());
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
            // The library panics if a value is requested after the last key.
            if entries.next_key::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
            entries.next_value_seed(NumberRestorer(value))?;
        }
        // The library requires that a mapping is read to its end.
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
