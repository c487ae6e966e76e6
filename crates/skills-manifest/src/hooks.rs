//! Hooks: commands that a skill attaches to events of its agent.

use serde_json::{Map, Value};

use crate::field_reader::FieldReader;

/// Maximum number of hooks of a skill; more make the restriction count as unparsed.
const MAX_HOOKS: usize = 100;

/// A hook: an action that the agent performs at an event. Parsing never runs one.
///
/// Two forms are parsed: that of Claude Code, in which an event has entries with a `matcher` and a
/// list of `hooks`, and that of the OpenSkills flow, in which the entry itself has the `command`
/// and `timeout_ms`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hook {
    /// The event that triggers the hook.
    pub event: HookEvent,
    /// A pattern of the tools that trigger it, as written; `None` for all tools.
    pub matcher: Option<String>,
    /// The action of the hook.
    pub action: HookAction,
    /// The deadline in seconds, greater than 0; `None` for the default of the host application.
    pub timeout_seconds: Option<f64>,
}

/// The action of a hook.
///
/// Only commands are supported; other types are kept so that a host application can report them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookAction {
    /// A command for a shell, as written.
    Command {
        /// The command.
        command: String,
        /// The working directory, as written.
        cwd: Option<String>,
    },
    /// Another action, with its `type`, such as `prompt` or `http`.
    Other(String),
}

/// The event that triggers a hook.
///
/// Hooks of other events are only in [`Extensions::hooks_raw`](crate::Extensions::hooks_raw), as
/// written, and never run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before a tool call, which the hook may deny.
    PreToolUse,
    /// After a tool call.
    PostToolUse,
    /// When the agent stops; the hook may make it continue.
    Stop,
}

impl HookEvent {
    /// All events, in the order in which hooks are parsed.
    pub const ALL: [Self; 3] = [Self::PreToolUse, Self::PostToolUse, Self::Stop];

    /// Returns the name of the event, as `hooks` has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
        }
    }
}

impl Hook {
    /// Parses the hooks of the known events, at most [`MAX_HOOKS`].
    ///
    /// An invalid hook may have been written to deny a tool call, so one of them makes `hooks`
    /// count as an unparsed restriction.
    pub(crate) fn parse_all(fields: &mut FieldReader<'_>) -> Vec<Self> {
        let Some(Value::Object(events)) = fields.map.get("hooks") else {
            return Vec::new();
        };
        let mut hooks = Vec::new();
        let mut invalid = None;
        for event in HookEvent::ALL {
            let Some(entries) = events
                .get(event.as_str())
                .filter(|entries| !entries.is_null())
            else {
                continue;
            };
            // Some skills write the only entry of an event without a list.
            let entries = match entries {
                Value::Array(entries) => entries.as_slice(),
                single => std::slice::from_ref(single),
            };
            for entry in entries {
                match Self::parse_entry(event, entry) {
                    Some(parsed) => hooks.extend(parsed),
                    None => invalid = Some(entry.clone()),
                }
            }
        }
        if hooks.len() > MAX_HOOKS {
            invalid = Some(Value::Null);
        }
        if let Some(invalid) = invalid {
            fields.warn_wrong_type(
                "hooks",
                "entries with a `command`, or with a list of `hooks` that have one",
                &invalid,
            );
            fields.mark_unparsed("hooks");
        }
        // Bounds the result; the field is unparsed already, so no hook of the rest is skipped
        // silently.
        hooks.truncate(MAX_HOOKS);
        hooks
    }

    /// Parses an entry of an event; `None` if any part of it is invalid.
    fn parse_entry(event: HookEvent, entry: &Value) -> Option<Vec<Self>> {
        let entry = entry.as_object()?;
        let matcher = match entry.get("matcher") {
            None | Some(Value::Null) => None,
            Some(matcher) => Some(matcher.as_str()?.to_owned()),
        };
        match entry.get("hooks") {
            None => Some(vec![Self::parse(event, matcher, entry)?]),
            Some(Value::Array(hooks)) => hooks
                .iter()
                .map(|hook| Self::parse(event, matcher.clone(), hook.as_object()?))
                .collect(),
            Some(_) => None,
        }
    }

    fn parse(event: HookEvent, matcher: Option<String>, hook: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| hook.get(key).and_then(Value::as_str).map(str::to_owned);
        // Dropping an invalid directory would run the command in another one than its author meant.
        let cwd = match hook.get("cwd") {
            None | Some(Value::Null) => None,
            Some(cwd) => Some(cwd.as_str()?.to_owned()),
        };
        let action = match text("type") {
            Some(kind) if kind != "command" => HookAction::Other(kind),
            // Hooks of the OpenSkills flow have no `type`.
            _ => HookAction::Command {
                command: text("command").filter(|command| !command.trim().is_empty())?,
                cwd,
            },
        };
        // The host application substitutes its default for a timeout that could never end a hook.
        let milliseconds = hook
            .get("timeout_ms")
            .and_then(Value::as_f64)
            .map(|milliseconds| milliseconds / 1_000.0);
        let seconds = hook.get("timeout").and_then(Value::as_f64).or(milliseconds);
        Some(Self {
            event,
            matcher,
            action,
            timeout_seconds: seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0),
        })
    }
}
