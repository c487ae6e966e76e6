//! The hooks of a skill: commands for events of its agent.

use serde_json::{Map, Value};

use crate::field_reader::FieldReader;

/// The most hooks that are read.
const MAX_HOOKS: usize = 100;

/// A hook: what runs at an event. Reading a skill never runs one.
///
/// Two spellings are read: that of Claude Code, in which an event has entries with a `matcher` and
/// a list of `hooks`, and that of the OpenSkills flow, in which an entry has the `command` itself,
/// with `timeout_ms`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// For which tools: a pattern, as written. Without one, for all.
    pub matcher: Option<String>,
    /// What it does.
    pub action: HookAction,
    /// Its deadline in seconds.
    pub timeout_seconds: Option<f64>,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookAction {
    /// It runs a command, as written.
    Command {
        /// The command.
        command: String,
        /// The directory that it wants to run in.
        cwd: Option<String>,
    },
    /// Something else, of this `type`: a prompt, a request.
    Other(String),
}

/// When a hook runs. Other events of clients are kept in
/// [`Extensions::hooks_raw`](crate::Extensions::hooks_raw) as written, and nothing comes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before a tool is used; it may forbid that.
    PreToolUse,
    /// After a tool was used.
    PostToolUse,
    /// When the agent is done; it may ask it to go on.
    Stop,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::PreToolUse, Self::PostToolUse, Self::Stop];

    /// Returns the event's name.
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
    /// Reads the hooks of the known events. One that cannot be read may have been meant to forbid
    /// something, so the field counts as unread.
    pub(crate) fn parse_all(fields: &mut FieldReader<'_>) -> Vec<Self> {
        let Some(Value::Object(events)) = fields.map.get("hooks") else {
            return Vec::new();
        };
        let mut hooks = Vec::new();
        let mut odd = None;
        for event in HookEvent::ALL {
            let Some(entries) = events
                .get(event.as_str())
                .filter(|entries| !entries.is_null())
            else {
                continue;
            };
            let entries = match entries {
                Value::Array(entries) => entries.as_slice(),
                single => std::slice::from_ref(single),
            };
            for entry in entries {
                match Self::parse_entry(event, entry) {
                    Some(read) => hooks.extend(read),
                    None => odd = Some(entry.clone()),
                }
            }
        }
        if hooks.len() > MAX_HOOKS {
            odd = Some(Value::Null);
        }
        if let Some(odd) = odd {
            fields.warn_wrong_type(
                "hooks",
                "entries with a `command`, or with a list of `hooks` that have one",
                &odd,
            );
            fields.mark_unparsed("hooks");
        }
        hooks.truncate(MAX_HOOKS);
        hooks
    }

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
        // A directory that is no text may have been meant to confine.
        let directory = match hook.get("cwd") {
            None | Some(Value::Null) => None,
            Some(directory) => Some(directory.as_str()?.to_owned()),
        };
        let action = match text("type") {
            Some(kind) if kind != "command" => HookAction::Other(kind),
            _ => HookAction::Command {
                command: text("command").filter(|command| !command.trim().is_empty())?,
                cwd: directory,
            },
        };
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
