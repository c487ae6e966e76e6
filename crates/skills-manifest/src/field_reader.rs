//! Takes fields out of a mapping one by one and notes what is wrong with them.

use serde_json::{Map, Value};

use crate::ToolPattern;
use crate::frontmatter::Frontmatter;
use crate::invisible::{self, is_invisible};
use crate::manifest::RESTRICTION_FIELDS;
use crate::position::Position;
use crate::warning::{Warning, WarningKind};

/// The fields that this crate understands, in the spelling of the clients that made them.
const KNOWN_FIELDS: [&str; 29] = [
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

/// Returns whether `written` names `field`: the same letters in any case, with any hyphens and
/// underscores, or a misspelling that is common in published skills.
pub(crate) fn is_spelling_of(written: &str, field: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        let bytes = text.trim().bytes();
        bytes
            .filter(|byte| !matches!(byte, b'-' | b'_'))
            .map(|byte| byte.to_ascii_lowercase())
    }
    // Longer than each field with separators between all its letters.
    if written.len() > 64 {
        return false;
    }
    letters(written).eq(letters(field))
        || (field == "user-invocable" && letters(written).eq(letters("userinvokable")))
        || (field == "allowed-tools" && letters(written).eq(letters("tools")))
}

/// A mapping whose fields are read, and what is wrong with them.
pub(crate) struct FieldReader<'a> {
    pub(crate) map: Map<String, Value>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) unparsed: Vec<&'static str>,
    frontmatter: &'a Frontmatter<'a>,
    /// Fields and the spellings in which they stand in the file.
    raw_names: Vec<(&'static str, String)>,
    positions: Vec<(String, Option<Position>)>,
    /// The first key below which an escape writes a hidden character, and what is reported of it.
    escaped: Option<(String, WarningKind)>,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(
        map: Map<String, Value>,
        frontmatter: &'a Frontmatter<'a>,
        warnings: Vec<Warning>,
    ) -> Self {
        let escaped = escaped_hidden_text(&map, frontmatter.yaml());
        let mut fields = Self {
            map,
            warnings,
            unparsed: Vec::new(),
            frontmatter,
            raw_names: Vec::new(),
            positions: Vec::new(),
            escaped,
        };
        fields.normalize_names();
        fields
    }

    /// Gives fields in odd spellings their names, unless the right one is there too.
    fn normalize_names(&mut self) {
        let odd = |key: &&String| !KNOWN_FIELDS.contains(&key.as_str());
        let found: Vec<(String, &'static str)> = (self.map.keys().filter(odd))
            .filter_map(|key| {
                Some((
                    key.clone(),
                    *KNOWN_FIELDS
                        .iter()
                        .find(|field| is_spelling_of(key, field))?,
                ))
            })
            .collect();
        for (written, field) in found {
            let is_list_of_tools = |value: &Value| {
                value.is_string()
                    || value
                        .as_array()
                        .is_some_and(|items| items.iter().all(Value::is_string))
            };
            if written == "tools" && !self.map.get(&written).is_some_and(is_list_of_tools) {
                continue;
            }
            self.warn_by_raw_name(
                &written,
                WarningKind::MisspelledField {
                    raw: written.clone(),
                    field,
                },
            );
            if self.map.contains_key(field) {
                // Two spellings that say different things: nobody knows which one holds.
                if RESTRICTION_FIELDS.contains(&field)
                    && self.map.get(field) != self.map.get(&written)
                {
                    self.mark_unparsed(field);
                }
                continue;
            }
            // Taking and putting keeps the value; its place in the order is of no use to anybody.
            if let Some(value) = self.map.shift_remove(&written) {
                self.map.insert(field.to_owned(), value);
                self.raw_names.push((field, written));
            }
        }
    }

    pub(crate) fn warn(&mut self, key: &str, kind: WarningKind) {
        let written = self
            .raw_names
            .iter()
            .find(|(field, _)| *field == key)
            .map(|(_, written)| written.clone());
        self.warn_by_raw_name(&written.unwrap_or_else(|| key.to_owned()), kind);
    }

    fn warn_by_raw_name(&mut self, key: &str, kind: WarningKind) {
        let position = match self.positions.iter().find(|(known, _)| known == key) {
            Some((_, position)) => *position,
            None => {
                let position = self.frontmatter.position_of(key, 0);
                self.positions.push((key.to_owned(), position));
                position
            }
        };
        self.warnings.push(Warning::new(kind, position));
    }

    /// Notes that a restriction could not be read.
    pub(crate) fn mark_unparsed(&mut self, field: &'static str) {
        if !self.unparsed.contains(&field) {
            self.unparsed.push(field);
            self.warn(field, WarningKind::UnparsedRestriction(field));
        }
    }

    pub(crate) fn warn_wrong_type(
        &mut self,
        field: &'static str,
        expected: &'static str,
        value: &Value,
    ) {
        self.warn(
            field,
            WarningKind::WrongType {
                field,
                expected,
                found: yaml_type_name(value),
            },
        );
    }

    /// Returns a copy of a field that stays in the mapping; null counts as missing.
    fn get_cloned(&self, key: &str) -> Option<Value> {
        self.map.get(key).filter(|value| !value.is_null()).cloned()
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Takes a text field.
    pub(crate) fn take_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.take(field)?;
        self.coerce_text(field, value)
    }

    /// Reads a text field.
    pub(crate) fn parse_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.get_cloned(field)?;
        self.coerce_text(field, value)
    }

    /// Other scalars are read as text with a warning, since YAML makes `true` and `1.0` of unquoted
    /// words; so are lists of them.
    fn coerce_text(&mut self, field: &'static str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            value @ (Value::Bool(_) | Value::Number(_)) => {
                self.warn(field, WarningKind::NotText { field });
                Some(value.to_string())
            }
            Value::Array(items)
                if !items.is_empty() && items.iter().all(|item| scalar_to_text(item).is_some()) =>
            {
                self.warn(field, WarningKind::NotText { field });
                Some(
                    items
                        .iter()
                        .filter_map(scalar_to_text)
                        .collect::<Vec<_>>()
                        .join(", "),
                )
            }
            value => {
                self.warn_wrong_type(field, "text", &value);
                None
            }
        }
    }

    /// Notes when a text is too long or holds invisible characters.
    pub(crate) fn check_text(&mut self, field: &'static str, text: &str, limit: usize) {
        let characters = text.chars().count();
        if characters > limit {
            self.warn(
                field,
                WarningKind::TooLong {
                    field,
                    characters,
                    limit,
                },
            );
        }
        if let Some((_, code_point)) = invisible::first_invisible(text) {
            self.warn(
                field,
                WarningKind::InvisibleText {
                    field,
                    code_point,
                    decoded_tags: invisible::decode_tags(text),
                },
            );
        }
    }

    /// Notes invisible characters that stand in none of the fields that were checked by themselves.
    pub(crate) fn check_invisible(&mut self, text: &str) {
        if self
            .warnings
            .iter()
            .any(|warning| matches!(warning.kind(), WarningKind::InvisibleText { .. }))
        {
            return;
        }
        if let Some((at, code_point)) = invisible::first_invisible(text) {
            let before = &text[..at];
            let start = before.rfind('\n').map_or(0, |end| end + 1);
            let position = self.frontmatter.file_position(
                before.matches('\n').count() + 1,
                before[start..].chars().count() + 1,
            );
            let kind = WarningKind::InvisibleText {
                field: "frontmatter",
                code_point,
                decoded_tags: invisible::decode_tags(text),
            };
            self.warnings.push(Warning::new(kind, Some(position)));
        } else if let Some((key, kind)) = self.escaped.take() {
            self.warn_by_raw_name(&key, kind);
        }
    }

    /// Reads a list of words: a list, or text in which spaces or commas separate them.
    pub(crate) fn parse_words(&mut self, field: &'static str) -> Vec<String> {
        match self.get_cloned(field) {
            None => Vec::new(),
            Some(Value::String(text)) => text
                .split([',', ' ', '\n'])
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            Some(Value::Array(items))
                if items.iter().all(|item| scalar_to_text(item).is_some()) =>
            {
                items.iter().filter_map(scalar_to_text).collect()
            }
            Some(value) => {
                self.warn_wrong_type(field, "text or a list", &value);
                Vec::new()
            }
        }
    }

    /// Takes rules that grant: one text or a list of texts. Unread ones grant nothing; when there
    /// is none left, the skill is restricted.
    pub(crate) fn parse_allowed_tools(&mut self) -> Vec<ToolPattern> {
        const FIELD: &str = "allowed-tools";
        // YAML splits lists at commas inside parentheses; joined they are whole again.
        let Some(texts) = self.tool_strings(FIELD) else {
            return Vec::new();
        };
        let (mut rules, bad) = ToolPattern::parse_list(&texts.join(", "));
        rules.shrink_to_fit();
        if rules.is_empty() && !bad.is_empty() {
            self.mark_unparsed(FIELD);
        }
        self.warn_invalid_tools(FIELD, bad);
        rules
    }

    /// Takes rules that refuse: one that is not read would refuse something, so the skill is
    /// restricted.
    pub(crate) fn parse_disallowed_tools(&mut self) -> Vec<ToolPattern> {
        const FIELD: &str = "disallowed-tools";
        let Some(texts) = self.tool_strings(FIELD) else {
            return Vec::new();
        };
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for text in texts {
            let (read, unread) = ToolPattern::parse_list(&text);
            rules.extend(read);
            bad.extend(unread);
        }
        if !bad.is_empty() {
            self.mark_unparsed(FIELD);
        }
        self.warn_invalid_tools(FIELD, bad);
        rules
    }

    fn tool_strings(&mut self, field: &'static str) -> Option<Vec<String>> {
        match self.take(field)? {
            Value::String(text) => Some(vec![text]),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                Some(items.iter().filter_map(scalar_to_text).collect())
            }
            value => {
                self.warn_wrong_type(field, "text or a list", &value);
                self.mark_unparsed(field);
                None
            }
        }
    }

    /// Notes entries that are no rules; of very many the first are enough.
    fn warn_invalid_tools(&mut self, field: &'static str, bad: Vec<String>) {
        const MAX_WARNINGS: usize = 20;
        let more = bad.len().saturating_sub(MAX_WARNINGS);
        for entry in bad.into_iter().take(MAX_WARNINGS) {
            self.warn(field, WarningKind::InvalidToolPattern { field, entry });
        }
        if more > 0 {
            self.warn(
                field,
                WarningKind::InvalidToolPattern {
                    field,
                    entry: format!("… and {more} more"),
                },
            );
        }
    }

    /// Reads a boolean, also in the spellings of YAML 1.1 that clients accept.
    pub(crate) fn parse_flag(&mut self, key: &'static str) -> Option<Flag> {
        let value = self.get_cloned(key)?;
        let text = match &value {
            Value::Bool(flag) => return Some(Flag::from_bool(*flag)),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            other => other.to_string(),
        };
        Some(match text.as_str() {
            "true" | "yes" | "on" | "1" | "y" => Flag::True,
            "false" | "no" | "off" | "0" | "n" => Flag::False,
            _ => {
                self.warn_wrong_type(key, "true or false", &value);
                Flag::Unparsed
            }
        })
    }
}

/// A boolean field that is there.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flag {
    True,
    False,
    Unparsed,
}

impl Flag {
    fn from_bool(flag: bool) -> Self {
        if flag { Self::True } else { Self::False }
    }
}

/// Finds invisible characters that the frontmatter writes as escapes, of which only the values
/// know.
fn escaped_hidden_text(map: &Map<String, Value>, yaml: &str) -> Option<(String, WarningKind)> {
    if !yaml.contains('\\') {
        return None;
    }
    let (key, text) = map
        .iter()
        .find_map(|(key, value)| Some((key, invisible::first_text(value)?)))?;
    let (_, code_point) = invisible::first_invisible(text)?;
    Some((
        key.clone(),
        WarningKind::InvisibleText {
            field: "frontmatter",
            code_point,
            decoded_tags: invisible::decode_tags(text),
        },
    ))
}

/// Reads a scalar as a word.
pub(crate) fn scalar_to_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Whether a text shows anything at all.
pub(crate) fn has_visible_text(text: &str) -> bool {
    let begins_with_letter = text.as_bytes().first().is_some_and(u8::is_ascii_graphic);
    begins_with_letter || text.chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

/// Names the type of a value in the words of YAML.
pub(crate) fn yaml_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
