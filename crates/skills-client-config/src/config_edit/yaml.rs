//! Edits YAML configuration by lines. All other lines, with their comments, are preserved.
//!
//! There is no editor of YAML that preserves comments, so lines are inserted and replaced where a
//! block layout is recognized. The result is parsed and compared with the expected document: a
//! file with another layout is rejected, never damaged.

use serde_json::{Map, Value as Json};
use serde_yaml::{Mapping, Value};

use skills_clients::ConfigLanguage;

use crate::client::ServerClient;
use crate::entry_fields::EntryField;
use crate::error::EditError;
use crate::server_entry::{EntryChange, ServerEntry};

/// Indentation of an entry in a new table, in spaces.
const INDENTATION: usize = 2;

/// Parses a text. Values that JSON cannot express are null.
pub(super) fn parse_yaml(text: &str) -> Result<Json, EditError> {
    Ok(serde_json::to_value(parse(text)?).unwrap_or_default())
}

/// Adds or updates an entry in a text.
pub(super) fn edit_yaml(
    text: &str,
    client: ServerClient,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), EditError> {
    let document = parse(text)?;
    let fields = client.entry_fields(entry);
    let servers = servers_of(&document, client.format.section)?;
    let existing = servers
        .as_ref()
        .and_then(|table| table.get(entry.name.as_str()));
    let members = existing
        .and_then(|existing| serde_json::to_value(existing).ok())
        .and_then(|value| value.as_object().cloned());
    let same = members.filter(|members| client.is_same_server(members, entry));
    let plan = Plan::new(existing, same, fields);
    let change = plan.change();
    if change == EntryChange::Unchanged {
        return Ok((text.to_owned(), change));
    }
    let edited = Lines::new(text)
        .apply(client.format.section, &entry.name, &plan)
        .ok_or(EditError::UnsupportedLayout)?;
    let expected = plan.expected(&document, client.format.section, &entry.name);
    // Lines can have another meaning than the editor assumed, as in a multi-line string.
    match parse(&edited) {
        Ok(document) if document == expected => Ok((edited, change)),
        _ => Err(EditError::UnsupportedLayout),
    }
}

/// What to do with the entry.
enum Plan {
    Nothing,
    Add(Vec<EntryField>),
    Replace(Vec<EntryField>),
    /// Values of fields of the existing entry.
    Update(Vec<Update>),
}

/// The change of a field.
#[derive(Clone)]
struct Update {
    key: String,
    old: Json,
    new: Json,
}

impl Plan {
    fn new(
        existing: Option<&Value>,
        same: Option<Map<String, Json>>,
        fields: Vec<EntryField>,
    ) -> Self {
        let Some(same) = same else {
            return match existing {
                Some(_) => Self::Replace(fields),
                None => Self::Add(fields),
            };
        };
        let updates: Vec<_> = fields
            .iter()
            .filter_map(|field| {
                let old = same.get(field.key);
                Some(Update {
                    key: field.key.to_owned(),
                    new: field.replacement(old)?,
                    old: old.cloned().unwrap_or_default(),
                })
            })
            .collect();
        if updates.is_empty() {
            Self::Nothing
        } else {
            Self::Update(updates)
        }
    }

    fn change(&self) -> EntryChange {
        match self {
            Self::Nothing => EntryChange::Unchanged,
            Self::Add(_) => EntryChange::Added,
            Self::Replace(_) => EntryChange::Replaced,
            Self::Update(_) => EntryChange::Updated,
        }
    }

    /// Returns the document that the edited text must have.
    fn expected(&self, document: &Value, section: &str, name: &str) -> Value {
        let mut top = document.as_mapping().cloned().unwrap_or_default();
        let table = top.get(section).and_then(Value::as_mapping).cloned();
        let mut table = table.unwrap_or_default();
        let values: Vec<_> = match self {
            Self::Nothing => Vec::new(),
            Self::Add(fields) | Self::Replace(fields) => {
                table.insert(name.into(), Value::Mapping(Mapping::new()));
                let fields = fields.iter();
                fields
                    .map(|field| (field.key.to_owned(), field.value.clone()))
                    .collect()
            }
            Self::Update(updates) => {
                let updates = updates.iter();
                updates
                    .map(|update| (update.key.clone(), update.new.clone()))
                    .collect()
            }
        };
        if let Some(Value::Mapping(server)) = table.get_mut(name) {
            for (key, value) in values {
                server.insert(key.into(), serde_yaml::to_value(value).unwrap_or_default());
            }
        }
        top.insert(section.into(), Value::Mapping(table));
        Value::Mapping(top)
    }
}

