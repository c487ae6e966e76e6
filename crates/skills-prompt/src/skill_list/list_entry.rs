//! One entry of the list, before it is written.

use std::borrow::Cow;

use super::list_format::{ListFormat, escape_path_marker};
use super::truncation::{Truncation, truncate_to_sentences};
use crate::SkillSummary;
use crate::budget::{CostMeter, TextSize};
use crate::sanitize::sanitize_line;
use crate::skill_summary::ListingMode;

/// The longest description that a model is shown, in characters (Codex, and the specification).
const MAX_DESCRIPTION_CHARACTERS: usize = 1_024;

/// One entry of the list, before it is written.
pub(crate) struct ListEntry<'a> {
    pub(crate) name: Cow<'a, str>,
    /// On one line, nothing escaped yet.
    pub(crate) description: Cow<'a, str>,
    pub(crate) location: Cow<'a, str>,
    pub(crate) mode: ListingMode,
    pub(crate) format: ListFormat,
    /// Characters of the description.
    pub(crate) shown_chars: usize,
    /// Characters of the description as it is written; more than `length` when no model is shown so
    /// much.
    pub(crate) original_chars: usize,
    /// The entry without its description.
    pub(crate) bare_size: TextSize,
    /// The name, escaped, and what is fixed.
    name_size: TextSize,
    /// The description, escaped.
    description_size: TextSize,
    /// Whether each character of the description is one byte, which stands for itself.
    is_plain: bool,
}

impl<'a> ListEntry<'a> {
    pub(crate) fn new(
        item: &'a SkillSummary<'_>,
        format: ListFormat,
        shortening: Truncation,
    ) -> (Self, Option<RemovedInField>) {
        let (name, description, location) = (
            sanitize_line(&item.name),
            sanitize_line(&item.description),
            sanitize_line(&item.location),
        );
        let first = [
            ("name", name.removed),
            ("description", description.removed),
            ("path", location.removed),
        ];
        let hidden = first
            .into_iter()
            .find_map(|(field, c)| c.map(|code_point| RemovedInField { field, code_point }));
        let description = if item.mode == ListingMode::NameOnly {
            Cow::Borrowed("")
        } else {
            escape_marker_for(description.text, format)
        };
        let written = TextSize::from_text(&description).characters;
        let description = if written > MAX_DESCRIPTION_CHARACTERS {
            Cow::Owned(cap_description(&description, shortening))
        } else {
            description
        };
        // A name with `: ` in it would be read as another name and the start of its description.
        let name = if name.text.contains(": ") {
            Cow::Owned(name.text.replace(": ", ":"))
        } else {
            name.text
        };
        let name = escape_marker_for(name, format);
        let is_plain = format.is_plain(&description);
        let described = format.escaped_size(&description);
        let length = if is_plain {
            description.len()
        } else {
            TextSize::from_text(&description).characters
        };
        let location = Cow::Borrowed(&*item.location);
        let named = format.template().size() + format.escaped_size(&name);
        let bare = named + path_size(&location, format);
        (
            Self {
                name,
                description,
                location,
                mode: item.mode,
                format,
                shown_chars: length,
                original_chars: written,
                bare_size: bare,
                name_size: named,
                description_size: described,
                is_plain,
            },
            hidden,
        )
    }

    /// The same entry with another path, which is shown as it is.
    pub(crate) fn with_location(&self, location: String) -> Self {
        let bare = self.name_size + path_size(&location, self.format);
        let (name, description) = (self.name.clone(), self.description.clone());
        Self {
            name,
            description,
            location: Cow::Owned(location),
            bare_size: bare,
            ..*self
        }
    }

