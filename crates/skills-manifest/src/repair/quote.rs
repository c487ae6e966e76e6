//! Quotes values that are not valid YAML.

use std::ops::Range;

use super::line_fallback::is_label;
use super::lost_restrictions::declared_at;
use crate::field_names::is_spelling_of;
use crate::json5;
use crate::warning::WarningKind;
use crate::yaml;

/// Maximum number of repaired values; text with more is not frontmatter.
///
/// Each check of a value parses it, so the bound also limits the time for hostile files.
const MAX_EDITS: usize = 200;

/// A change to the text; line and column are counted from 1 in the frontmatter.
pub(super) struct Edit {
    pub(super) kind: WarningKind,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The lines that may not belong to the value that the change made them part of, counted from
    /// 0.
    pub(super) guessed_lines: Range<usize>,
}

/// Quotes the invalid values of a text, line by line, and returns the changes.
///
/// Block scalars, and values that are valid YAML on their own, stay as they are.
pub(super) fn quote_values(text: &str) -> (String, Vec<Edit>) {
    let lines: Vec<&str> = text.lines().collect();
    let mut quoter = ValueQuoter {
        lines: &lines,
        out: String::with_capacity(text.len() + 64),
        edits: Vec::new(),
    };
    let mut index = 0;
    while index < lines.len() {
        index = quoter.process_line(index);
    }
    (quoter.out, quoter.edits)
}

struct ValueQuoter<'a> {
    lines: &'a [&'a str],
    out: String,
    edits: Vec<Edit>,
}

impl ValueQuoter<'_> {
    /// Writes a line and the lines of its value; returns the index of the next line.
    fn process_line(&mut self, index: usize) -> usize {
        let line = self.replace_tabs(index);
        // Comments and lines of plain text have no value to quote.
        let Some(position) = ValuePosition::find(&line) else {
            self.copy_line(&line);
            return index + 1;
        };
        let (head, value) = line.split_at(position.value_offset);
        let block_end = self.block_end(index + 1, position.indent);
        if is_block_scalar_header(value) {
            // The lines of a block scalar are text, whatever they contain.
            self.copy_line(&line);
            return self.copy_lines(index + 1, block_end);
        }
        if let Some(end) = self
            .object_end(index + 1)
            .filter(|_| position.is_metadata(value))
        {
            self.quote_object(index, &line, position.key, end);
            return end;
        }
        let end = if !position.is_description() || value.is_empty() {
            block_end
        } else if is_label(value) {
            self.text_end(block_end, |line| !starts_field(line))
        } else {
            self.text_end(block_end, |line| !has_colon(line))
        };
        if value.is_empty() && !self.starts_flow_collection(index + 1, end) {
            // The lines below are fields or items of their own.
            self.copy_line(&line);
            return index + 1;
        }
        let parts = std::iter::once(value).chain(self.lines[index + 1..end].iter().copied());
        let whole = parts
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n ");
        let is_valid = end == block_end && is_standalone_yaml(&whole);
        if self.edits.len() >= MAX_EDITS || is_valid {
            self.copy_line(&line);
            return self.copy_lines(index + 1, end);
        }
        self.edits.push(Edit {
            kind: WarningKind::ValueQuoted {
                key: position.key.to_owned(),
            },
            line: index + 1,
            column: head.chars().count() + 1,
            guessed_lines: index + 1..end,
        });
        let space = if head.ends_with(':') { " " } else { "" };
        self.copy_line(&format!("{head}{space}{}", quote_value(&whole)));
        end
    }

    /// Returns the end of an object of JSON5 that starts in the first column of a line, which clients
    /// that know no YAML write there; `None` if a line of it may be a field.
    fn object_end(&self, from: usize) -> Option<usize> {
        let lines = self.lines.get(from..)?;
        let (first, below) = lines.split_first()?;
        if !first.starts_with('{') {
            return None;
        }
        let is_of_object = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '\t']);
        let inner = below.iter().take_while(|line| is_of_object(line)).count();
        let has_end = || below.get(inner).is_some_and(|line| line.trim_end() == "}");
        let length = match first.trim_end() {
            "{" => has_end().then_some(inner + 2)?,
            _ => 1,
        };
        let is_object = json5::parse(&lines[..length].join("\n"))?.is_object();
        is_object.then_some(from + length)
    }

    /// Writes a key with the object in the lines below it as quoted text, as which it is parsed later.
    fn quote_object(&mut self, index: usize, line: &str, key: &str, end: usize) {
        self.edits.push(Edit {
            kind: WarningKind::ValueQuoted {
                key: key.to_owned(),
            },
            line: index + 2,
            column: 1,
            guessed_lines: index + 1..end,
        });
        let object = self.lines[index + 1..end].join("\n");
        let key = line.trim_end();
        self.copy_line(&format!("{key} {}", double_quoted(&object)));
    }

    /// Returns true if the first text in a range of lines starts a flow collection.
    fn starts_flow_collection(&self, from: usize, to: usize) -> bool {
        self.lines[from..to]
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty())
            .is_some_and(|line| line.starts_with(['{', '[']))
    }

    fn copy_line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn copy_lines(&mut self, from: usize, to: usize) -> usize {
        for index in from..to {
            let line = self.replace_tabs(index);
            self.copy_line(&line);
        }
        to
    }

    /// Returns a line with the tabs of its indentation as two spaces each, recorded as an edit.
    fn replace_tabs(&mut self, index: usize) -> String {
        let line = self.lines[index];
        let rest = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - rest.len()];
        if !indent.contains('\t') {
            return line.to_owned();
        }
        self.edits.push(Edit {
            kind: WarningKind::TabIndentation,
            line: index + 1,
            column: 1,
            guessed_lines: index..index + 1,
        });
        indent.replace('\t', "  ") + rest
    }

    /// Returns the end of the lines from `from` that are indented deeper than `indent`.
    ///
    /// Blank lines between them belong to the block, blank lines after them do not.
    fn block_end(&self, from: usize, indent: usize) -> usize {
        let mut end = from;
        for (index, line) in self.lines.iter().enumerate().skip(from) {
            if line.trim().is_empty() {
                continue;
            }
            if line.len() - line.trim_start().len() <= indent {
                break;
            }
            end = index + 1;
        }
        end
    }

    /// Returns the end of the lines from `from` that are text and declare no restriction.
    /// Generators write a description as paragraphs without indentation.
    fn text_end(&self, from: usize, is_text: impl Fn(&str) -> bool) -> usize {
        let lines = self.lines.iter().enumerate().skip(from);
        lines
            .take_while(|(index, line)| {
                // A comment, or a delimiter to which a heading was joined.
                let is_end = line.starts_with('#') || line.starts_with("---");
                !is_end && is_text(line) && declared_at(self.lines, *index).is_none()
            })
            .filter(|(_, line)| !line.trim().is_empty())
            .last()
            .map_or(from, |(index, _)| index + 1)
    }
}

