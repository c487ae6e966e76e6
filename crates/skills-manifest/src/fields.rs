//! Takes fields out of a mapping one by one and notes what is wrong with them.

use serde_json::{Map, Value};

use crate::ToolRule;
use crate::frontmatter::Frontmatter;
use crate::hidden::{self, is_hidden};
use crate::manifest::RESTRICTIONS;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};

/// The fields that this crate understands, in the spelling of the clients that made them.
const KNOWN: [&str; 29] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "disallowed-tools",
    "when_to_use",
    "argument-hint",
    "arguments",
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
    "homepage",
    "version",
    "command-dispatch",
    "command-tool",
    "command-arg-mode",
    "scripts",
    "emoji",
    "tags",
    "author",
];

/// Says whether `written` is a field's name but for upper case, hyphens and underscores, or a misspelling that is common in the wild.
pub(crate) fn is_spelling_of(written: &str, field: &str) -> bool {
    let plain = |text: &str| -> Vec<u8> {
        let letters = text.trim().bytes().filter(|b| !matches!(b, b'-' | b'_')).map(|b| b.to_ascii_lowercase());
        letters.collect()
    };
    // No field is that long, and most words are no field.
    if written.len() > 64 {
        return false;
    }
    let written = plain(written);
    written == plain(field)
        || (field == "user-invocable" && written == b"userinvokable")
        || (field == "allowed-tools" && written == b"tools")
}