    /// The size of the entry with the first characters of its description.
    pub(crate) fn size(&self, characters: usize) -> TextSize {
        let separator = self.format.template().description_prefix.len();
        match characters.min(self.shown_chars) {
            0 => self.bare_size,
            all if all == self.shown_chars => {
                self.bare_size
                    + self.description_size
                    + TextSize {
                        bytes: separator,
                        characters: separator,
                    }
            }
            some => {
                self.bare_size
                    + self.prefix_size(some)
                    + TextSize {
                        bytes: separator,
                        characters: separator,
                    }
            }
        }
    }

    fn prefix_size(&self, characters: usize) -> TextSize {
        if self.is_plain {
            return TextSize {
                bytes: characters,
                characters,
            };
        }
        self.description
            .chars()
            .take(characters)
            .fold(TextSize::default(), |size, c| {
                size + self.format.escaped_char_size(c)
            })
    }

    pub(crate) fn cost(&self, characters: usize, meter: &CostMeter<'_>) -> usize {
        match meter.tokenizer() {
            Some(_) => meter.entry_cost(&self.render(self.description_prefix(characters))),
            None => meter.budget.cost_of_size(self.size(characters)),
        }
    }

    /// The first characters of the description.
    pub(crate) fn description_prefix(&self, characters: usize) -> &str {
        if characters >= self.shown_chars {
            return &self.description;
        }
        let end = if self.is_plain {
            Some(characters)
        } else {
            self.description
                .char_indices()
                .nth(characters)
                .map(|(index, _)| index)
        };
        &self.description[..end.unwrap_or(self.description.len())]
    }

    /// The entry with `description`, which is escaped.
    pub(crate) fn render(&self, description: &str) -> String {
        let mut text = String::with_capacity(self.bare_size.bytes + description.len() + 1);
        self.write(description, &mut text);
        text
    }

    /// Writes the entry behind what is there.
    pub(crate) fn write(&self, description: &str, out: &mut String) {
        let frame = self.format.template();
        let escape = |text: &str, out: &mut String| {
            if self.format.is_plain(text) {
                out.push_str(text)
            } else {
                out.push_str(&self.format.escape(text))
            }
        };
        out.push_str(frame.name_prefix);
        escape(&self.name, out);
        out.push_str(frame.name_suffix);
        if !description.is_empty() {
            out.push_str(frame.description_prefix);
            escape(description, out);
        }
        out.push_str(frame.path_prefix);
        out.push_str(&self.format.entry_path(&self.location));
        out.push_str(frame.path_suffix);
    }
}

/// An invisible character that was taken out of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RemovedInField {
    pub(crate) field: &'static str,
    pub(crate) code_point: char,
}

fn path_size(path: &str, format: ListFormat) -> TextSize {
    let is_plain = path.bytes().fold(true, |plain, b| {
        plain & (0x20..0x7F).contains(&b) & !matches!(b, b'<' | b'>' | b'`' | b'(')
    });
    let marks = if format == ListFormat::Markdown { 2 } else { 0 };
    if is_plain {
        TextSize {
            bytes: path.len() + marks,
            characters: path.len() + marks,
        }
    } else {
        TextSize::from_text(&format.entry_path(path))
    }
}

/// In Codex's form the words that lead to our path are ours.
fn escape_marker_for(text: Cow<'_, str>, format: ListFormat) -> Cow<'_, str> {
    match &text {
        _ if format != ListFormat::Codex || !text.contains('(') => text,
        Cow::Borrowed(borrowed) => escape_path_marker(borrowed),
        Cow::Owned(owned) => Cow::Owned(escape_path_marker(owned).into_owned()),
    }
}

/// Cuts what is longer than any description may be.
fn cap_description(description: &str, shortening: Truncation) -> String {
    let start: String = description
        .chars()
        .take(MAX_DESCRIPTION_CHARACTERS - 3)
        .collect::<String>()
        + "...";
    match shortening {
        Truncation::Characters => start,
        Truncation::Sentences => truncate_to_sentences(description, &start, |text| {
            TextSize::from_text(text).characters <= MAX_DESCRIPTION_CHARACTERS
        }),
    }
}
