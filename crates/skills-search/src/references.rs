//! Finds sections of files: what a model reads instead of a whole reference.

use crate::builder::IndexBuilder;
use crate::document::Document;
use crate::index::SearchIndex;
use crate::search::MIN_SHARE_OF_BEST;
use crate::sections::{Section, TextKind, split_sections};

/// Maximum length of all sections of an index together, in bytes: 64 MiB.
pub const MAX_REFERENCE_BYTES: usize = 64 * 1024 * 1024;

/// An index over the sections of files of skills.
///
/// ```
/// use skills_search::ReferenceIndexBuilder;
///
/// let mut builder = ReferenceIndexBuilder::new();
/// builder.add_file(0, "references/forms.md", "# Forms\n## Fields\nFill the fields.\n", 1);
/// let index = builder.build();
/// let found = index.search("how do I fill a field", 3);
/// assert_eq!(found[0].path, "references/forms.md");
/// assert_eq!(found[0].trail, ["Forms", "Fields"]);
/// ```
#[derive(Debug, Default)]
pub struct ReferenceIndex {
    index: SearchIndex,
    spans: Vec<Span>,
    is_truncated: bool,
}

/// Lines of a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The number of the skill, as it was added.
    pub skill: usize,
    /// The path of the file in the skill directory.
    pub path: String,
    /// The headings above and at the start of the lines, outermost first.
    pub trail: Vec<String>,
    /// The first line, counted from 1.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
    /// The text of these lines, at most [`MAX_SECTION_BYTES`](crate::MAX_SECTION_BYTES) long.
    pub text: String,
}

/// Builds a [`ReferenceIndex`].
#[derive(Default)]
pub struct ReferenceIndexBuilder<'a> {
    builder: IndexBuilder<'a>,
    spans: Vec<Span>,
    bytes: usize,
    is_truncated: bool,
}

impl<'a> ReferenceIndexBuilder<'a> {
    /// Creates a builder without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a builder that takes over the terms of sections that `previous` contains, so that
    /// only new and changed ones are analyzed. The result is the same in both cases.
    #[must_use]
    pub fn reusing(previous: &'a ReferenceIndex) -> Self {
        Self {
            builder: IndexBuilder::reusing(&previous.index),
            ..Self::default()
        }
    }

    /// Adds the sections of a file, whose text begins at line `first_line`; Markdown by its
    /// extension is divided by headings. Sections beyond [`MAX_REFERENCE_BYTES`] are dropped.
    pub fn add_file(&mut self, skill: usize, path: &str, text: &str, first_line: usize) {
        for section in split_sections(text, first_line, TextKind::of_path(path)) {
            self.bytes += section.text.len();
            if self.bytes > MAX_REFERENCE_BYTES {
                self.is_truncated = true;
                return;
            }
            self.add_section(skill, path, section);
        }
    }

    fn add_section(&mut self, skill: usize, path: &str, section: Section<'_>) {
        let heading = section.trail.last().map_or("", String::as_str);
        let context = format!("{} {path}", section.trail.join(" "));
        self.builder
            .add(&Document::new(heading, &context, section.text));
        self.spans.push(Span {
            skill,
            path: path.to_owned(),
            trail: section.trail,
            first_line: section.first_line,
            last_line: section.last_line,
            text: section.text.to_owned(),
        });
    }

    /// Builds the index.
    #[must_use]
    pub fn build(self) -> ReferenceIndex {
        ReferenceIndex {
            index: self.builder.build(),
            spans: self.spans,
            is_truncated: self.is_truncated,
        }
    }
}

impl ReferenceIndex {
    /// Returns the number of sections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns true if there are no sections.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns true if sections were dropped because there were too many.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns at most `limit` sections that match a query, best first; none if none has a word of
    /// it.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<&Span> {
        self.search_among(query, limit, |_| true)
    }

    /// Searches like [`search`](Self::search) among the skills that `accepts` accepts, by number.
    #[must_use]
    pub fn search_among(
        &self,
        query: &str,
        limit: usize,
        accepts: impl Fn(usize) -> bool,
    ) -> Vec<&Span> {
        let ranked = self.index.rank(query).into_iter();
        let mut best = 0.0;
        ranked
            .map(|ranked| (ranked.score, &self.spans[ranked.document]))
            .filter(|(_, span)| accepts(span.skill))
            .take_while(|(score, _)| {
                best = f32::max(best, *score);
                *score >= best * MIN_SHARE_OF_BEST
            })
            .take(limit)
            .map(|(_, span)| span)
            .collect()
    }
}
