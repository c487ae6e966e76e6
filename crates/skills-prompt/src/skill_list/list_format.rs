//! The forms of a catalogue.

use std::borrow::Cow;

use crate::budget::TextSize;

/// The form of a catalogue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListFormat {
    /// Codex's section: `- name: description (file: path)` below headings, with rules how to use
    /// skills behind them.
    #[default]
    Codex,
    /// The form of skills-ref, each tag and text on a line of its own. Unlike there descriptions
    /// stand on one line, and `<` and `>` of a path are escaped, so that nothing closes a tag.
    Xml,
    /// The same elements with one line each, as the guide for clients shows them.
    XmlCompact,
    /// A Markdown list: ``- **name**: description (`path`)``.
    Markdown,
}

impl ListFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Codex, Self::Xml, Self::XmlCompact, Self::Markdown];

    /// Returns the format as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Xml => "xml",
            Self::XmlCompact => "xml-compact",
            Self::Markdown => "markdown",
        }
    }

    /// What stands before the name, between name and description, between description and path, and
    /// behind the path.
    pub(crate) fn template(self) -> EntryTemplate {
        let (before, named, described, after) = match self {
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
        let separator = match self {
            Self::Codex | Self::Markdown => " ",
            Self::Xml | Self::XmlCompact => "",
        };
        EntryTemplate {
            name_prefix: before,
            name_suffix: named,
            description_prefix: separator,
            path_prefix: described,
            path_suffix: after,
        }
    }

    /// What stands for a character of a name or description; nothing when it stands for itself.
    pub(crate) fn escape_char(self, c: char) -> Option<&'static str> {
        match (self, c) {
            (_, '<') => Some("&lt;"),
            (Self::Xml | Self::XmlCompact, '&') => Some("&amp;"),
            (Self::Xml | Self::XmlCompact, '>') => Some("&gt;"),
            (Self::Xml | Self::XmlCompact, '"') => Some("&quot;"),
            (Self::Xml | Self::XmlCompact, '\'') => Some("&#x27;"),
            (Self::Markdown, '`') => Some("\\`"),
            (Self::Markdown, '*') => Some("\\*"),
            (Self::Markdown, '\\') => Some("\\\\"),
            _ => None,
        }
    }

    pub(crate) fn escape(self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            match self.escape_char(c) {
                Some(entity) => escaped.push_str(entity),
                None => escaped.push(c),
            }
        }
        escaped
    }

    /// Whether a text has nothing to escape and is ASCII, so that each of its bytes is a character.
    pub(crate) fn is_plain(self, text: &str) -> bool {
        let special = |b: u8| match self {
            Self::Codex => b == b'<',
            Self::Xml | Self::XmlCompact => matches!(b, b'<' | b'&' | b'>' | b'"' | b'\''),
            Self::Markdown => matches!(b, b'<' | b'`' | b'*' | b'\\'),
        };
        text.bytes()
            .fold(true, |plain, b| plain & (b < 0x80) & !special(b))
    }

    /// The size of a text when it is escaped.
    pub(crate) fn escaped_size(self, text: &str) -> TextSize {
        if self.is_plain(text) {
            return TextSize {
                bytes: text.len(),
                characters: text.len(),
            };
        }
        text.chars().fold(TextSize::default(), |size, c| {
            size + self.escaped_char_size(c)
        })
    }

    pub(crate) fn escaped_char_size(self, c: char) -> TextSize {
        self.escape_char(c).map_or(
            TextSize {
                bytes: c.len_utf8(),
                characters: 1,
            },
            TextSize::from_text,
        )
    }

    /// A path as it stands in an entry. In Codex's form it may not hold the words that lead to it;
    /// in Markdown it is code.
    pub(crate) fn entry_path(self, path: &str) -> String {
        let path = crate::sanitize::escape_path(path);
        match self {
            Self::Codex => escape_path_marker(&path).into_owned(),
            Self::Xml | Self::XmlCompact => path.replace('>', "&gt;"),
            Self::Markdown => inline_code(&path),
        }
    }
}

/// Code in Markdown: more backticks around it than stand together in it.
fn inline_code(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if longest == 0 {
        format!("`{text}`")
    } else {
        format!("{fence} {text} {fence}")
    }
}

/// Takes the words that lead to our path, `(file:`, away from a text: its colon becomes one that
/// only looks like it.
pub(crate) fn escape_path_marker(text: &str) -> Cow<'_, str> {
    let mut found = path_marker_positions(text).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut start = 0;
    for colon in found {
        safe.push_str(&text[start..colon]);
        safe.push('\u{2236}');
        start = colon + 1;
    }
    safe.push_str(&text[start..]);
    Cow::Owned(safe)
}

/// Where the colons of `(file:` stand, in whatever case and with whatever spaces.
fn path_marker_positions(text: &str) -> impl Iterator<Item = usize> {
    let behind = |open: usize| {
        let rest = &text[open + 1..];
        let word = rest.trim_start();
        let is_file = word
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("file"));
        let colon = word.get(4..).filter(|_| is_file)?.trim_start();
        colon.starts_with(':').then(|| text.len() - colon.len())
    };
    text.match_indices('(')
        .filter_map(move |(open, _)| behind(open))
}

/// The fixed parts of an entry.
#[derive(Clone, Copy)]
pub(crate) struct EntryTemplate {
    pub(crate) name_prefix: &'static str,
    pub(crate) name_suffix: &'static str,
    /// Before a description, when there is any of it.
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
        TextSize {
            bytes,
            characters: bytes,
        }
    }
}
