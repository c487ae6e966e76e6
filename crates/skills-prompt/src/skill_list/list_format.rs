//! The formats of a skill list, and what each of them escapes.

use std::borrow::Cow;

use crate::budget::TextSize;

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

    /// Returns the replacement of a character in names and descriptions; `None` if it is unchanged.
    pub(crate) fn escape_char(self, c: char) -> Option<&'static str> {
        match (self, c) {
            // In every format, since a model may take any text for a tag of the runtime.
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

    /// Escapes a name or description.
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

    /// Returns true if a text is ASCII and has nothing to escape, so that its size is its length.
    pub(crate) fn is_plain(self, text: &str) -> bool {
        let special = |b: u8| match self {
            Self::Codex => b == b'<',
            Self::Xml | Self::XmlCompact => matches!(b, b'<' | b'&' | b'>' | b'"' | b'\''),
            Self::Markdown => matches!(b, b'<' | b'`' | b'*' | b'\\'),
        };
        // Without an early exit, so that the loop vectorizes.
        text.bytes()
            .fold(true, |plain, b| plain & (b < 0x80) & !special(b))
    }

    /// Returns the size of a text after escaping.
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

    /// Returns the size of a character after escaping.
    pub(crate) fn escaped_char_size(self, c: char) -> TextSize {
        self.escape_char(c).map_or(
            TextSize {
                bytes: c.len_utf8(),
                characters: 1,
            },
            TextSize::from_text,
        )
    }

    /// Returns the text of a path in an entry: without `(file:` in the Codex format, as code in
    /// Markdown.
    pub(crate) fn entry_path(self, path: &str) -> String {
        let path = crate::sanitize::escape_path(path);
        match self {
            Self::Codex => escape_path_marker(&path).into_owned(),
            Self::Xml | Self::XmlCompact => path.replace('>', "&gt;"),
            Self::Markdown => inline_code(&path),
        }
    }
}

/// Formats inline code of Markdown, delimited by more backticks than any run in `text` has.
fn inline_code(text: &str) -> String {
    let longest_run = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let delimiter = "`".repeat(longest_run + 1);
    if longest_run == 0 {
        format!("`{text}`")
    } else {
        format!("{delimiter} {text} {delimiter}")
    }
}

/// Replaces the colon of `(file:`, which precedes the path of an entry, by U+2236, which looks the
/// same to a reader.
pub(crate) fn escape_path_marker(text: &str) -> Cow<'_, str> {
    let mut colons = path_marker_positions(text).peekable();
    if colons.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut start = 0;
    for colon in colons {
        safe.push_str(&text[start..colon]);
        safe.push('\u{2236}');
        start = colon + 1;
    }
    safe.push_str(&text[start..]);
    Cow::Owned(safe)
}

/// Returns the positions of the colons of `(file:`, ignoring case and spaces as a model does.
fn path_marker_positions(text: &str) -> impl Iterator<Item = usize> {
    let marker_colon = |open: usize| {
        let rest = &text[open + 1..];
        let word = rest.trim_start();
        let is_file = word
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("file"));
        let colon = word.get(4..).filter(|_| is_file)?.trim_start();
        colon.starts_with(':').then(|| text.len() - colon.len())
    };
    text.match_indices('(')
        .filter_map(move |(open, _)| marker_colon(open))
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
        TextSize {
            bytes,
            characters: bytes,
        }
    }
}
