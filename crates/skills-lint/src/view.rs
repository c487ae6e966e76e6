//! A file as units that rules search: logical lines, and paragraphs of prose.

use crate::plain::plain;

/// Maximum number of lines that are joined to one logical line or paragraph, which bounds how far
/// apart the parts of a finding may be.
const MAX_JOINED_LINES: usize = 40;

/// What surrounds a unit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings {
    /// The heading above, as an index of the headings of the file.
    pub(crate) heading: Option<usize>,
    /// Where the line of prose before is in the file, such as the one before a block of code.
    pub(crate) announcement: (usize, usize),
    pub(crate) is_table: bool,
    /// In a comment that a rendered page does not show.
    pub(crate) is_comment: bool,
    /// In a script or a block of code.
    pub(crate) is_code: bool,
}

/// A part of a view that is searched at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) surroundings: Surroundings,
}

/// Text with units, and the line of each part of it.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) text: String,
    pub(crate) units: Vec<Unit>,
    /// Where each line of the file starts in the text.
    starts: Vec<(usize, usize)>,
}

impl View {
    /// Returns the line of the file that a position of the text is from.
    pub(crate) fn line_at(&self, position: usize) -> usize {
        let after = self.starts.partition_point(|(start, _)| *start <= position);
        after.checked_sub(1).map_or(1, |index| self.starts[index].1)
    }

    pub(crate) fn text_of(&self, unit: &Unit) -> &str {
        &self.text[unit.start..unit.end]
    }

    fn push(&mut self, text: &str, line: usize) {
        self.starts.push((self.text.len(), line));
        self.text.push_str(text);
    }

    fn end_unit(&mut self, start: usize, surroundings: Surroundings) {
        let end = self.text.len();
        if end > start {
            self.units.push(Unit {
                start,
                end,
                surroundings,
            });
            self.text.push('\n');
        }
    }
}

/// A heading of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heading {
    /// The heading of the section around.
    pub(crate) outer: Option<usize>,
    level: usize,
    /// Where the line is in the file.
    pub(crate) range: (usize, usize),
}

/// Both views of a file.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// Logical lines: a command that is continued on the next line is one.
    pub(crate) lines: View,
    /// Paragraphs and comments as one line each, without marks of lists, quotes and emphasis.
    pub(crate) prose: View,
    pub(crate) headings: Vec<Heading>,
}

impl Views {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let mut builder = Builder {
            is_markdown: is_markdown(path),
            ..Builder::default()
        };
        let mut start = 0;
        for (index, line) in text.split('\n').enumerate() {
            builder.range = (start, start + line.len());
            builder.line(line.trim_end_matches('\r'), index + 1);
            start += line.len() + 1;
        }
        builder.end_logical_line();
        builder.end_paragraph();
        builder.views
    }
}

