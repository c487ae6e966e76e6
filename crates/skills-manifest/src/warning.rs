//! What is wrong with a skill that loads all the same.

use std::fmt;

use crate::{NameError, Position, SpecViolation};

/// One thing that is wrong with a `SKILL.md` that loads all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    kind: WarningKind,
    position: Option<Position>,
}

impl Warning {
    pub(crate) fn new(kind: WarningKind, position: Option<Position>) -> Self {
        Self { kind, position }
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn kind(&self) -> &WarningKind {
        &self.kind
    }

    /// Returns the line of the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    /// Returns the line and column in the file.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.position
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line() {
            write!(f, "line {line}: ")?;
        }
        self.kind.fmt(f)
    }
}

/// The classes of [`Warning`], with the facts of each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The file starts with a byte order mark, which was skipped.
    ByteOrderMark,
    /// Blank lines stand before the opening fence.
    BlankBeforeDelimiter,
    /// An HTML comment stands before the opening fence; it was skipped.
    CommentBeforeDelimiter,
    /// The frontmatter stands in a Markdown code block.
    FrontmatterInCodeBlock,
    /// A fence has more than three dashes or a backslash.
    NonStandardDelimiter,
    /// The file begins with a field; its fields up to the first empty line were read.
    MissingDelimiters,
    /// No fence closes the frontmatter; its fields were read.
    UnclosedFrontmatter,
    /// The frontmatter is no YAML; what was done about it follows.
    YamlRepaired {
        /// What the YAML library says of it.
        problem: String,
    },
    /// A key of a mapping is itself a mapping or a list, which is not read; what was done about it
    /// follows.
    KeyNotScalar {
        /// What the key is.
        found: &'static str,
    },
    /// A value was put in quotes, because YAML does not read it as it stands.
    ValueQuoted {
        /// The key before it, or `-` for an item of a list.
        key: String,
    },
    /// A line is indented with tabs, which were read as spaces.
    TabIndentation,
    /// Nothing but the lines of this field could be read.
    RecoveredFromLine {
        /// The field.
        field: &'static str,
    },
    /// A key stands twice in one mapping; the first was kept.
    DuplicateKey(String),
    /// A field is spelled otherwise than clients spell it.
    MisspelledField {
        /// As it stands in the file.
        raw: String,
        /// As it should be.
        field: &'static str,
    },
    /// `<<` is an ordinary key here; what it would merge was not read.
    MergeKey,
    /// A value has a YAML tag, which was dropped and never acted on.
    TagDropped,
    /// A declared restriction could not be read; the model is not offered the skill and its
    /// programs do not run.
    UnparsedRestriction(&'static str),
    /// `name` is no usable name; it was dropped and the directory's name serves.
    InvalidName(NameError),
    /// `name` works but breaks a rule of the specification.
    NameViolatesSpec(SpecViolation),
    /// A text holds characters that no reader sees; they are taken out where it is shown.
    InvisibleText {
        /// The field, or `body`.
        field: &'static str,
        /// The first of them.
        code_point: u32,
        /// What tag characters among them spell; empty when there are none.
        decoded_tags: String,
    },
    /// A value longer than the specification allows; kept whole.
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in characters.
        characters: usize,
        /// The most that the specification allows.
        limit: usize,
    },
    /// A field has a type that cannot be read; it was dropped, and its most restrictive reading
    /// holds.
    WrongType {
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A field should be text but is something else, which was read as text.
    NotText {
        /// The field.
        field: &'static str,
    },
    /// `context` has a value that no client knows; dropped.
    UnknownContext(String),
    /// An entry of `allowed-tools` or `disallowed-tools` could not be read; dropped, it grants
    /// nothing.
    InvalidToolPattern {
        /// The field.
        field: &'static str,
        /// The entry.
        entry: String,
    },
    /// A part of `metadata` has a type that cannot be read; it was not understood.
    MetadataType {
        /// The keys below `metadata`, with dots between them.
        key: String,
        /// What it should be.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// `metadata` or a part of it is text that is no JSON.
    InvalidMetadataJson {
        /// The key of `metadata`; empty for all of it.
        key: String,
    },
}

impl WarningKind {
    /// Whether something of the frontmatter may have been missed.
    pub(crate) fn may_have_lost_fields(&self) -> bool {
        matches!(
            self,
            Self::YamlRepaired { .. }
                | Self::KeyNotScalar { .. }
                | Self::RecoveredFromLine { .. }
                | Self::MissingDelimiters
                | Self::UnclosedFrontmatter
                | Self::NonStandardDelimiter
                | Self::FrontmatterInCodeBlock
        )
    }

    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte-order-mark",
            Self::BlankBeforeDelimiter => "blank-before-fence",
            Self::CommentBeforeDelimiter => "comment-before-fence",
            Self::FrontmatterInCodeBlock => "fenced-frontmatter",
            Self::NonStandardDelimiter => "odd-fence",
            Self::MissingDelimiters => "no-fence",
            Self::UnclosedFrontmatter => "not-closed",
            Self::YamlRepaired { .. } => "yaml-recovered",
            Self::KeyNotScalar { .. } => "yaml-key",
            Self::ValueQuoted { .. } => "value-quoted",
            Self::TabIndentation => "tab-indentation",
            Self::RecoveredFromLine { .. } => "line-read",
            Self::DuplicateKey(_) => "duplicate-key",
            Self::MisspelledField { .. } => "field-spelling",
            Self::MergeKey => "merge-key",
            Self::TagDropped => "tag-dropped",
            Self::UnparsedRestriction(_) => "restriction-unread",
            Self::InvalidName(_) => "name-unusable",
            Self::NameViolatesSpec(_) => "name-rule",
            Self::InvisibleText { .. } => "hidden-unicode",
            Self::TooLong { .. } => "too-long",
            Self::WrongType { .. } => "wrong-type",
            Self::NotText { .. } => "not-text",
            Self::UnknownContext(_) => "unknown-context",
            Self::InvalidToolPattern { .. } => "tool-unreadable",
            Self::MetadataType { .. } => "metadata-type",
            Self::InvalidMetadataJson { .. } => "metadata-unreadable",
        }
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("byte order mark skipped; save the file without one"),
            Self::BlankBeforeDelimiter => f.write_str("blank lines before the first `---`; other clients refuse them"),
            Self::CommentBeforeDelimiter => f.write_str("a comment stands before the first `---`; other clients refuse it"),
            Self::FrontmatterInCodeBlock => f.write_str("the frontmatter stands in a code block; other clients refuse it"),
            Self::NonStandardDelimiter => f.write_str("read as a fence; write exactly `---`"),
            Self::MissingDelimiters => {
                f.write_str("no fences: fields read up to the first empty line that none follows; put `---` before and behind them")
            }
            Self::UnclosedFrontmatter => f.write_str(
                "no `---` closes the frontmatter: fields read up to the first empty line that none follows; put one behind them",
            ),
            Self::YamlRepaired { problem } => write!(f, "read all the same, but not valid YAML: {problem}"),
            Self::KeyNotScalar { found } => write!(f, "a key is {found}; write keys as text, and a value that holds `{{{{` in quotes"),
            Self::ValueQuoted { key } => write!(f, "the value of {key:?} was read as one text; put it in quotes"),
            Self::TabIndentation => f.write_str("tabs read as spaces; YAML forbids tabs before a key"),
            Self::RecoveredFromLine { field } => write!(f, "only the line of `{field}` was read"),
            Self::DuplicateKey(key) => write!(f, "{key:?} stands twice; the first was kept"),
            Self::MisspelledField { raw: written, field } => write!(f, "{written:?} read as `{field}`"),
            Self::MergeKey => f.write_str("`<<` is not merged; write the fields out"),
            Self::TagDropped => f.write_str("YAML tags (`!…`) dropped; write plain values"),
            Self::UnparsedRestriction(field) => {
                write!(f, "`{field}` could not be read; until it is mended the model is not offered the skill and nothing of it runs")
            }
            Self::InvalidName(error) => write!(f, "name dropped: {error}"),
            Self::NameViolatesSpec(problem) => write!(f, "name {problem}"),
            Self::InvisibleText { field, code_point, decoded_tags: spelled } => {
                write!(f, "`{field}` holds the invisible character U+{code_point:04X}")?;
                if spelled.is_empty() { Ok(()) } else { write!(f, "; hidden text: {spelled:?}") }
            }
            Self::TooLong { field, characters, limit } => {
                write!(f, "`{field}` has {characters} characters, the specification allows {limit}")
            }
            Self::WrongType { field, expected, found } => {
                write!(f, "`{field}` dropped: expected {expected}, found {found}")
            }
            Self::NotText { field } => write!(f, "`{field}` is not text; put it in quotes"),
            Self::UnknownContext(value) => write!(f, "`context` dropped: {value:?} is not `fork`"),
            Self::InvalidToolPattern { field, entry } => write!(f, "`{field}` entry dropped: {entry:?}"),
            Self::MetadataType { key, expected, found } => write!(f, "`metadata.{key}` not understood: expected {expected}, found {found}"),
            Self::InvalidMetadataJson { key } if key.is_empty() => f.write_str("`metadata` dropped: the text is no JSON"),
            Self::InvalidMetadataJson { key } => write!(f, "`metadata.{key}` not understood: the text is no JSON"),
        }
    }
}