/// A mapping whose fields are read, and what is wrong with them.
pub(crate) struct Fields<'a> {
    pub(crate) map: Map<String, Value>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) unread: Vec<&'static str>,
    frontmatter: &'a Frontmatter<'a>,
    /// Fields and the spellings in which they stand in the file.
    written: Vec<(&'static str, String)>,
    places: Vec<(String, Option<Position>)>,
    /// The first key below which an escape writes a hidden character, and what is reported of it.
    escaped: Option<(String, WarningKind)>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(map: Map<String, Value>, frontmatter: &'a Frontmatter<'a>, warnings: Vec<Warning>) -> Self {
        let escaped = escaped_hidden_text(&map, frontmatter.yaml());
        let mut fields = Self { map, warnings, unread: Vec::new(), frontmatter, written: Vec::new(), places: Vec::new(), escaped };
        fields.respell();
        fields
    }

    /// Gives fields in odd spellings their names, unless the right one is there too.
    fn respell(&mut self) {
        let odd = |key: &&String| !KNOWN.contains(&key.as_str());
        let found: Vec<(String, &'static str)> = (self.map.keys().filter(odd))
            .filter_map(|key| Some((key.clone(), *KNOWN.iter().find(|field| is_spelling_of(key, field))?)))
            .collect();
        for (written, field) in found {
            let is_list_of_tools =
                |value: &Value| value.is_string() || value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
            if written == "tools" && !self.map.get(&written).is_some_and(is_list_of_tools) {
                continue;
            }
            self.warn_at(&written, WarningKind::FieldSpelling { written: written.clone(), field });
            if self.map.contains_key(field) {
                // Two spellings that say different things: nobody knows which one holds.
                if RESTRICTIONS.contains(&field) && self.map.get(field) != self.map.get(&written) {
                    self.restrict(field);
                }
                continue;
            }
            // Taking and putting keeps the value; its place in the order is of no use to anybody.
            if let Some(value) = self.map.shift_remove(&written) {
                self.map.insert(field.to_owned(), value);
                self.written.push((field, written));
            }
        }
    }

    pub(crate) fn warn(&mut self, key: &str, kind: WarningKind) {
        let written = self.written.iter().find(|(field, _)| *field == key).map(|(_, written)| written.clone());
        self.warn_at(&written.unwrap_or_else(|| key.to_owned()), kind);
    }

    fn warn_at(&mut self, key: &str, kind: WarningKind) {
        let position = match self.places.iter().find(|(known, _)| known == key) {
            Some((_, position)) => *position,
            None => {
                let position = self.frontmatter.place_of(key, 0);
                self.places.push((key.to_owned(), position));
                position
            }
        };
        self.warnings.push(Warning::new(kind, position));
    }

    /// Notes that a restriction could not be read.
    pub(crate) fn restrict(&mut self, field: &'static str) {
        if !self.unread.contains(&field) {
            self.unread.push(field);
            self.warn(field, WarningKind::RestrictionUnread(field));
        }
    }

    pub(crate) fn wrong_type(&mut self, field: &'static str, expected: &'static str, value: &Value) {
        self.warn(field, WarningKind::WrongType { field, expected, found: type_name(value) });
    }

    /// Returns a copy of a field that stays in the mapping; null counts as missing.
    fn copy(&self, key: &str) -> Option<Value> {
        self.map.get(key).filter(|value| !value.is_null()).cloned()
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Takes a text field.
    pub(crate) fn take_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.take(field)?;
        self.as_text(field, value)
    }

    /// Reads a text field.
    pub(crate) fn text(&mut self, field: &'static str) -> Option<String> {
        let value = self.copy(field)?;
        self.as_text(field, value)
    }

    /// Other scalars are read as text with a warning, since YAML makes `true` and `1.0` of unquoted words; so are lists of them.
    fn as_text(&mut self, field: &'static str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            value @ (Value::Bool(_) | Value::Number(_)) => {
                self.warn(field, WarningKind::NotText { field });
                Some(value.to_string())
            }
            Value::Array(items) if !items.is_empty() && items.iter().all(|item| word(item).is_some()) => {
                self.warn(field, WarningKind::NotText { field });
                Some(items.iter().filter_map(word).collect::<Vec<_>>().join(", "))
            }
            value => {
                self.wrong_type(field, "text", &value);
                None
            }
        }
    }

    /// Notes when a text is too long or holds invisible characters.
    pub(crate) fn check_text(&mut self, field: &'static str, text: &str, limit: usize) {
        let characters = text.chars().count();
        if characters > limit {
            self.warn(field, WarningKind::TooLong { field, characters, limit });
        }
        if let Some((_, code_point)) = hidden::first(text) {
            self.warn(field, WarningKind::HiddenText { field, code_point, spelled: hidden::spelled(text) });
        }
    }

    /// Notes invisible characters that stand in none of the fields that were checked by themselves.
    pub(crate) fn check_hidden(&mut self, text: &str) {
        if self.warnings.iter().any(|warning| matches!(warning.kind(), WarningKind::HiddenText { .. })) {
            return;
        }
        if let Some((at, code_point)) = hidden::first(text) {
            let before = &text[..at];
            let start = before.rfind('\n').map_or(0, |end| end + 1);
            let position = self.frontmatter.position(before.matches('\n').count() + 1, before[start..].chars().count() + 1);
            let kind = WarningKind::HiddenText { field: "frontmatter", code_point, spelled: hidden::spelled(text) };
            self.warnings.push(Warning::new(kind, Some(position)));
        } else if let Some((key, kind)) = self.escaped.take() {
            self.warn_at(&key, kind);
        }
    }

    /// Reads a list of words: a list, or text in which spaces or commas separate them.
    pub(crate) fn words(&mut self, field: &'static str) -> Vec<String> {
        match self.copy(field) {
            None => Vec::new(),
            Some(Value::String(text)) => {
                text.split([',', ' ', '\n']).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            }
            Some(Value::Array(items)) if items.iter().all(|item| word(item).is_some()) => items.iter().filter_map(word).collect(),
            Some(value) => {
                self.wrong_type(field, "text or a list", &value);
                Vec::new()
            }
        }
    }

    /// Takes rules that grant: one text or a list of texts. Unread ones grant nothing; when there is none left, the skill is restricted.
    pub(crate) fn allowed_tools(&mut self) -> Vec<ToolRule> {
        const FIELD: &str = "allowed-tools";
        // YAML splits lists at commas inside parentheses; joined they are whole again.
        let Some(texts) = self.tool_texts(FIELD) else { return Vec::new() };
        let (mut rules, bad) = ToolRule::parse_list(&texts.join(", "));
        rules.shrink_to_fit();
        if rules.is_empty() && !bad.is_empty() {
            self.restrict(FIELD);
        }
        self.unreadable(FIELD, bad);
        rules
    }

    /// Takes rules that refuse: one that is not read would refuse something, so the skill is restricted.
    pub(crate) fn disallowed_tools(&mut self) -> Vec<ToolRule> {
        const FIELD: &str = "disallowed-tools";
        let Some(texts) = self.tool_texts(FIELD) else { return Vec::new() };
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for text in texts {
            let (read, unread) = ToolRule::parse_list(&text);
            rules.extend(read);
            bad.extend(unread);
        }
        if !bad.is_empty() {
            self.restrict(FIELD);
        }
        self.unreadable(FIELD, bad);
        rules
    }

    fn tool_texts(&mut self, field: &'static str) -> Option<Vec<String>> {
        match self.take(field)? {
            Value::String(text) => Some(vec![text]),
            Value::Array(items) if items.iter().all(Value::is_string) => Some(items.iter().filter_map(word).collect()),
            value => {
                self.wrong_type(field, "text or a list", &value);
                self.restrict(field);
                None
            }
        }
    }

    /// Notes entries that are no rules; of very many the first are enough.
    fn unreadable(&mut self, field: &'static str, bad: Vec<String>) {
        const MOST: usize = 20;
        let more = bad.len().saturating_sub(MOST);
        for entry in bad.into_iter().take(MOST) {
            self.warn(field, WarningKind::ToolUnreadable { field, entry });
        }
        if more > 0 {
            self.warn(field, WarningKind::ToolUnreadable { field, entry: format!("… and {more} more") });
        }
    }

    /// Reads a boolean, also in the spellings of YAML 1.1 that clients accept.
    pub(crate) fn flag(&mut self, key: &'static str) -> Option<Flag> {
        let value = self.copy(key)?;
        let text = match &value {
            Value::Bool(flag) => return Some(Flag::of(*flag)),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            other => other.to_string(),
        };
        Some(match text.as_str() {
            "true" | "yes" | "on" | "1" | "y" => Flag::Yes,
            "false" | "no" | "off" | "0" | "n" => Flag::No,
            _ => {
                self.wrong_type(key, "true or false", &value);
                Flag::Unread
            }
        })
    }
}

/// A boolean field that is there.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flag {
    Yes,
    No,
    Unread,
}

impl Flag {
    fn of(flag: bool) -> Self {
        if flag { Self::Yes } else { Self::No }
    }
}

/// Finds invisible characters that the frontmatter writes as escapes, of which only the values know.
fn escaped_hidden_text(map: &Map<String, Value>, yaml: &str) -> Option<(String, WarningKind)> {
    if !yaml.contains('\\') {
        return None;
    }
    let (key, text) = map.iter().find_map(|(key, value)| Some((key, hidden::first_text(value)?)))?;
    let (_, code_point) = hidden::first(text)?;
    Some((key.clone(), WarningKind::HiddenText { field: "frontmatter", code_point, spelled: hidden::spelled(text) }))
}

/// Reads a scalar as a word.
pub(crate) fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Whether a text shows anything at all.
pub(crate) fn is_visible(text: &str) -> bool {
    let begins_with_letter = text.as_bytes().first().is_some_and(u8::is_ascii_graphic);
    begins_with_letter || text.chars().any(|c| !c.is_whitespace() && !is_hidden(c))
}

/// Names the type of a value in the words of YAML.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
