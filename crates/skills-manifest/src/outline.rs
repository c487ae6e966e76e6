//! The outline of a body: its headings and the files that it refers to.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::skill_directory::without_skill_directory;

/// The headings of a body and its references to files, both in the order of the text.
///
/// With it, a model can read a section of a long skill instead of all of it, and a host application
/// can check that referenced files exist. Code in a code block is not parsed as Markdown.
///
/// ```
/// use skills_manifest::{LinkKind, Outline};
///
/// let outline = Outline::parse("# Use\nRun `scripts/fill.py`.\n\n## More\nSee [a](docs/a.md#x).\n", 5);
/// assert_eq!((outline.headings()[0].line, outline.headings()[0].last_line), (5, 9));
/// assert_eq!(outline.links()[0].kind, LinkKind::Code);
/// assert_eq!((outline.links()[1].target.as_str(), outline.links()[1].line), ("docs/a.md", 9));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    headings: Vec<Heading>,
    links: Vec<Link>,
}

/// A heading with the lines of its section.
///
/// A section contains its subsections, so a reader gets all of a topic from [`line`](Self::line) to
/// [`last_line`](Self::last_line). Headings in both Markdown notations (`#` and underlined) count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The level: 1 for `#` to 6 for `######`.
    pub level: u8,
    /// The text without markup.
    pub text: String,
    /// The line of the heading in the file, counted from 1.
    pub line: usize,
    /// The last line of its section: the one before the next heading of the same or a lower number
    /// of `#`.
    pub last_line: usize,
}

/// A reference to a path relative to the skill.
///
/// Neither the existence of the target is checked nor that it is inside of the skill directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path as written, without `#fragment` and `?query`.
    pub target: String,
    /// The line of the reference in the file, counted from 1.
    pub line: usize,
    /// How the body refers to the target.
    pub kind: LinkKind,
}

/// The kind of a reference to a file.
///
/// Links and images are Markdown, so their targets are intended as references; paths in code are
/// recognized by their directory and extension and may be examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkKind {
    /// A Markdown link.
    Link,
    /// A Markdown image.
    Image,
    /// A word in inline code or in a code block that is a path into `scripts/`, `references/` or
    /// `assets/`.
    Code,
}

impl LinkKind {
    /// Returns the kind as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Image => "image",
            Self::Code => "code",
        }
    }
}

impl Outline {
    /// Parses the Markdown `body`, whose first line is line `first_line` of its file, counted from
    /// 1.
    #[must_use]
    pub fn parse(body: &str, first_line: usize) -> Self {
        let mut builder = OutlineBuilder {
            outline: Self::default(),
            lines: LineCounter {
                body,
                offset: 0,
                line: first_line,
            },
            heading: None,
            in_code: false,
        };
        // Tables contain links; the other extensions change neither links nor headings.
        for (event, span) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
            builder.process_event(event, &span);
        }
        let mut outline = builder.outline;
        outline.set_last_lines(first_line + body.lines().count().saturating_sub(1));
        outline
    }

    /// Sets the last line of each section; `last_line` is that of the body.
    fn set_last_lines(&mut self, last_line: usize) {
        // The nearest heading of each level after the current one, at most one per level.
        let mut following: Vec<(u8, usize)> = Vec::new();
        for heading in self.headings.iter_mut().rev() {
            let end = following
                .iter()
                .filter(|(level, _)| *level <= heading.level)
                .map(|(_, line)| line - 1)
                .min();
            heading.last_line = end.unwrap_or(last_line).max(heading.line);
            following.retain(|(level, _)| *level < heading.level);
            following.push((heading.level, heading.line));
        }
    }

    /// Returns the headings, in the order of the text.
    #[must_use]
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Returns the references to files, in the order of the text, duplicates included.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}

/// Builds an outline from the events of a Markdown parser.
struct OutlineBuilder<'a> {
    outline: Outline,
    lines: LineCounter<'a>,
    heading: Option<Heading>,
    in_code: bool,
}

