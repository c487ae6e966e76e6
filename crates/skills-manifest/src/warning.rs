//! Warnings: the non-fatal problems of a `SKILL.md`.

use std::fmt;

use crate::invisible::escape_invisible;
use crate::{NameError, Position, SpecViolation};

/// A non-fatal problem of a `SKILL.md`: the skill still loads.
///
/// A field that cannot be parsed is dropped, and a restriction among them counts as set, so that no
/// warning ever means a skill with more permissions than its author wrote. [`kind`](Self::kind) is
/// for programs, the `Display` form (`line 3: …`) for people; it contains no path, which the caller
/// knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    kind: WarningKind,
    position: Option<Position>,
}

impl Warning {
    pub(crate) fn new(kind: WarningKind, position: Option<Position>) -> Self {
        Self { kind, position }
    }

    /// Returns the class of the warning with its facts, to branch on.
    #[must_use]
    pub fn kind(&self) -> &WarningKind {
        &self.kind
    }

    /// Returns the line of the file, counted from 1, or `None` if it is not known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    /// Returns the line and column in the file, or `None` if they are not known.
    ///
    /// For a field, this is where its value starts.
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
///
/// The `Display` form is a message of one line, `<fact>; <effect>`, in which characters that a
/// terminal could act on are escaped. [`code`](Self::code) is stable across releases, the words of
/// the messages are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WarningKind {
    // Each message is `<fact>; <effect or remedy>`, without a full stop.
    /// The file starts with a UTF-8 byte order mark, which was skipped.
    #[error("byte order mark skipped; save the file without one")]
    ByteOrderMark,
    /// Blank lines precede the opening delimiter.
    #[error("blank lines before the opening `---`; other clients reject them")]
    BlankBeforeDelimiter,
    /// An HTML comment precedes the opening delimiter; it was skipped.
    #[error("comment before the opening `---`; other clients reject it")]
    CommentBeforeDelimiter,
    /// The frontmatter is inside a Markdown code block.
    #[error("the frontmatter is in a code block; other clients reject it")]
    FrontmatterInCodeBlock,
    /// A delimiter has more than three dashes, or a backslash before them.
    #[error("non-standard delimiter; write exactly `---`")]
    NonStandardDelimiter,
    /// A delimiter is indented.
    #[error("indented delimiter; write `---` at the start of the line")]
    IndentedDelimiter,
    /// The file starts with a field instead of `---`; its fields up to the first blank line were
    /// read.
    #[error("missing `---` delimiters; fields read up to the first blank line")]
    MissingDelimiters,
    /// The file has no frontmatter; all of it is the body
    /// ([`MissingDescription`](crate::MissingDescription)).
    #[error("missing frontmatter; other clients reject the file")]
    NoFrontmatter,
    /// The description is missing and was read from the body, or is empty
    /// ([`MissingDescription`](crate::MissingDescription)).
    #[error("missing field `description`; {0}")]
    NoDescription(&'static str),
    /// No delimiter closes the frontmatter; its fields up to the first blank line were read.
    #[error("missing closing `---`; fields read up to the first blank line")]
    UnclosedFrontmatter,
    /// The frontmatter is not valid YAML and was repaired; each repair is a warning of its own.
    #[error("invalid YAML, repaired: {problem}")]
    YamlRepaired {
        /// The message of the YAML library.
        problem: String,
    },
    /// A key of a mapping is itself a mapping or a list, which is rejected; each repair is a
    /// warning of its own.
    #[error("a key is {found}; write keys as text and quote values that contain `{{{{`")]
    KeyNotScalar {
        /// The type of the key, such as `a mapping`.
        found: &'static str,
    },
    /// A value that is not valid YAML was read as text, as if it were in quotes.
    #[error(
        "the value of `{}` is not valid YAML; read as text, put it in quotes",
        escape_invisible(key)
    )]
    ValueQuoted {
        /// The key of the value, or `-` for an item of a list.
        key: String,
    },
    /// A line is indented with tabs, each of which was read as two spaces.
    #[error("tabs in the indentation; read as spaces, YAML forbids tabs there")]
    TabIndentation,
    /// The YAML could not be parsed; this field was recovered from its line alone.
    #[error("`{field}` recovered from its line; other fields are ignored")]
    RecoveredFromLine {
        /// The field.
        field: &'static str,
    },
    /// A key occurs twice in one mapping; the first value was kept.
    #[error("duplicate key `{}`; using the first", escape_invisible(.0))]
    DuplicateKey(String),
    /// A field has a non-standard spelling, such as `allowed_tools`.
    #[error("unknown field `{}`; read as `{field}`", escape_invisible(raw))]
    MisspelledField {
        /// The spelling in the file.
        raw: String,
        /// The standard spelling.
        field: &'static str,
    },
    /// `<<` is an ordinary key; the fields that it would merge were ignored.
    #[error("merge key `<<` is ignored; write the fields out")]
    MergeKey,
    /// A value has a YAML tag, which was ignored.
    #[error("YAML tags (`!…`) are ignored; write plain values")]
    TagDropped,
    /// A declared restriction could not be parsed; the skill is not model-invocable and its scripts
    /// do not run.
    #[error("cannot parse `{0}`; the skill is disabled for the model and its scripts do not run")]
    UnparsedRestriction(&'static str),
    /// `name` is not a valid [`SkillName`](crate::SkillName); the name of the directory is used.
    #[error("{0}; using the directory name")]
    InvalidName(NameError),
    /// `name` is accepted but violates a rule of the specification.
    #[error("`name` {0}")]
    NameViolatesSpec(SpecViolation),
    /// A text contains invisible characters; prompts and lists drop them.
    #[error(
        "`{field}` contains the invisible character U+{code_point:04X}{}",
        hidden_text(decoded_tags)
    )]
    InvisibleText {
        /// The field, `frontmatter` for all other fields, or `body`.
        field: &'static str,
        /// The first of them, as a Unicode code point.
        code_point: u32,
        /// The ASCII text that tag characters among them encode; empty if there are none.
        decoded_tags: String,
    },
    /// A value is longer than the specification allows; it was kept whole.
    #[error("`{field}` is {characters} characters, limit {limit}")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in characters.
        characters: usize,
        /// The maximum of the specification, in characters.
        limit: usize,
    },
    /// A field has an unsupported type; it was dropped, and a restriction counts as set.
    #[error("invalid type for `{field}`: expected {expected}, found {found}; ignored")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The supported types.
        expected: &'static str,
        /// The type in the file.
        found: &'static str,
    },
    /// A field should be text but is another scalar or a list, which was converted to text.
    #[error("`{field}` is not text; read as text, put it in quotes")]
    NotText {
        /// The field.
        field: &'static str,
    },
    /// A text that is not in quotes ends at ` #`, which starts a comment in YAML; clients never see
    /// the rest. The position is that of the `#`.
    #[error(
        "`{field}` ends at column {column}, where ` #` starts a comment; put the text in quotes"
    )]
    CutByComment {
        /// The field.
        field: &'static str,
        /// The column of the `#` in characters, counted from 1.
        column: usize,
    },
    /// `context` has an unknown value; it was dropped and restricts nothing.
    #[error(
        "invalid value `{}` for `context`: expected `fork`; ignored",
        escape_invisible(.0)
    )]
    UnknownContext(String),
    /// An entry of `allowed-tools` or `disallowed-tools` is invalid; it was dropped and grants
    /// nothing.
    #[error("invalid entry `{}` in `{field}`; ignored", escape_invisible(entry))]
    InvalidToolPattern {
        /// The field.
        field: &'static str,
        /// The entry as written.
        entry: String,
    },
    /// A value in `metadata` has an unsupported type and was ignored.
    #[error("invalid type for `metadata.{key}`: expected {expected}, found {found}; ignored")]
    MetadataType {
        /// The path below `metadata`, with dots between the keys.
        key: String,
        /// The supported types.
        expected: &'static str,
        /// The type in the file.
        found: &'static str,
    },
    /// `metadata` or a value in it is neither a mapping nor JSON text of one.
    #[error("`metadata{}{key}` is not valid JSON; ignored", if key.is_empty() { "" } else { "." })]
    InvalidMetadataJson {
        /// The key below `metadata`; empty for `metadata` itself.
        key: String,
    },
}