/// The lines of a text, with their ends.
struct Lines {
    lines: Vec<String>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
        if let Some(last) = lines.last_mut().filter(|line| !line.ends_with('\n')) {
            last.push('\n');
        }
        Self { lines }
    }

    /// Returns the edited text. Returns `None` if the layout is not recognized.
    fn apply(mut self, section: &str, name: &str, plan: &Plan) -> Option<String> {
        let end = self.lines.len();
        let Some(start) = self.find_key(section, 0..end, 0) else {
            let Plan::Add(fields) = plan else { return None };
            self.lines.push(format!("{section}:\n"));
            self.lines.extend(entry_lines(name, fields, INDENTATION));
            return Some(self.lines.concat());
        };
        match value_of_line(&self.lines[start])? {
            "" => {}
            "{}" => self.lines[start] = self.lines[start].replacen(" {}", "", 1),
            _ => return None,
        }
        let end = self.block_end(start, 0);
        let indentation = self.child_indentation(start, end).unwrap_or(INDENTATION);
        let server = self.find_key(name, start + 1..end, indentation);
        let server = server.map(|server| server..self.block_end(server, indentation));
        match plan {
            Plan::Nothing => {}
            Plan::Add(fields) => {
                let lines = entry_lines(name, fields, indentation);
                self.lines.splice(end..end, lines);
            }
            Plan::Replace(fields) => {
                let lines = entry_lines(name, fields, indentation);
                self.lines.splice(server?, lines);
            }
            Plan::Update(updates) => {
                let start = server?.start;
                for update in updates {
                    self.update_field(start, indentation, update)?;
                }
            }
        }
        Some(self.lines.concat())
    }

    /// Changes a field of the mapping whose key is in a line. Of a mapping in lines of its own only
    /// the members that differ are changed.
    fn update_field(&mut self, start: usize, indentation: usize, update: &Update) -> Option<()> {
        let end = self.block_end(start, indentation);
        let inner = self.child_indentation(start, end)?;
        let line = self.find_key(&update.key, start + 1..end, inner);
        let (Json::Object(old), Json::Object(new)) = (&update.old, &update.new) else {
            return self.set_field(start, indentation, &update.key, &update.new);
        };
        let Some(line) = line.filter(|line| value_of_line(&self.lines[*line]) == Some("")) else {
            return self.set_field(start, indentation, &update.key, &update.new);
        };
        let changed = new
            .iter()
            .filter(|(key, value)| old.get(*key) != Some(*value));
        for (key, value) in changed {
            self.set_field(line, inner, key, value)?;
        }
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            let end = self.block_end(line, inner);
            let indentation = self.child_indentation(line, end)?;
            let member = self.find_key(key, line + 1..end, indentation)?;
            self.lines
                .drain(member..self.block_end(member, indentation));
        }
        Some(())
    }

    /// Replaces or adds a field of the mapping whose key is in a line.
    fn set_field(
        &mut self,
        start: usize,
        indentation: usize,
        key: &str,
        value: &Json,
    ) -> Option<()> {
        let end = self.block_end(start, indentation);
        let inner = self.child_indentation(start, end)?;
        let mut line = field_line(&scalar(key), value, inner);
        match self.find_key(key, start + 1..end, inner) {
            Some(old) => {
                if let Some(comment) = comment_of_line(&self.lines[old]) {
                    line = format!("{} {comment}\n", line.trim_end());
                }
                self.lines.splice(old..self.block_end(old, inner), [line])
            }
            None => self.lines.splice(end..end, [line]),
        };
        Some(())
    }

    /// Returns the line of a key with this indentation, if there is exactly one.
    fn find_key(
        &self,
        key: &str,
        range: std::ops::Range<usize>,
        indentation: usize,
    ) -> Option<usize> {
        let mut found = range.filter(|index| {
            let line = &self.lines[*index];
            indentation_of(line) == indentation && key_of_line(line) == Some(key)
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Returns the line behind the value of a key: behind the last line that is indented deeper, or
    /// is an item of its list. Blank lines and comments behind it do not belong to it.
    fn block_end(&self, start: usize, indentation: usize) -> usize {
        let mut end = start + 1;
        for (index, line) in self.lines.iter().enumerate().skip(start + 1) {
            if is_blank(line) {
                continue;
            }
            let depth = indentation_of(line);
            let is_item = depth == indentation && line.trim_start().starts_with("- ");
            if depth <= indentation && !is_item {
                break;
            }
            end = index + 1;
        }
        end
    }

    fn child_indentation(&self, start: usize, end: usize) -> Option<usize> {
        let mut children = self.lines[start + 1..end].iter();
        let first = children.find(|line| !is_blank(line))?;
        Some(indentation_of(first))
    }
}

/// Returns true for a line without content: empty, or only a comment.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indentation_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the key of a line `key: value`, without quotes.
fn key_of_line(line: &str) -> Option<&str> {
    let (key, rest) = line.trim().split_once(':')?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let quotes = ['"', '\''];
    let unquoted = quotes.into_iter().find_map(|quote| {
        key.strip_prefix(quote)
            .and_then(|key| key.strip_suffix(quote))
    });
    Some(unquoted.unwrap_or(key))
}

/// Returns the comment behind the value in a line `key: value`. Values with quotes or brackets can
/// contain `#`, and are not searched.
fn comment_of_line(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(':')?;
    let is_plain = !value
        .trim_start()
        .starts_with(['"', '\'', '[', '{', '|', '>']);
    let start = value.find(" #").filter(|_| is_plain)?;
    Some(value[start..].trim())
}

/// Returns the value in a line `key: value`, without a comment.
fn value_of_line(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(':')?;
    let value = value.trim();
    let end = if value.starts_with('#') {
        0
    } else {
        value.find(" #").unwrap_or(value.len())
    };
    Some(value[..end].trim())
}

fn entry_lines(name: &str, fields: &[EntryField], indentation: usize) -> Vec<String> {
    let mut lines = vec![format!("{:indentation$}{}:\n", "", scalar(name))];
    let inner = indentation + INDENTATION;
    lines.extend(
        fields
            .iter()
            .map(|field| field_line(field.key, &field.value, inner)),
    );
    lines
}

fn field_line(key: &str, value: &Json, indentation: usize) -> String {
    format!("{:indentation$}{key}: {}\n", "", flow(value))
}

/// Formats a value in one line.
fn flow(value: &Json) -> String {
    match value {
        Json::String(text) => scalar(text),
        Json::Array(values) => {
            let values: Vec<_> = values.iter().map(flow).collect();
            format!("[{}]", values.join(", "))
        }
        Json::Object(members) => {
            let members = members.iter();
            let members: Vec<_> = members
                .map(|(key, value)| format!("{}: {}", scalar(key), flow(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        value => value.to_string(),
    }
}

/// Formats a text, with quotes if it would be another value without.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.' | '-' | ' ');
    let is_text = || serde_yaml::from_str::<Value>(text).is_ok_and(|value| value == text);
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if starts_plain && !text.ends_with(' ') && text.chars().all(is_plain) && is_text() {
        return text.to_owned();
    }
    // A string of JSON is one of YAML.
    Json::from(text).to_string()
}

fn servers_of(document: &Value, section: &str) -> Result<Option<Mapping>, EditError> {
    let top = match document {
        Value::Null => return Ok(None),
        Value::Mapping(top) => top,
        _ => return Err(EditError::NotAnObject),
    };
    match top.get(section) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Mapping(servers)) => Ok(Some(servers.clone())),
        Some(_) => Err(EditError::NotATable {
            key: section.to_owned(),
        }),
    }
}

fn parse(text: &str) -> Result<Value, EditError> {
    serde_yaml::from_str(text).map_err(|error| EditError::Syntax {
        language: ConfigLanguage::Yaml,
        line: error.location().map_or(1, |location| location.line()),
        message: error.to_string(),
    })
}
