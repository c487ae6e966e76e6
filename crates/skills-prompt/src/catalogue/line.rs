//! One entry of the list, before it is written.

use std::borrow::Cow;

use super::format::{Format, without_lead};
use super::shorten::{Shortening, sentences};
use crate::Item;
use crate::budget::{Meter, Size};
use crate::escape::clean;
use crate::item::Mode;

/// The longest description that a model is shown, in characters (Codex, and the specification).
const MAX_DESCRIPTION: usize = 1_024;

/// One entry of the list, before it is written.
pub(crate) struct Line<'a> {
    pub(crate) name: Cow<'a, str>,
    /// On one line, nothing escaped yet.
    pub(crate) description: Cow<'a, str>,
    pub(crate) location: Cow<'a, str>,
    pub(crate) mode: Mode,
    pub(crate) format: Format,
    /// Characters of the description.
    pub(crate) length: usize,
    /// Characters of the description as it is written; more than `length` when no model is shown so much.
    pub(crate) written: usize,
    /// The entry without its description.
    pub(crate) bare: Size,
    /// The name, escaped, and what is fixed.
    named: Size,
    /// The description, escaped.
    described: Size,
    /// Whether each character of the description is one byte, which stands for itself.
    is_plain: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn new(item: &'a Item<'_>, format: Format, shortening: Shortening) -> (Self, Option<Hidden>) {
        let (name, description, location) = (clean(&item.name), clean(&item.description), clean(&item.location));
        let first = [("name", name.hidden), ("description", description.hidden), ("path", location.hidden)];
        let hidden = first.into_iter().find_map(|(field, c)| c.map(|code_point| Hidden { field, code_point }));
        let description = if item.mode == Mode::NameOnly { Cow::Borrowed("") } else { led(description.text, format) };
        let written = Size::of(&description).characters;
        let description = if written > MAX_DESCRIPTION { Cow::Owned(capped(&description, shortening)) } else { description };
        // A name with `: ` in it would be read as another name and the start of its description.
        let name = if name.text.contains(": ") { Cow::Owned(name.text.replace(": ", ":")) } else { name.text };
        let name = led(name, format);
        let is_plain = format.is_plain(&description);
        let described = format.size(&description);
        let length = if is_plain { description.len() } else { Size::of(&description).characters };
        let location = Cow::Borrowed(&*item.location);
        let named = format.frame().size() + format.size(&name);
        let bare = named + size_of_path(&location, format);
        (Self { name, description, location, mode: item.mode, format, length, written, bare, named, described, is_plain }, hidden)
    }

    /// The same entry with another path, which is shown as it is.
    pub(crate) fn at(&self, location: String) -> Self {
        let bare = self.named + size_of_path(&location, self.format);
        let (name, description) = (self.name.clone(), self.description.clone());
        Self { name, description, location: Cow::Owned(location), bare, ..*self }
    }

    /// The size of the entry with the first characters of its description.
    pub(crate) fn size(&self, characters: usize) -> Size {
        let separator = self.format.frame().separator.len();
        match characters.min(self.length) {
            0 => self.bare,
            all if all == self.length => self.bare + self.described + Size { bytes: separator, characters: separator },
            some => self.bare + self.size_of_start(some) + Size { bytes: separator, characters: separator },
        }
    }

    fn size_of_start(&self, characters: usize) -> Size {
        if self.is_plain {
            return Size { bytes: characters, characters };
        }
        self.description.chars().take(characters).fold(Size::default(), |size, c| size + self.format.size_of(c))
    }

    pub(crate) fn cost(&self, characters: usize, meter: &Meter<'_>) -> usize {
        match meter.tokenizer() {
            Some(_) => meter.entry(&self.text(self.start(characters))),
            None => meter.budget.cost_of(self.size(characters)),
        }
    }

    /// The first characters of the description.
    pub(crate) fn start(&self, characters: usize) -> &str {
        if characters >= self.length {
            return &self.description;
        }
        let end = if self.is_plain { Some(characters) } else { self.description.char_indices().nth(characters).map(|(index, _)| index) };
        &self.description[..end.unwrap_or(self.description.len())]
    }

    /// The entry with `description`, which is escaped.
    pub(crate) fn text(&self, description: &str) -> String {
        let mut text = String::with_capacity(self.bare.bytes + description.len() + 1);
        self.write(description, &mut text);
        text
    }

    /// Writes the entry behind what is there.
    pub(crate) fn write(&self, description: &str, out: &mut String) {
        let frame = self.format.frame();
        let escape = |text: &str, out: &mut String| {
            if self.format.is_plain(text) { out.push_str(text) } else { out.push_str(&self.format.escape(text)) }
        };
        out.push_str(frame.before);
        escape(&self.name, out);
        out.push_str(frame.named);
        if !description.is_empty() {
            out.push_str(frame.separator);
            escape(description, out);
        }
        out.push_str(frame.described);
        out.push_str(&self.format.path(&self.location));
        out.push_str(frame.after);
    }
}

/// An invisible character that was taken out of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) field: &'static str,
    pub(crate) code_point: char,
}

fn size_of_path(path: &str, format: Format) -> Size {
    let is_plain = path.bytes().fold(true, |plain, b| plain & (0x20..0x7F).contains(&b) & !matches!(b, b'<' | b'>' | b'`' | b'('));
    let marks = if format == Format::Markdown { 2 } else { 0 };
    if is_plain { Size { bytes: path.len() + marks, characters: path.len() + marks } } else { Size::of(&format.path(path)) }
}

/// In Codex's form the words that lead to our path are ours.
fn led(text: Cow<'_, str>, format: Format) -> Cow<'_, str> {
    match &text {
        _ if format != Format::Codex || !text.contains('(') => text,
        Cow::Borrowed(borrowed) => without_lead(borrowed),
        Cow::Owned(owned) => Cow::Owned(without_lead(owned).into_owned()),
    }
}

/// Cuts what is longer than any description may be.
fn capped(description: &str, shortening: Shortening) -> String {
    let start: String = description.chars().take(MAX_DESCRIPTION - 3).collect::<String>() + "...";
    match shortening {
        Shortening::Characters => start,
        Shortening::Sentences => sentences(description, &start, |text| Size::of(text).characters <= MAX_DESCRIPTION),
    }
}