/// Returns true if a line without indentation starts a field.
fn starts_field(line: &str) -> bool {
    !line.starts_with('-') && ValuePosition::find(line).is_some()
}

/// Returns true if a line has a colon that may end a key, whatever characters the key has.
fn has_colon(line: &str) -> bool {
    line.contains(": ") || line.trim_end().ends_with(':')
}

/// The key of a line and the position of its value, in bytes.
struct ValuePosition<'a> {
    key: &'a str,
    indent: usize,
    value_offset: usize,
}

impl<'a> ValuePosition<'a> {
    /// Finds the value after `key: `, `- ` or `- key: `.
    fn find(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let item = text.strip_prefix("- ").map(str::trim_start);
        let rest = item.unwrap_or(text);
        let start = line.len() - rest.len();
        match rest.split_once(':').filter(|(key, after)| {
            is_key(key) && (after.is_empty() || after.starts_with([' ', '\t']))
        }) {
            Some((key, after)) => {
                let value = line.len() - after.trim_start().len();
                Some(Self {
                    key,
                    // Lines that continue the value of `- key: ` are deeper than the key.
                    indent: if item.is_some() { start } else { indent },
                    value_offset: value,
                })
            }
            None => item.map(|_| Self {
                key: "-",
                indent,
                value_offset: start,
            }),
        }
    }

    /// Returns true for the field `metadata` without a value in its line.
    fn is_metadata(&self, value: &str) -> bool {
        self.indent == 0 && value.is_empty() && is_spelling_of(self.key, "metadata")
    }

    /// Returns true for the value of the field `description`.
    fn is_description(&self) -> bool {
        self.indent == 0 && is_spelling_of(self.key, "description")
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Returns true if a value is the header of a block scalar: `|`, `>-` or `|2+`, with an optional
/// comment.
fn is_block_scalar_header(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else {
        return false;
    };
    let rest = rest.trim_start_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    rest.trim_start().is_empty() || rest.trim_start().starts_with('#')
}

/// Returns true if a value is valid YAML on its own.
fn is_standalone_yaml(value: &str) -> bool {
    // Valid on their own, but not after a key.
    if value.starts_with("- ") || value.starts_with("? ") {
        return false;
    }
    match yaml::parse(value) {
        // In `Use when: needed`, the colon makes a mapping that the author did not mean.
        Ok(parsed) => !parsed.value.is_object() || value.starts_with('{'),
        Err(_) => false,
    }
}

/// Returns a value that is not valid YAML as a quoted scalar.
fn quote_value(value: &str) -> String {
    let is_flow =
        value.starts_with(['{', '[']) && value.ends_with(['}', ']']) && value.contains('\n');
    // JSON with comments is parsed as JSON5 later and needs its lines, since a comment ends with
    // one. All other values are one line of text.
    if is_flow {
        double_quoted(value)
    } else {
        format!("'{}'", intended_text(value).replace('\'', "''"))
    }
}

/// Returns text as a double-quoted YAML scalar.
fn double_quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// Returns the text that the author most likely meant by an invalid value, on one line.
fn intended_text(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    for quote in ['"', '\''] {
        let Some(rest) = line.strip_prefix(quote) else {
            continue;
        };
        return match rest.strip_suffix(quote) {
            // `"a" or "b"`: the quotes are part of the text.
            Some(inner) if is_quoted_twice(inner, quote) => line,
            Some(inner) if quote == '"' => inner.replace("\\\"", "\""),
            Some(inner) => inner.to_owned(),
            // The closing quote is missing.
            None if !rest.contains(quote) => rest.to_owned(),
            None => line,
        };
    }
    // A block scalar header with the text after it instead of below it.
    let text = line.strip_prefix(['|', '>']).map_or(line.as_str(), |rest| {
        rest.trim_start_matches(['-', '+']).trim_start()
    });
    // ` #` starts a comment, as in valid YAML; in a paragraph it is text.
    if value.contains('\n') {
        return text.to_owned();
    }
    text.split(" #").next().unwrap_or(text).to_owned()
}

/// Returns true if the first quote in `inner` closes and the last one opens.
///
/// Then both ends are quoted words, as in `"a" or "b"`, and the outer quotes belong to the text.
fn is_quoted_twice(inner: &str, quote: char) -> bool {
    inner
        .find(quote)
        .zip(inner.rfind(quote))
        .is_some_and(|(first, last)| !starts_word(inner, first) && starts_word(inner, last))
}

fn starts_word(text: &str, offset: usize) -> bool {
    text[..offset].ends_with(' ')
}
