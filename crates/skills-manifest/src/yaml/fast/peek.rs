//! Finds the name and validates the rest, without building values.

use super::event::{EventSink, NestedKind, Scalar};
use super::parser::parse_into;
use crate::field_names::{REQUIRED_FIELDS, is_spelling_of};
use crate::invisible::has_visible_text;

/// Maximum number of top-level keys; frontmatter with more is left to the full parser.
///
/// The keys are in an array and compared one by one, which is faster than a set for so few.
const MAX_KEYS: usize = 24;

/// Returns `name` as written if the text is certainly a valid manifest; `None` if only the full
/// parser can decide.
#[expect(
    clippy::option_option,
    reason = "a valid manifest without a name differs from an undecided one"
)]
pub(super) fn peek_name(yaml: &str) -> Option<Option<&str>> {
    let mut peeker = NamePeeker {
        keys: [""; MAX_KEYS],
        count: 0,
        field: FieldKind::Other,
        depth: 0,
        name: None,
        has_description: false,
    };
    parse_into(yaml, &mut peeker)?;
    peeker.has_description.then_some(peeker.name)
}

#[derive(Clone, Copy, PartialEq)]
enum FieldKind {
    Name,
    Description,
    Other,
}

struct NamePeeker<'a> {
    /// The first `count` are the keys so far, to find duplicates.
    keys: [&'a str; MAX_KEYS],
    count: usize,
    field: FieldKind,
    /// The number of open collections.
    depth: usize,
    name: Option<&'a str>,
    has_description: bool,
}

impl<'a> EventSink<'a> for NamePeeker<'a> {
    fn key(&mut self, key: &'a str) -> Option<()> {
        if self.depth > 0 {
            return Some(());
        }
        // Only the full parser resolves other spellings of these two.
        let is_other_spelling = REQUIRED_FIELDS
            .iter()
            .any(|field| key != *field && is_spelling_of(key, field));
        if is_other_spelling || self.keys.get(..self.count)?.contains(&key) {
            return None;
        }
        // More keys than the array has slots: the full parser decides.
        *self.keys.get_mut(self.count)? = key;
        self.count += 1;
        self.field = match key {
            "name" => FieldKind::Name,
            "description" => FieldKind::Description,
            _ => FieldKind::Other,
        };
        Some(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()> {
        if self.depth > 0 {
            return Some(());
        }
        match (self.field, scalar) {
            (FieldKind::Other, _) | (FieldKind::Name, Scalar::Null) => {}
            (FieldKind::Name, Scalar::Text(text)) => self.name = Some(text),
            (FieldKind::Description, Scalar::Text(text)) => {
                self.has_description = has_visible_text(text)
            }
            // Other types are converted with a warning, or are an error.
            _ => return None,
        }
        Some(())
    }

    fn text_piece(&mut self, piece: &'a str) -> Option<()> {
        self.has_description |= self.field == FieldKind::Description && has_visible_text(piece);
        // A name in several pieces is rare; the full parser joins them.
        (self.field != FieldKind::Name).then_some(())
    }

    fn line_breaks(&mut self, _count: usize) {}

    fn end_text(&mut self) -> Option<()> {
        Some(())
    }

    fn begin_nested(&mut self, _kind: NestedKind) -> Option<()> {
        self.depth += 1;
        (self.field == FieldKind::Other).then_some(())
    }

    fn end_nested(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        Some(())
    }
}
