//! The tokens of YAML.

use super::mark::Mark;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    StreamEnd,
    Directive(Directive),
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    /// A bracket or comma of flow style: `[`, `]`, `{`, `}` or `,`.
    Flow(char),
    Key,
    Value,
    BlockEntry,
    Alias(String),
    Anchor,
    Tag,
    /// `plain` means without quotes and not a block scalar.
    Scalar {
        value: String,
        plain: bool,
    },
    /// Comments are tokens in ruamel.yaml, and their number changes how far the scanner looks
    /// ahead.
    Comment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Directive {
    Version { major: String },
    Tag { handle: String },
    Other,
}

impl Token {
    pub(super) fn new(kind: TokenKind, start: Mark, end: Mark) -> Self {
        Self { kind, start, end }
    }
}

impl TokenKind {
    /// Returns the name of the token in messages.
    pub(super) fn id(&self) -> String {
        let id = match self {
            Self::StreamEnd => "<stream end>",
            Self::Directive(_) => "<directive>",
            Self::DocumentEnd => "<document end>",
            Self::BlockSequenceStart => "<block sequence start>",
            Self::BlockMappingStart => "<block mapping start>",
            Self::BlockEnd => "<block end>",
            Self::Flow(c) => return c.to_string(),
            Self::Key => "?",
            Self::Value => ":",
            Self::BlockEntry => "-",
            Self::Alias(_) => "<alias>",
            Self::Anchor => "<anchor>",
            Self::Tag => "<tag>",
            Self::Scalar { .. } => "<scalar>",
            Self::Comment => "<comment>",
        };
        id.to_owned()
    }
}
