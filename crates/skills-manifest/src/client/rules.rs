//! The rules of each client, gathered from their documentation and sources.

use super::{Client, Severity};
use crate::strict::python::is_alphanumeric;

/// The characters of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NameChars {
    /// `a-z`, `0-9` and hyphens.
    Ascii,
    /// Lower-case letters and digits of any script, and hyphens.
    Unicode,
    /// ASCII letters and digits, hyphens, dots, colons, underscores and spaces.
    AsciiPermissive,
    /// Anything but slashes.
    AnyExceptSlash,
}

impl NameChars {
    pub(super) fn allows(self, c: char) -> bool {
        match self {
            Self::Ascii => matches!(c, 'a'..='z' | '0'..='9' | '-'),
            Self::Unicode => c == '-' || (is_alphanumeric(c) && !c.is_uppercase()),
            Self::AsciiPermissive => {
                c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | ' ')
            }
            Self::AnyExceptSlash => c != '/',
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Ascii => "a-z, 0-9 and hyphens",
            Self::Unicode => "lower-case letters, digits and hyphens",
            Self::AsciiPermissive => "letters, digits, spaces and - _ . :",
            Self::AnyExceptSlash => "no slash",
        }
    }
}

/// What a client does with a text that is too long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OverLimit {
    Reject,
    Truncate,
}

impl OverLimit {
    pub(super) fn describe(self, limit: usize) -> String {
        match self {
            Self::Reject => format!("refuses more than {limit}"),
            Self::Truncate => format!("shows {limit} of them"),
        }
    }
}

/// The rules in which clients differ.
pub(super) struct ClientRules {
    pub(super) name_required: bool,
    pub(super) name_max_chars: Option<usize>,
    pub(super) name_chars: Option<NameChars>,
    /// What the client makes of a name with other letters.
    pub(super) name_chars_severity: Severity,
    pub(super) checks_hyphens: bool,
    /// What the client makes of a name that is not the directory's; nothing when it does not look.
    pub(super) directory_mismatch_severity: Option<Severity>,
    pub(super) description_max_chars: Option<(usize, OverLimit)>,
    pub(super) rejects_angle_brackets: bool,
    /// Whether a field that the specification does not know is an error.
    pub(super) rejects_unknown_fields: bool,
    /// The fields beyond the specification's that the client reads.
    pub(super) extra_fields: &'static [&'static str],
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
const COPILOT_FIELDS: &[&str] = &[
    "argument-hint",
    "disable-model-invocation",
    "user-invocable",
    "context",
];
const OPENCLAW_FIELDS: &[&str] = &[
    "disable-model-invocation",
    "user-invocable",
    "homepage",
    "version",
    "command-dispatch",
    "command-tool",
    "command-arg-mode",
];

impl ClientRules {
    /// A client that takes nearly everything.
    const LENIENT: Self = Self {
        name_required: false,
        name_max_chars: None,
        name_chars: None,
        name_chars_severity: Severity::Error,
        checks_hyphens: false,
        directory_mismatch_severity: None,
        description_max_chars: None,
        rejects_angle_brackets: false,
        rejects_unknown_fields: false,
        extra_fields: &[],
    };
    /// The specification to the letter.
    const SPEC: Self = Self {
        name_required: true,
        name_max_chars: Some(64),
        name_chars: Some(NameChars::Unicode),
        checks_hyphens: true,
        directory_mismatch_severity: Some(Severity::Error),
        description_max_chars: Some((1024, OverLimit::Reject)),
        rejects_unknown_fields: true,
        ..Self::LENIENT
    };

    pub(super) fn for_client(client: Client) -> Self {
        match client {
            Client::Spec => Self::SPEC,
            Client::Claude => Self {
                description_max_chars: Some((1536, OverLimit::Truncate)),
                extra_fields: CLAUDE_FIELDS,
                ..Self::LENIENT
            },
            Client::ClaudeApi => Self {
                name_chars: Some(NameChars::Ascii),
                rejects_angle_brackets: true,
                ..Self::SPEC
            },
            Client::Codex => Self {
                name_max_chars: Some(64),
                description_max_chars: Some((1024, OverLimit::Truncate)),
                ..Self::LENIENT
            },
            Client::Gemini => Self {
                name_required: true,
                ..Self::LENIENT
            },
            Client::Copilot => Self {
                name_required: true,
                name_max_chars: Some(64),
                name_chars: Some(NameChars::AsciiPermissive),
                // The editor does not load it without a word, the command line does.
                directory_mismatch_severity: Some(Severity::Error),
                description_max_chars: Some((1024, OverLimit::Reject)),
                extra_fields: COPILOT_FIELDS,
                ..Self::LENIENT
            },
            Client::OpenClaw => Self {
                extra_fields: OPENCLAW_FIELDS,
                ..Self::LENIENT
            },
            Client::Goose => Self {
                name_required: true,
                name_chars: Some(NameChars::AnyExceptSlash),
                ..Self::LENIENT
            },
            Client::DeepAgents => Self {
                name_required: true,
                name_chars: Some(NameChars::Unicode),
                name_chars_severity: Severity::Warning,
                checks_hyphens: true,
                directory_mismatch_severity: Some(Severity::Warning),
                description_max_chars: Some((1024, OverLimit::Truncate)),
                ..Self::LENIENT
            },
            Client::AgentFramework => Self {
                name_required: true,
                name_max_chars: Some(64),
                name_chars: Some(NameChars::Ascii),
                checks_hyphens: true,
                directory_mismatch_severity: Some(Severity::Error),
                description_max_chars: Some((1024, OverLimit::Reject)),
                ..Self::LENIENT
            },
        }
    }
}
