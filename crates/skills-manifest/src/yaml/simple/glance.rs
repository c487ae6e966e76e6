//! Looks for the name and makes sure of the rest, without keeping anything.

use super::{Nest, Scalar, Sink, read};
use crate::fields::is_visible;

/// The most keys that a glance remembers.
const MAX_KEYS: usize = 24;

/// Returns `name` as it stands there, when the text is certainly a readable manifest; nothing when only a full reading can tell.
#[expect(clippy::option_option, reason = "a manifest without a name is none the less one")]
pub(crate) fn glance(yaml: &str) -> Option<Option<&str>> {
    let mut glance = Glance { keys: [""; MAX_KEYS], count: 0, field: Field::Other, name: None, described: false };
    read(yaml, &mut glance)?;
    glance.described.then_some(glance.name)
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Name,
    Description,
    Other,
}

struct Glance<'a> {
    /// The keys so far, to find repeated ones.
    keys: [&'a str; MAX_KEYS],
    count: usize,
    field: Field,
    name: Option<&'a str>,
    described: bool,
}

impl<'a> Sink<'a> for Glance<'a> {
    fn key(&mut self, key: &'a str) -> Option<()> {
        // Odd spellings are the full reading's business.
        let is_odd = key.bytes().any(|b| b.is_ascii_uppercase() || b == b'_') && key != "when_to_use";
        if is_odd || self.keys.get(..self.count)?.contains(&key) {
            return None;
        }
        *self.keys.get_mut(self.count)? = key;
        self.count += 1;
        self.field = match key {
            "name" => Field::Name,
            "description" => Field::Description,
            _ => Field::Other,
        };
        Some(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()> {
        match (self.field, scalar) {
            (Field::Other, _) | (Field::Name, Scalar::Null) => {}
            (Field::Name, Scalar::Text(text)) => self.name = Some(text),
            (Field::Description, Scalar::Text(text)) => self.described = is_visible(text),
            _ => return None,
        }
        Some(())
    }

    fn block(&mut self, piece: &'a str) -> Option<()> {
        self.described |= self.field == Field::Description && is_visible(piece);
        (self.field != Field::Name).then_some(())
    }

    fn breaks(&mut self, _count: usize) {}

    fn nest(&mut self, _nest: Nest) -> Option<()> {
        (self.field == Field::Other).then_some(())
    }

    fn nested_entry(&mut self, _key: &'a str, _scalar: Scalar<'a>) -> Option<()> {
        Some(())
    }

    fn item(&mut self, _scalar: Scalar<'a>) {}
}
