//! The shape of a body: headings and relative links.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The headings and relative links of a body, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    headings: Vec<Heading>,
    links: Vec<Link>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 for `#` to 6 for `######`.
    pub level: u8,
    /// Its text without markup.
    pub text: String,
    /// The line of the file, counted from 1.
    pub line: usize,
}

/// A link or image whose target is a path relative to the skill; whether the target exists is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path as written, without `#fragment` and `?query`.
    pub target: String,
    /// The line of the file, counted from 1.
    pub line: usize,
}

impl Outline {
    /// Reads the Markdown `body` whose first line is line `first_line` of its file.
    #[must_use]
    pub fn of(body: &str, first_line: usize) -> Self {
        let mut outline = Self::default();
        let mut lines = LineCounter { body, offset: 0, line: first_line };
        let mut open: Option<Heading> = None;
        for (event, span) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    open = Some(Heading { level: number(level), text: String::new(), line: lines.at(span.start) });
                }
                Event::End(TagEnd::Heading(_)) => outline.headings.extend(open.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = lines.at(span.start);
                    outline.links.extend(relative(&dest_url).map(|target| Link { target, line }));
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut open {
                        heading.text.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        outline
    }

    /// Returns the headings.
    #[must_use]
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Returns the relative links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}

/// Counts lines forwards; the offsets of a Markdown parser never go back by more than one block.
struct LineCounter<'a> {
    body: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn at(&mut self, offset: usize) -> usize {
        let newlines = |text: &str| text.bytes().filter(|b| *b == b'\n').count();
        if offset >= self.offset {
            self.line += newlines(&self.body[self.offset..offset]);
        } else {
            self.line -= newlines(&self.body[offset..self.offset]);
        }
        self.offset = offset;
        self.line
    }
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

/// Returns the path of a link that stays inside the skill by its form: no scheme, not absolute, not only a fragment.
fn relative(destination: &str) -> Option<String> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = path.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    (!path.is_empty() && !path.starts_with('/') && !has_scheme).then(|| path.to_owned())
}
