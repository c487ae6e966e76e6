//! The rules of each client, gathered from their documentation and sources.

use super::{Client, Severity};
use crate::strict::python::is_alphanumeric;

/// The characters of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Letters {
    /// `a-z`, `0-9` and hyphens.
    Ascii,
    /// Lower-case letters and digits of any script, and hyphens.
    Unicode,
    /// ASCII letters and digits, hyphens, dots, colons, underscores and spaces.
    Loose,
    /// Anything but slashes.
    NoSlash,
}

impl Letters {
    pub(super) fn allow(self, c: char) -> bool {
        match self {
            Self::Ascii => matches!(c, 'a'..='z' | '0'..='9' | '-'),
            Self::Unicode => c == '-' || (is_alphanumeric(c) && !c.is_uppercase()),
            Self::Loose => c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | ' '),
            Self::NoSlash => c != '/',
        }
    }

    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Ascii => "a-z, 0-9 and hyphens",
            Self::Unicode => "lower-case letters, digits and hyphens",
            Self::Loose => "letters, digits, spaces and - _ . :",
            Self::NoSlash => "no slash",
        }
    }
}

/// What a client does with a text that is too long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TooLong {
    Refuses,
    Cuts,
}

impl TooLong {
    pub(super) fn described(self, limit: usize) -> String {
        match self {
            Self::Refuses => format!("refuses more than {limit}"),
            Self::Cuts => format!("shows {limit} of them"),
        }
    }
}

/// The rules in which clients differ.
pub(super) struct Rules {
    pub(super) name_required: bool,
    pub(super) name_max: Option<usize>,
    pub(super) letters: Option<Letters>,
    /// What the client makes of a name with other letters.
    pub(super) letters_severity: Severity,
    pub(super) hyphens_matter: bool,
    /// What the client makes of a name that is not the directory's; nothing when it does not look.
    pub(super) directory_severity: Option<Severity>,
    pub(super) description_max: Option<(usize, TooLong)>,
    pub(super) no_angle_brackets: bool,
    /// Whether a field that the specification does not know is an error.
    pub(super) only_specified: bool,
    /// The fields beyond the specification's that the client reads.
    pub(super) fields: &'static [&'static str],
}

const CLAUDE_FIELDS: &[&str] = &[
    "when_to_use",
    "argument-hint",
    "arguments",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
];
const COPILOT_FIELDS: &[&str] = &["argument-hint", "disable-model-invocation", "user-invocable", "context"];
const OPENCLAW_FIELDS: &[&str] =
    &["disable-model-invocation", "user-invocable", "homepage", "version", "command-dispatch", "command-tool", "command-arg-mode"];

impl Rules {
    /// A client that takes nearly everything.
    const LENIENT: Self = Self {
        name_required: false,
        name_max: None,
        letters: None,
        letters_severity: Severity::Error,
        hyphens_matter: false,
        directory_severity: None,
        description_max: None,
        no_angle_brackets: false,
        only_specified: false,
        fields: &[],
    };
    /// The specification to the letter.
    const SPEC: Self = Self {
        name_required: true,
        name_max: Some(64),
        letters: Some(Letters::Unicode),
        hyphens_matter: true,
        directory_severity: Some(Severity::Error),
        description_max: Some((1024, TooLong::Refuses)),
        only_specified: true,
        ..Self::LENIENT
    };

    pub(super) fn of(client: Client) -> Self {
        match client {
            Client::Spec => Self::SPEC,
            Client::Claude => Self { description_max: Some((1536, TooLong::Cuts)), fields: CLAUDE_FIELDS, ..Self::LENIENT },
            Client::ClaudeApi => Self { letters: Some(Letters::Ascii), no_angle_brackets: true, ..Self::SPEC },
            Client::Codex => Self { name_max: Some(64), description_max: Some((1024, TooLong::Cuts)), ..Self::LENIENT },
            Client::Gemini => Self { name_required: true, ..Self::LENIENT },
            Client::Copilot => Self {
                name_required: true,
                name_max: Some(64),
                letters: Some(Letters::Loose),
                // The editor does not load it without a word, the command line does.
                directory_severity: Some(Severity::Error),
                description_max: Some((1024, TooLong::Refuses)),
                fields: COPILOT_FIELDS,
                ..Self::LENIENT
            },
            Client::OpenClaw => Self { fields: OPENCLAW_FIELDS, ..Self::LENIENT },
            Client::Goose => Self { name_required: true, letters: Some(Letters::NoSlash), ..Self::LENIENT },
            Client::DeepAgents => Self {
                name_required: true,
                letters: Some(Letters::Unicode),
                letters_severity: Severity::Warning,
                hyphens_matter: true,
                directory_severity: Some(Severity::Warning),
                description_max: Some((1024, TooLong::Cuts)),
                ..Self::LENIENT
            },
            Client::AgentFramework => Self {
                name_required: true,
                name_max: Some(64),
                letters: Some(Letters::Ascii),
                hyphens_matter: true,
                directory_severity: Some(Severity::Error),
                description_max: Some((1024, TooLong::Refuses)),
                ..Self::LENIENT
            },
        }
    }
}
