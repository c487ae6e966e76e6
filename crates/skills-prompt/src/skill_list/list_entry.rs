//! One entry of the list, escaped and measured before it is written.

use std::borrow::Cow;

use super::entry_report::Inclusion;
use super::list_format::ListFormat;
use super::truncation::{Truncation, truncate_to_sentences};
use crate::SkillSummary;
use crate::budget::{CostMeter, TextSize};
use crate::sanitize::{escape, escape_path_marker, sanitize_line, without_separator};
use crate::skill_summary::ListingMode;

/// The maximum length of a description in a list, in characters (Codex and the specification).
const MAX_DESCRIPTION_CHARACTERS: usize = 1_024;

/// One entry of the list: its texts on one line each, and their sizes after escaping.
pub(crate) struct ListEntry<'a> {
    pub(crate) name: Cow<'a, str>,
    /// On one line, not escaped yet.
    pub(crate) description: Cow<'a, str>,
    pub(crate) location: Cow<'a, str>,
    pub(crate) mode: ListingMode,
    pub(crate) format: ListFormat,
    /// The number of characters of the description.
    pub(crate) shown_chars: usize,
    /// The number of characters before the description was truncated to the maximum.
    pub(crate) original_chars: usize,
    /// The size of the entry without its description.
    pub(crate) bare_size: TextSize,
    /// The size of the escaped name and of the fixed parts.
    name_size: TextSize,
    /// The size of the escaped description.
    description_size: TextSize,
    /// Whether the description is ASCII and needs no escaping, so that sizes need no loop.
    is_plain: bool,
}

/// An invisible character that was removed from an entry, which may have hidden text from readers.
///
/// A user should check the `SKILL.md` of that skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedCharacter {
    /// The name of the skill.
    pub skill: String,
    /// The field that contained it: `name`, `description` or `path`.
    pub field: &'static str,
    /// The first removed character of the field.
    pub code_point: char,
}

impl<'a> ListEntry<'a> {
    pub(crate) fn new(
        item: &'a SkillSummary<'_>,
        format: ListFormat,
        truncation: Truncation,
    ) -> (Self, Option<RemovedCharacter>) {
        let name = sanitize_line(&item.name);
        let description = sanitize_line(&item.description);
        let location = sanitize_line(&item.location);
        let removed = [
            ("name", name.removed),
            ("description", description.removed),
            ("path", location.removed),
        ];
        let escape_marker = |text| match format {
            ListFormat::Codex => escape_path_marker(text),
            _ => text,
        };
        let description = if item.mode == ListingMode::NameOnly {
            Cow::Borrowed("")
        } else {
            escape_marker(description.text)
        };
        let original_chars = TextSize::from_text(&description).characters;
        let description = if original_chars > MAX_DESCRIPTION_CHARACTERS {
            Cow::Owned(cap_description(&description, truncation))
        } else {
            description
        };
        let name = escape_marker(without_separator(name.text));
        let is_plain = format.is_plain(&description);
        let shown_chars = TextSize::from_text(&description).characters;
        let description_size = if is_plain {
            TextSize::ascii(shown_chars)
        } else {
            format.escaped_size(&description)
        };
        // The path is not put on one line here: `entry_path` keeps it exact where that is safe.
        let location = Cow::Borrowed(&*item.location);
        let name_size = format.template().size() + format.escaped_size(&name);
        let bare_size = name_size + path_size(&location, format);
        let removed = first_removed(&name, removed);
        let entry = Self {
            name,
            description,
            location,
            mode: item.mode,
            format,
            shown_chars,
            original_chars,
            bare_size,
            name_size,
            description_size,
            is_plain,
        };
        (entry, removed)
    }