impl OutlineBuilder<'_> {
    fn process_event(&mut self, event: Event<'_>, span: &Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let line = self.lines.line_at(span.start);
                self.heading = Some(Heading {
                    level: level_number(level),
                    text: String::new(),
                    line,
                    last_line: line,
                });
            }
            Event::End(TagEnd::Heading(_)) => self.outline.headings.extend(self.heading.take()),
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.push_link(relative_target(&dest_url), LinkKind::Link, span.start)
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                self.push_link(relative_target(&dest_url), LinkKind::Image, span.start)
            }
            Event::Start(Tag::CodeBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Code(text) => {
                self.push_code_paths(&text, span);
                self.push_heading_text(&text);
            }
            Event::Text(text) => {
                if self.in_code {
                    self.push_code_paths(&text, span);
                }
                self.push_heading_text(&text);
            }
            _ => {}
        }
    }

    fn push_heading_text(&mut self, text: &str) {
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
    }

    fn push_link(&mut self, target: Option<String>, kind: LinkKind, offset: usize) {
        if let Some(target) = target {
            let line = self.lines.line_at(offset);
            self.outline.links.push(Link { target, line, kind });
        }
    }

    /// Adds the words of code that are paths into directories of the skill.
    fn push_code_paths(&mut self, code: &str, span: &Range<usize>) {
        let is_edge = |c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    '"' | '\'' | '(' | ')' | '=' | ',' | ';' | '<' | '>' | '|'
                )
        };
        // The parser removes indentation and escapes from some code; offsets in that text are not
        // offsets in the body.
        let is_verbatim = self.lines.body.get(span.clone()) == Some(code);
        for word in code.split(is_edge) {
            if let Some(target) = resource_path(word) {
                let offset = if is_verbatim {
                    word.as_ptr() as usize - code.as_ptr() as usize
                } else {
                    0
                };
                self.push_link(Some(target), LinkKind::Code, span.start + offset);
            }
        }
    }
}

/// Converts offsets to lines incrementally, from the last offset.
///
/// The offsets of a Markdown parser go back by at most one block, so this takes linear time in all.
struct LineCounter<'a> {
    body: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: usize) -> usize {
        let body = self.body.as_bytes();
        let newlines = |from: usize, to: usize| {
            body.get(from..to)
                .unwrap_or_default()
                .iter()
                .filter(|b| **b == b'\n')
                .count()
        };
        if offset >= self.offset {
            self.line += newlines(self.offset, offset);
        } else {
            self.line = self.line.saturating_sub(newlines(offset, self.offset));
        }
        self.offset = offset;
        self.line
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    level as u8
}

/// Returns the path of a relative link: without a scheme, not absolute, not only a fragment.
///
/// The path may lead out of the skill; that is checked when the file is opened.
fn relative_target(destination: &str) -> Option<String> {
    let destination = without_skill_directory(destination);
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    // In `a/b:c`, the colon is part of a path.
    let has_scheme = path
        .split_once(':')
        .is_some_and(|(scheme, _)| !scheme.contains('/'));
    (!path.is_empty() && !path.starts_with('/') && !has_scheme).then(|| path.to_owned())
}

/// Returns a word of code if it is a path into one of the directories of the specification.
///
/// Globs, templates and directories are not references to a file.
fn resource_path(word: &str) -> Option<String> {
    let word = without_skill_directory(word);
    let path = word
        .strip_prefix("./")
        .unwrap_or(word)
        // A section of the file.
        .split('#')
        .next()
        .unwrap_or_default()
        // Punctuation of the sentence around the path.
        .trim_end_matches(['.', ':', '`']);
    let below = ["scripts/", "references/", "assets/"]
        .iter()
        .find_map(|directory| path.strip_prefix(directory))?;
    let is_plain = !below.is_empty()
        && !below.ends_with('/')
        && !below.contains(['*', '{', '}', '$', '?', '[', ']', '…', '%']);
    // Without an extension, the word is more often a directory or prose than a file.
    (is_plain && below.contains('.')).then(|| path.to_owned())
}
