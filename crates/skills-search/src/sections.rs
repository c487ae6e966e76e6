//! Splits a text into sections, which are found and shown instead of the whole text.

use skills_manifest::Outline;

/// Maximum length of the text of a section, in bytes. A longer one becomes several, split between
/// paragraphs if possible, otherwise between lines.
pub const MAX_SECTION_BYTES: usize = 2_000;

/// A section of a text: the lines from a heading to the next one.
///
/// A section does not contain its subsections; they are sections of their own, with the headings
/// above them as their trail.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section<'a> {
    /// The headings above and at the start of the section, outermost first.
    pub trail: Vec<String>,
    /// The first line of the section in the file, counted from 1.
    pub first_line: usize,
    /// The last line of the section in the file.
    pub last_line: usize,
    /// The text of these lines.
    pub text: &'a str,
}

/// How a text is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// By its headings.
    Markdown,
    /// By its length only.
    Plain,
}

impl TextKind {
    /// Returns the kind of a file by the extension of its path.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        let is_markdown = |known: &str| extension.is_some_and(|e| e.eq_ignore_ascii_case(known));
        if ["md", "markdown", "mdx"]
            .iter()
            .any(|known| is_markdown(known))
        {
            Self::Markdown
        } else {
            Self::Plain
        }
    }
}

/// Splits a text whose first line is line `first_line` of its file. Sections without text besides
/// their heading are omitted.
///
/// ```
/// use skills_search::{TextKind, split_sections};
///
/// let text = "# Forms\nIntroduction.\n## Fields\nFill them.\n";
/// let sections = split_sections(text, 1, TextKind::Markdown);
/// assert_eq!(sections[1].trail, ["Forms", "Fields"]);
/// assert_eq!((sections[1].first_line, sections[1].last_line), (3, 4));
/// assert_eq!(sections[1].text, "## Fields\nFill them.\n");
/// ```
#[must_use]
pub fn split_sections(text: &str, first_line: usize, kind: TextKind) -> Vec<Section<'_>> {
    let headings = match kind {
        TextKind::Markdown => Outline::parse(text, first_line).headings().to_vec(),
        TextKind::Plain => Vec::new(),
    };
    let lines = Lines::new(text, first_line);
    let mut sections = Vec::new();
    let before = headings.first().map_or(lines.end(), |heading| heading.line);
    lines.push_sections(first_line..before, &[], &mut sections);
    let mut trail: Vec<(u8, String)> = Vec::new();
    for (position, heading) in headings.iter().enumerate() {
        trail.retain(|(level, _)| *level < heading.level);
        trail.push((heading.level, heading.text.trim().to_owned()));
        let next = headings.get(position + 1);
        let end = next.map_or(lines.end(), |next| next.line);
        let names: Vec<String> = trail.iter().map(|(_, text)| text.clone()).collect();
        // The heading alone is in the trail of its subsections.
        if lines.has_text(heading.line + 1..end) {
            lines.push_sections(heading.line..end, &names, &mut sections);
        }
    }
    sections
}

/// The lines of a text, by their numbers.
struct Lines<'a> {
    text: &'a str,
    first_line: usize,
    /// The start of each line, and the end of the text.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, first_line: usize) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(offset, _)| offset + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self {
            text,
            first_line,
            starts,
        }
    }

    /// Returns the number of the line after the last one.
    fn end(&self) -> usize {
        self.first_line + self.starts.len() - 1
    }

    fn text(&self, lines: std::ops::Range<usize>) -> &'a str {
        &self.text[self.offset(lines.start)..self.offset(lines.end.max(lines.start))]
    }

    /// Returns the offset at which a line starts, or the end of the text.
    fn offset(&self, line: usize) -> usize {
        let position = line.saturating_sub(self.first_line);
        self.starts[position.min(self.starts.len() - 1)]
    }

    fn has_text(&self, lines: std::ops::Range<usize>) -> bool {
        !self.text(lines).trim().is_empty()
    }

    /// Adds the sections of a range of lines, each no longer than the limit unless it is one line.
    fn push_sections(
        &self,
        lines: std::ops::Range<usize>,
        trail: &[String],
        sections: &mut Vec<Section<'a>>,
    ) {
        let mut start = lines.start;
        while start < lines.end {
            let end = self.section_end(start..lines.end);
            let text = self.text(start..end);
            if !text.trim().is_empty() {
                sections.push(Section {
                    trail: trail.to_vec(),
                    first_line: start,
                    last_line: end - 1,
                    text: &text[..text.floor_char_boundary(MAX_SECTION_BYTES)],
                });
            }
            start = end;
        }
    }

    /// Returns the line after the section that begins with the first of `lines`.
    fn section_end(&self, lines: std::ops::Range<usize>) -> usize {
        let fits = |end: &usize| self.text(lines.start..*end).len() <= MAX_SECTION_BYTES;
        let longest = (lines.start + 1..=lines.end).take_while(fits).last();
        let Some(longest) = longest else {
            return lines.start + 1;
        };
        if longest == lines.end {
            return longest;
        }
        let is_after_blank = |end: &usize| self.text(end - 1..*end).trim().is_empty();
        // The second half, so that blank lines do not make many short sections.
        let middle = lines.start.midpoint(longest) + 1;
        let after_paragraph = (middle..=longest).rev().find(is_after_blank);
        after_paragraph.unwrap_or(longest)
    }
}