    /// Returns the same entry with another path.
    pub(crate) fn with_location(&self, location: String) -> Self {
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            bare_size: self.name_size + path_size(&location, self.format),
            location: Cow::Owned(location),
            ..*self
        }
    }

    /// Returns the size of the entry with so many characters of its description.
    pub(crate) fn size(&self, characters: usize) -> TextSize {
        let separator = TextSize::ascii(self.format.template().description_prefix.len());
        match characters.min(self.shown_chars) {
            0 => self.bare_size,
            all if all == self.shown_chars => self.bare_size + self.description_size + separator,
            some => self.bare_size + self.prefix_size(some) + separator,
        }
    }

    /// Returns the size of so many characters of the description, escaped.
    fn prefix_size(&self, characters: usize) -> TextSize {
        // The planner calls this many times per entry; only unusual descriptions are walked.
        if self.is_plain {
            return TextSize::ascii(characters);
        }
        self.description
            .chars()
            .take(characters)
            .fold(TextSize::default(), |size, c| {
                size + self.format.escaped_char_size(c)
            })
    }

    /// Returns the cost of the entry with so many characters of its description.
    pub(crate) fn cost(&self, characters: usize, meter: &CostMeter<'_>) -> usize {
        match meter.tokenizer() {
            Some(_) => meter.entry_cost(&self.render(self.description_prefix(characters))),
            None => meter.budget.cost_of_size(self.size(characters)),
        }
    }

    /// Returns so many characters of the description, not escaped.
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

    /// Returns the entry with `description`, which is escaped here.
    pub(crate) fn render(&self, description: &str) -> String {
        let mut text = String::with_capacity(self.bare_size.bytes + description.len() + 1);
        self.write(description, &mut text);
        text
    }

    /// Appends the entry with `description`, which is escaped here.
    pub(crate) fn write(&self, description: &str, out: &mut String) {
        let template = self.format.template();
        out.push_str(template.name_prefix);
        out.push_str(&escape(&self.name, self.format.replacements()));
        out.push_str(template.name_suffix);
        if !description.is_empty() {
            out.push_str(template.description_prefix);
            out.push_str(&escape(description, self.format.replacements()));
        }
        out.push_str(template.path_prefix);
        out.push_str(&self.format.entry_path(&self.location));
        out.push_str(template.path_suffix);
    }

    /// Returns how much of the entry is shown for so many characters of its description; `None` is
    /// an omitted entry.
    pub(crate) fn inclusion(&self, shown: Option<usize>) -> Inclusion {
        match shown {
            None => Inclusion::Omitted,
            Some(0) => Inclusion::NameOnly,
            Some(characters) if characters >= self.original_chars => Inclusion::Full,
            Some(characters) => Inclusion::Truncated {
                shown_chars: characters,
                total_chars: self.original_chars,
            },
        }
    }
}

/// Returns the first invisible character that was removed from a field of the skill.
fn first_removed(
    skill: &str,
    fields: [(&'static str, Option<char>); 3],
) -> Option<RemovedCharacter> {
    fields.into_iter().find_map(|(field, removed)| {
        removed.map(|code_point| RemovedCharacter {
            skill: skill.to_owned(),
            field,
            code_point,
        })
    })
}

fn path_size(path: &str, format: ListFormat) -> TextSize {
    // Most paths need no escaping, so their size is known without building the text.
    let is_plain = path.bytes().fold(true, |plain, b| {
        plain & (0x20..0x7F).contains(&b) & !matches!(b, b'<' | b'>' | b'`' | b'(')
    });
    let backticks = if format == ListFormat::Markdown { 2 } else { 0 };
    if is_plain {
        TextSize::ascii(path.len() + backticks)
    } else {
        TextSize::from_text(&format.entry_path(path))
    }
}

/// Truncates a description that is longer than the specification allows.
fn cap_description(description: &str, truncation: Truncation) -> String {
    let prefix: String = description
        .chars()
        .take(MAX_DESCRIPTION_CHARACTERS - 3)
        .collect::<String>()
        + "...";
    match truncation {
        Truncation::Characters => prefix,
        Truncation::Sentences => truncate_to_sentences(description, &prefix, |text| {
            TextSize::from_text(text).characters <= MAX_DESCRIPTION_CHARACTERS
        }),
    }
}