pub(crate) fn is_markdown(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_none_or(|extension| {
        let markdown = ["md", "mdx", "markdown", "txt", "rst", "adoc"];
        markdown
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

#[derive(Default)]
struct Builder {
    is_markdown: bool,
    views: Views,
    /// The marker of the open block of code.
    fence: Option<(char, usize)>,
    /// Where the current line is in the file.
    range: (usize, usize),
    is_in_comment: bool,
    heading: Option<usize>,
    announcement: (usize, usize),
    logical: Joined,
    paragraph: Joined,
}

/// A unit that is not complete.
#[derive(Default)]
struct Joined {
    start: usize,
    lines: usize,
    surroundings: Surroundings,
    is_continued: bool,
    /// Whether the line ended within a word.
    is_cut: bool,
}

impl Builder {
    fn line(&mut self, raw: &str, number: usize) {
        let is_rendered = self.is_markdown && self.fence.is_none();
        let clean = plain(raw, is_rendered);
        let trimmed = clean.trim();
        let is_boundary = self.is_markdown && self.markdown_boundary(trimmed);
        let surroundings = self.surroundings(trimmed);
        let is_quotation = is_rendered && trimmed.starts_with('>');
        let command = if is_quotation {
            trimmed.trim_start_matches(['>', ' '])
        } else {
            trimmed
        };
        let is_indented = clean.starts_with([' ', '\t']);
        self.logical_line(command, number, surroundings, is_indented);
        if is_boundary || trimmed.is_empty() || self.starts_item(trimmed) {
            self.end_paragraph();
        }
        if !trimmed.is_empty() {
            self.prose_line(trimmed, number, surroundings);
        }
        if self.is_markdown && (is_boundary || surroundings.is_table) {
            self.end_paragraph();
        }
        self.close_comment(trimmed);
    }

    /// Follows blocks of code and headings. Returns true if the line separates paragraphs.
    fn markdown_boundary(&mut self, trimmed: &str) -> bool {
        let marker = fence_marker(trimmed);
        match (self.fence, marker) {
            (None, Some(marker)) => {
                self.fence = Some(marker);
                return true;
            }
            (Some(open), Some(close)) if close.0 == open.0 && close.1 >= open.1 => {
                self.fence = None;
                return true;
            }
            (Some(_), _) => return false,
            (None, None) => {}
        }
        if trimmed.starts_with("<!--")
            || trimmed.starts_with("[//]:")
            || trimmed.starts_with("[comment]:")
        {
            self.is_in_comment = true;
            return true;
        }
        let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
            self.open_section(level);
            return true;
        }
        if !trimmed.is_empty() && !self.starts_item(trimmed) {
            self.announcement = self.range;
        }
        false
    }

    fn open_section(&mut self, level: usize) {
        let headings = &mut self.views.headings;
        let mut outer = self.heading;
        while let Some(heading) = outer.map(|index| headings[index])
            && heading.level >= level
        {
            outer = heading.outer;
        }
        self.heading = Some(headings.len());
        headings.push(Heading {
            outer,
            level,
            range: self.range,
        });
        self.announcement = (0, 0);
    }

    fn surroundings(&self, trimmed: &str) -> Surroundings {
        let is_code = !self.is_markdown || self.fence.is_some();
        Surroundings {
            heading: self.heading,
            announcement: self.announcement,
            is_table: !is_code
                && trimmed.starts_with('|')
                && trimmed.len() > 1
                && trimmed.ends_with('|'),
            is_comment: self.is_in_comment || (!is_code && trimmed.contains("<!--")),
            is_code,
        }
    }

    fn close_comment(&mut self, trimmed: &str) {
        let is_one_line = trimmed.starts_with("[//]:") || trimmed.starts_with("[comment]:");
        if self.is_in_comment && (is_one_line || trimmed.contains("-->")) {
            self.is_in_comment = false;
        }
    }

    fn logical_line(
        &mut self,
        trimmed: &str,
        number: usize,
        surroundings: Surroundings,
        is_indented: bool,
    ) {
        // A shell skips comments and empty lines after an operator.
        let is_skipped = trimmed.is_empty() || trimmed.starts_with('#');
        if surroundings.is_code
            && self.logical.is_continued
            && is_skipped
            && self.logical.lines < MAX_JOINED_LINES
        {
            self.logical.lines += 1;
            return;
        }
        let joins_previous = self.logical.is_continued || continues_previous(trimmed);
        if !joins_previous || self.logical.lines >= MAX_JOINED_LINES {
            self.end_logical_line();
        }
        let view = &mut self.views.lines;
        if self.logical.lines == 0 {
            self.logical.start = view.text.len();
            self.logical.surroundings = surroundings;
        } else if !self.logical.is_cut || is_indented {
            view.text.push(' ');
        }
        // A shell joins what is before and after a backslash at the end of a line.
        let before_mark = trimmed.strip_suffix('\\');
        self.logical.is_cut = before_mark.is_some_and(|text| text.ends_with(char::is_alphanumeric));
        let (text, is_continued) = match continuation(trimmed, surroundings) {
            Some(text) => (text, true),
            None => (trimmed, false),
        };
        view.push(text, number);
        self.logical.lines += 1;
        self.logical.is_continued = is_continued;
    }

    fn end_logical_line(&mut self) {
        let Joined {
            start,
            lines,
            surroundings,
            ..
        } = std::mem::take(&mut self.logical);
        if lines > 0 {
            self.views.lines.end_unit(start, surroundings);
        }
    }

    fn prose_line(&mut self, trimmed: &str, number: usize, surroundings: Surroundings) {
        if self.paragraph.lines >= MAX_JOINED_LINES {
            self.end_paragraph();
        }
        let view = &mut self.views.prose;
        if self.paragraph.lines == 0 {
            self.paragraph.start = view.text.len();
            self.paragraph.surroundings = surroundings;
        } else {
            view.text.push(' ');
        }
        view.push("", number);
        let unmarked = trimmed.trim_start_matches(['>', '#', '/', '*', '-', '+', ' ', ';', '%']);
        for part in unmarked.split(['*', '`']) {
            view.text.push_str(part);
        }
        self.paragraph.lines += 1;
    }

    fn end_paragraph(&mut self) {
        let Joined {
            start,
            lines,
            surroundings,
            ..
        } = std::mem::take(&mut self.paragraph);
        if lines > 0 {
            self.views.prose.end_unit(start, surroundings);
        }
    }

    /// Returns true if a line starts an item of a list.
    fn starts_item(&self, trimmed: &str) -> bool {
        if self.fence.is_some() {
            return false;
        }
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let is_numbered = digits > 0 && trimmed[digits..].starts_with(['.', ')', '、', '.']);
        is_numbered
            || ["- ", "* ", "+ ", "• "]
                .iter()
                .any(|mark| trimmed.starts_with(mark))
    }
}

/// Returns the marker at the start of a block of code, and its length.
fn fence_marker(trimmed: &str) -> Option<(char, usize)> {
    let trimmed = trimmed.trim_start_matches(['>', ' ']);
    let first = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = trimmed.chars().take_while(|c| *c == first).count();
    // Backquotes in the rest of the line make it code in a paragraph.
    let is_fence = length >= 3 && !trimmed[length..].contains('`');
    is_fence.then_some((first, length))
}

/// Returns the line without its mark if it is continued on the next one.
fn continuation(trimmed: &str, surroundings: Surroundings) -> Option<&str> {
    if let Some(text) = trimmed.strip_suffix('\\') {
        return Some(text);
    }
    if surroundings.is_table {
        return None;
    }
    if surroundings.is_code
        && let Some(text) = trimmed.strip_suffix(" `")
    {
        return Some(text);
    }
    let is_operator = trimmed.ends_with("&&") || trimmed.ends_with('|') || trimmed.ends_with("<(");
    is_operator.then_some(trimmed)
}

/// Returns true if a line continues the command of the line before.
fn continues_previous(trimmed: &str) -> bool {
    if let Some(rest) = trimmed.strip_prefix("&&") {
        return !rest.is_empty();
    }
    let Some(rest) = trimmed.strip_prefix('|') else {
        return false;
    };
    // Not a row of a table.
    !rest.contains('|')
        && rest
            .trim_start()
            .starts_with(|c: char| c.is_ascii_lowercase() || c == '/' || c == '$')
}
