//! Reads fields of a parsed mapping one by one and collects warnings about them.

use serde_json::{Map, Value};

use crate::ToolPattern;
use crate::comment_in_text;
use crate::field_names::{KNOWN_FIELDS, RESTRICTION_FIELDS, Spelling};
use crate::frontmatter::Frontmatter;
use crate::invisible;
use crate::mapping::Mapping;
use crate::position::Position;
use crate::spelled_list;
use crate::warning::{Warning, WarningKind};
use crate::yaml;

/// The fields of a mapping while they are parsed, with the warnings about them.
///
/// Positions in the file are looked up only for fields that cause a warning.
pub(crate) struct FieldReader<'a> {
    /// The fields that were not taken yet.
    pub(crate) map: Map<String, Value>,
    pub(crate) warnings: Vec<Warning>,
    /// The restrictions that could not be parsed.
    pub(crate) unparsed: Vec<&'static str>,
    frontmatter: &'a Frontmatter<'a>,
    /// Renamed fields with their spellings in the file.
    raw_names: Vec<(&'static str, String)>,
    /// Positions of the keys that were looked up so far.
    positions: Vec<(String, Option<Position>)>,
    /// The first key whose value contains an invisible character, and the warning about it.
    ///
    /// It is set only if the YAML has escapes, which the check of its raw text cannot see.
    escaped: Option<(String, WarningKind)>,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(mapping: Mapping, frontmatter: &'a Frontmatter<'a>) -> Self {
        let escaped = find_escaped_invisible(&mapping.fields, frontmatter.yaml());
        let mut fields = Self {
            map: mapping.fields,
            warnings: mapping.warnings,
            unparsed: Vec::new(),
            frontmatter,
            raw_names: Vec::new(),
            positions: Vec::new(),
            escaped,
        };
        fields.normalize_names();
        for field in mapping.unparsed {
            fields.mark_unparsed(field);
        }
        fields
    }

    /// Renames fields with a non-standard spelling, unless the standard one is present too.
    fn normalize_names(&mut self) {
        for (raw, field) in self.misspelled_fields() {
            self.warn_by_raw_name(
                &raw,
                WarningKind::MisspelledField {
                    raw: raw.clone(),
                    field,
                },
            );
            if let Some(value) = self.map.get(field) {
                // Clients keep different ones of two conflicting spellings, so neither is safe to
                // apply: the restriction counts as unparsed.
                if RESTRICTION_FIELDS.contains(&field) && self.map.get(&raw) != Some(value) {
                    self.mark_unparsed(field);
                }
                continue;
            }
            if let Some(value) = self.map.shift_remove(&raw) {
                self.map.insert(field.to_owned(), value);
                self.raw_names.push((field, raw));
            }
        }
    }

    /// Returns the keys with a non-standard spelling, with the fields that they name.
    fn misspelled_fields(&self) -> Vec<(String, &'static str)> {
        let mut found = Vec::new();
        for key in self.map.keys() {
            if KNOWN_FIELDS.contains(&key.as_str()) {
                continue;
            }
            let Some(spelling) = Spelling::of(key) else {
                continue;
            };
            let field = KNOWN_FIELDS.iter().find(|field| spelling.is_of(field));
            found.extend(field.map(|field| (key.clone(), *field)));
        }
        found
    }

    /// Adds a warning at the position of a field, in whatever spelling the file has it.
    pub(crate) fn warn(&mut self, key: &str, kind: WarningKind) {
        let raw_name = self
            .raw_names
            .iter()
            .find(|(field, _)| *field == key)
            .map(|(_, raw)| raw.clone());
        self.warn_by_raw_name(&raw_name.unwrap_or_else(|| key.to_owned()), kind);
    }

    /// Returns the line of a field, or else the first of the frontmatter.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        let position = self.frontmatter.position_of(key, 0);
        position.map_or(self.frontmatter.first_line(), |position| position.line)
    }

    fn warn_by_raw_name(&mut self, key: &str, kind: WarningKind) {
        // A lookup searches the whole text, and a hostile field can cause many warnings.
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

    /// Warns if YAML reads the rest of a text as a comment.
    pub(crate) fn check_comment(&mut self, field: &'static str, text: &str) {
        let Some(comment) = comment_in_text::find(self.frontmatter.yaml(), field) else {
            return;
        };
        // A repair keeps the comment as text.
        if text.contains(comment.text) {
            return;
        }
        let column = comment.column;
        let position = self.frontmatter.file_position(comment.line, column);
        let kind = WarningKind::CutByComment { field, column };
        self.warnings.push(Warning::new(kind, Some(position)));
    }

    /// Marks a restriction as unparsed, with one warning per field.
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
                found: yaml::type_name(value),
            },
        );
    }

    /// Returns a copy of a field, which stays in the mapping; null counts as missing.
    pub(crate) fn get_cloned(&self, key: &str) -> Option<Value> {
        self.map.get(key).filter(|value| !value.is_null()).cloned()
    }

    /// Removes a field from the mapping; null counts as missing.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        // Keeps the order of the other fields, which `Manifest::extra` returns.
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Removes a field of the specification and parses it as text.
    pub(crate) fn take_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.take(field)?;
        self.coerce_text(field, value)
    }

    /// Parses a field of a client as text; it stays in the mapping.
    pub(crate) fn parse_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.get_cloned(field)?;
        self.coerce_text(field, value)
    }

    /// Converts other scalars, and lists of scalars, to text with a warning.
    ///
    /// YAML parses unquoted words such as `true` and `1.0` as booleans and numbers, and
    /// `[file]` as a list, where authors mean text.
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
                let texts: Vec<String> = items.iter().filter_map(scalar_to_text).collect();
                Some(texts.join(", "))
            }
            value => {
                self.warn_wrong_type(field, "text", &value);
                None
            }
        }
    }

    /// Warns if a text is longer than `limit` characters or contains invisible characters.
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

    /// Warns of the first invisible character in the whole frontmatter.
    ///
    /// This finds those outside of the fields that [`check_text`](Self::check_text) covers.
    pub(crate) fn check_invisible(&mut self, text: &str) {
        // A field with invisible characters is reported already; the raw text contains them too.
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

    /// Parses a list of words: a list, a text that spells one, or text with spaces, commas or
    /// newlines between them.
    pub(crate) fn parse_words(&mut self, field: &'static str) -> Vec<String> {
        match self.get_cloned(field) {
            None => Vec::new(),
            Some(Value::String(text)) => {
                spelled_list::parse(&text).unwrap_or_else(|| split_words(&text))
            }
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

    /// Parses `allowed-tools`: one text or a list of texts.
    ///
    /// Invalid entries grant nothing. If all are invalid, the restriction counts as unparsed, since
    /// an empty list would mean that the author asked for no tools.
    pub(crate) fn parse_allowed_tools(&mut self) -> Vec<ToolPattern> {
        const FIELD: &str = "allowed-tools";
        // YAML splits `[Bash(a, b)]` at the comma; joining the parts restores the entry.
        let Some(texts) = self.tool_strings(FIELD) else {
            return Vec::new();
        };
        let (mut patterns, invalid) = ToolPattern::parse_list(&texts.join(", "));
        patterns.shrink_to_fit();
        if patterns.is_empty() && !invalid.is_empty() {
            self.mark_unparsed(FIELD);
        }
        self.warn_invalid_tools(FIELD, invalid);
        patterns
    }

    /// Parses `disallowed-tools`: one text or a list of texts.
    ///
    /// One invalid entry makes the restriction count as unparsed, since dropping the entry would
    /// allow the tool that it forbids. For the same reason the texts are not joined: an unbalanced
    /// parenthesis in one must not swallow the next.
    pub(crate) fn parse_disallowed_tools(&mut self) -> Vec<ToolPattern> {
        const FIELD: &str = "disallowed-tools";
        let Some(texts) = self.tool_strings(FIELD) else {
            return Vec::new();
        };
        let mut patterns = Vec::new();
        let mut invalid = Vec::new();
        for text in texts {
            let (parsed, rejected) = ToolPattern::parse_list(&text);
            patterns.extend(parsed);
            invalid.extend(rejected);
        }
        if !invalid.is_empty() {
            self.mark_unparsed(FIELD);
        }
        self.warn_invalid_tools(FIELD, invalid);
        patterns
    }

    /// Takes a list of tools as texts; any other type makes the restriction count as unparsed.
    ///
    /// A text that spells a list is replaced by its items. Other text in quotes or brackets stays
    /// as it is, and is invalid as the name of a tool.
    fn tool_strings(&mut self, field: &'static str) -> Option<Vec<String>> {
        match self.take(field)? {
            Value::String(text) => Some(spelled_or_whole(text)),
            Value::Array(items) => {
                let texts: Result<Vec<Vec<String>>, Value> = items
                    .into_iter()
                    .map(|item| tool_entry_text(item).map(spelled_or_whole))
                    .collect();
                texts
                    .map(|texts| texts.concat())
                    .map_err(|item| self.reject_tools(field, "a list of texts", &item))
                    .ok()
            }
            value => {
                self.reject_tools(field, "text or a list", &value);
                None
            }
        }
    }

    fn reject_tools(&mut self, field: &'static str, expected: &'static str, found: &Value) {
        self.warn_wrong_type(field, expected, found);
        self.mark_unparsed(field);
    }

    /// Warns of invalid entries: each of the first 20, and the number of the others.
    fn warn_invalid_tools(&mut self, field: &'static str, invalid: Vec<String>) {
        const MAX_WARNINGS: usize = 20;
        let more = invalid.len().saturating_sub(MAX_WARNINGS);
        for entry in invalid.into_iter().take(MAX_WARNINGS) {
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

    /// Parses a boolean, including the spellings of YAML 1.1 that clients accept.
    pub(crate) fn parse_flag(&mut self, key: &'static str) -> Option<Flag> {
        let value = self.get_cloned(key)?;
        let text = match &value {
            Value::Bool(true) => return Some(Flag::True),
            Value::Bool(false) => return Some(Flag::False),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            // The numbers 1 and 0 are among the spellings.
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

/// The value of a boolean field that is present.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flag {
    True,
    False,
    Unparsed,
}

/// Finds the first value with an invisible character that the YAML may write as an escape.
///
/// `"\u200b"` is visible in the raw text of the file and invisible in the value.
fn find_escaped_invisible(map: &Map<String, Value>, yaml: &str) -> Option<(String, WarningKind)> {
    // Without a backslash there are no escapes, and the check of the raw text sees everything.
    if !yaml.contains('\\') {
        return None;
    }
    let (key, text) = map
        .iter()
        .find_map(|(key, value)| Some((key, invisible::find_invisible_text(value)?)))?;
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

/// Returns an entry of a list of tools as text; any other value is returned as the error.
///
/// YAML reads `Tool(key: value)` as a mapping; joining its parts restores the entry.
fn tool_entry_text(item: Value) -> Result<String, Value> {
    match item {
        Value::String(text) => Ok(text),
        Value::Object(parts) => match parts.iter().next() {
            Some((key, Value::String(value)))
                if parts.len() == 1 && key.contains('(') && value.ends_with(')') =>
            {
                Ok(format!("{key}: {value}"))
            }
            _ => Err(Value::Object(parts)),
        },
        other => Err(other),
    }
}

/// Returns the items of a text that spells a list, or else the text as the only item.
fn spelled_or_whole(text: String) -> Vec<String> {
    spelled_list::parse(&text).unwrap_or_else(|| vec![text])
}

/// Returns the words of a text. Newlines come from block scalars with one word per line.
fn split_words(text: &str) -> Vec<String> {
    text.split([',', ' ', '\n'])
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Converts a scalar to text; `None` for null, lists and mappings.
pub(crate) fn scalar_to_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}