impl WarningKind {
    /// Returns true if the end of the frontmatter was inferred from its text.
    ///
    /// The caller then searches the text after it for restrictions.
    pub(crate) fn has_inferred_end(&self) -> bool {
        matches!(
            self,
            Self::MissingDelimiters
                | Self::UnclosedFrontmatter
                | Self::NonStandardDelimiter
                | Self::IndentedDelimiter
                | Self::FrontmatterInCodeBlock
        )
    }

    /// Returns the stable code of this class, as JSON output shows it.
    ///
    /// Codes stay when variants or messages are renamed.
    #[must_use]
    pub fn code(&self) -> &'static str {
        // Some codes have older words than the variants: programs of users compare them.
        match self {
            Self::ByteOrderMark => "byte-order-mark",
            Self::BlankBeforeDelimiter => "blank-before-fence",
            Self::CommentBeforeDelimiter => "comment-before-fence",
            Self::FrontmatterInCodeBlock => "fenced-frontmatter",
            Self::NonStandardDelimiter | Self::IndentedDelimiter => "odd-fence",
            Self::MissingDelimiters => "no-fence",
            Self::UnclosedFrontmatter => "not-closed",
            Self::NoFrontmatter => "no-frontmatter",
            Self::NoDescription(_) => "no-description",
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
            Self::CutByComment { .. } => "cut-by-comment",
            Self::UnknownContext(_) => "unknown-context",
            Self::InvalidToolPattern { .. } => "tool-unreadable",
            Self::MetadataType { .. } => "metadata-type",
            Self::InvalidMetadataJson { .. } => "metadata-unreadable",
        }
    }
}

fn hidden_text(decoded_tags: &str) -> String {
    if decoded_tags.is_empty() {
        String::new()
    } else {
        format!("; hidden text: {decoded_tags:?}")
    }
}
