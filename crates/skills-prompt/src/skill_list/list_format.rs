//! The formats of a skill list, and what each of them escapes.

use crate::budget::TextSize;
use crate::sanitize::{self, Replacements, escape_path, escape_path_marker, inline_code};

/// The format of a skill list.
///
/// The formats differ in their escaping, so that no name, description or path can forge an entry or
/// a tag. Budgets apply to the escaped text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListFormat {
    /// The section of Codex: `- name: description (file: path)` below headings, followed by usage
    /// instructions.
    #[default]
    Codex,
    /// The format of skills-ref: each tag and each text on its own line. In contrast to skills-ref,
    /// a description is one line, and `<` and `>` are escaped in paths.
    Xml,
    /// The same elements, one line each, as in the guide for clients.
    XmlCompact,
    /// A Markdown list: ``- **name**: description (`path`)``.
    Markdown,
}

impl ListFormat {
    /// All formats, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Codex, Self::Xml, Self::XmlCompact, Self::Markdown];

    /// Returns the format as a lowercase word, which is stable and used in options.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Xml => "xml",
            Self::XmlCompact => "xml-compact",
            Self::Markdown => "markdown",
        }
    }

    /// Returns the fixed parts of an entry.
    pub(crate) fn template(self) -> EntryTemplate {
        let (name_prefix, name_suffix, path_prefix, path_suffix) = match self {
            Self::Codex => ("- ", ":", " (file: ", ")"),
            Self::Xml => (
                "<skill>\n<name>\n",
                "\n</name>\n<description>\n",
                "\n</description>\n<location>\n",
                "\n</location>\n</skill>",
            ),
            Self::XmlCompact => (
                "<skill>\n<name>",
                "</name>\n<description>",
                "</description>\n<location>",
                "</location>\n</skill>",
            ),
            Self::Markdown => ("- **", "**:", " (", ")"),
        };
        let description_prefix = match self {
            Self::Codex | Self::Markdown => " ",
            Self::Xml | Self::XmlCompact => "",
        };
        EntryTemplate {
            name_prefix,
            name_suffix,
            description_prefix,
            path_prefix,
            path_suffix,
        }
    }

    /// Returns the last line of an incomplete list, without its line end: further skills by name, and
    /// how many there are without a name. Names need no escaping.
    pub(crate) fn last_line(
        self,
        names: &[&str],
        omitted: usize,
        search_hint: Option<&str>,
    ) -> String {
        let mut parts = Vec::new();
        if !names.is_empty() {
            parts.push(format!("Further skills by name: {}.", names.join(", ")));
        }
        let skills = if omitted == 1 {
            "skill is"
        } else {
            "skills are"
        };
        match search_hint {
            Some(hint) if omitted == 0 => parts.push(format!("Find more with {hint}.")),
            Some(hint) => parts.push(format!(
                "{omitted} more {skills} not listed; find more with {hint}."
            )),
            None if omitted == 0 => {}
            None => parts.push(format!("{omitted} more {skills} not listed.")),
        }
        let text = parts.join(" ");
        match self {
            Self::Codex | Self::Markdown => text,
            Self::Xml | Self::XmlCompact => format!("<more_skills>{text}</more_skills>"),
        }
    }

    /// Returns the replacements of characters in names and descriptions: `<` in every format,
    /// since a model may take any text for a tag of the runtime.
    pub(crate) fn replacements(self) -> Replacements {
        match self {
            Self::Codex => &[('<', "&lt;")],
            Self::Xml | Self::XmlCompact => &[
                ('<', "&lt;"),
                ('&', "&amp;"),
                ('>', "&gt;"),
                ('"', "&quot;"),
                ('\'', "&#x27;"),
            ],
            Self::Markdown => &[('<', "&lt;"), ('`', "\\`"), ('*', "\\*"), ('\\', "\\\\")],
        }
    }

    /// Returns true if a text is ASCII and has nothing to escape, so that its size is its length.
    pub(crate) fn is_plain(self, text: &str) -> bool {
        sanitize::is_plain(text, self.replacements())
    }

    /// Returns the size of a text after escaping.
    pub(crate) fn escaped_size(self, text: &str) -> TextSize {
        if self.is_plain(text) {
            return TextSize::ascii(text.len());
        }
        text.chars().fold(TextSize::default(), |size, c| {
            size + self.escaped_char_size(c)
        })
    }

    /// Returns the size of a character after escaping.
    pub(crate) fn escaped_char_size(self, c: char) -> TextSize {
        match sanitize::replacement(c, self.replacements()) {
            Some(text) => TextSize::ascii(text.len()),
            None => TextSize {
                bytes: c.len_utf8(),
                characters: 1,
            },
        }
    }

    /// Returns the text of a path in an entry: without `(file:` in the Codex format, as code in
    /// Markdown.
    pub(crate) fn entry_path(self, path: &str) -> String {
        let path = escape_path(path);
        match self {
            Self::Codex => escape_path_marker(path).into_owned(),
            Self::Xml | Self::XmlCompact => path.replace('>', "&gt;"),
            Self::Markdown => inline_code(&path),
        }
    }
}

/// The fixed parts of an entry.
#[derive(Clone, Copy)]
pub(crate) struct EntryTemplate {
    pub(crate) name_prefix: &'static str,
    pub(crate) name_suffix: &'static str,
    /// The separator before a description that is not empty.
    pub(crate) description_prefix: &'static str,
    pub(crate) path_prefix: &'static str,
    pub(crate) path_suffix: &'static str,
}

impl EntryTemplate {
    pub(crate) fn size(self) -> TextSize {
        let bytes = self.name_prefix.len()
            + self.name_suffix.len()
            + self.path_prefix.len()
            + self.path_suffix.len();
        TextSize::ascii(bytes)
    }
}
