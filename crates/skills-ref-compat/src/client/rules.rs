//! The rules of each client, taken from their documentation and sources.

use super::{Client, Severity};
use crate::strict::python::is_alphanumeric;

/// The characters that a client allows in a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NameChars {
    /// `a-z`, `0-9` and hyphens.
    Ascii,
    /// Lowercase letters and digits of any script, and hyphens.
    Unicode,
    /// ASCII letters and digits, hyphens, dots, colons, underscores and spaces.
    AsciiPermissive,
    /// All characters except slashes.
    AnyExceptSlash,
}

impl NameChars {
    pub(super) fn allows(self, c: char) -> bool {
        match self {
            Self::Ascii => matches!(c, 'a'..='z' | '0'..='9' | '-'),
            // Python's `isalnum`, which both clients with this rule call; Rust's differs on vowel
            // signs.
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
            Self::Unicode => "lowercase letters, digits and hyphens",
            Self::AsciiPermissive => "letters, digits, spaces and - _ . :",
            Self::AnyExceptSlash => "all characters except slashes",
        }
    }
}

/// How a client reacts to a text that exceeds its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OverLimit {
    Reject,
    Truncate,
}

/// The rules in which clients differ; lengths are in characters.
pub(super) struct ClientRules {
    pub(super) name_required: bool,
    pub(super) name_max_chars: Option<usize>,
    pub(super) name_chars: Option<NameChars>,
    /// How the client reacts to a name with other characters or misplaced hyphens.
    pub(super) name_chars_severity: Severity,
    pub(super) checks_hyphens: bool,
    /// How the client reacts to a name that differs from the directory; `None` if it does not
    /// check.
    pub(super) directory_mismatch_severity: Option<Severity>,
    pub(super) description_max_chars: Option<(usize, OverLimit)>,
    pub(super) rejects_angle_brackets: bool,
    /// Whether a field outside of the specification is an error.
    pub(super) rejects_unknown_fields: bool,
    /// Whether a skill is rejected because of an `argument-hint` that is not text, such as `[file]`
    /// without quotes.
    pub(super) rejects_hint_list: bool,
    /// The fields outside of the specification that the client reads.
    pub(super) extra_fields: &'static [&'static str],
}

impl ClientRules {
    /// The base of all profiles: a client that accepts nearly everything.
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
        rejects_hint_list: false,
        extra_fields: &[],
    };
    /// The rules of the specification, as its reference validator applies them.
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
            // Claude Code truncates an entry of its skill list; it rejects no description.
            Client::Claude => Self {
                description_max_chars: Some((1536, OverLimit::Truncate)),
                extra_fields: &[
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
                ],
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
                name_chars: Some(NameChars::AsciiPermissive),
                checks_hyphens: false,
                // The command line loads a skill of another name than its directory, but the editor
                // skips it silently. The stricter of the two counts.
                directory_mismatch_severity: Some(Severity::Error),
                rejects_unknown_fields: false,
                // The command line since version 1.0.65.
                rejects_hint_list: true,
                extra_fields: &[
                    "argument-hint",
                    "disable-model-invocation",
                    "user-invocable",
                    "context",
                ],
                ..Self::SPEC
            },
            Client::OpenClaw => Self {
                extra_fields: &[
                    "disable-model-invocation",
                    "user-invocable",
                    "homepage",
                    "version",
                    "command-dispatch",
                    "command-tool",
                    "command-arg-mode",
                ],
                ..Self::LENIENT
            },
            Client::Goose => Self {
                name_required: true,
                name_chars: Some(NameChars::AnyExceptSlash),
                ..Self::LENIENT
            },
            Client::DeepAgents => Self {
                name_max_chars: None,
                name_chars_severity: Severity::Warning,
                directory_mismatch_severity: Some(Severity::Warning),
                description_max_chars: Some((1024, OverLimit::Truncate)),
                rejects_unknown_fields: false,
                ..Self::SPEC
            },
            Client::AgentFramework => Self {
                name_chars: Some(NameChars::Ascii),
                rejects_unknown_fields: false,
                ..Self::SPEC
            },
        }
    }
}
