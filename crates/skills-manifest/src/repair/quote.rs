//! Puts values in quotes that YAML does not read as they stand.

use crate::warning::WarningKind;
use crate::yaml;

/// The most values that are mended; a text with more is no frontmatter.
const MAX_EDITS: usize = 200;

/// One change; line and column count from 1 in the frontmatter.
pub(super) struct Edit {
    pub(super) kind: WarningKind,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Mends a text line by line. Block scalars and flow collections that parse are left as they are.
pub(super) fn quote_values(text: &str) -> (String, Vec<Edit>) {
    let lines: Vec<&str> = text.lines().collect();
    let mut mender = ValueQuoter {
        lines: &lines,
        out: String::with_capacity(text.len() + 64),
        changes: Vec::new(),
    };
    let mut index = 0;
    while index < lines.len() {
        index = mender.process_line(index);
    }
    (mender.out, mender.changes)
}

struct ValueQuoter<'a> {
    lines: &'a [&'a str],
    out: String,
    changes: Vec<Edit>,
}

impl ValueQuoter<'_> {
    /// Writes the line and those that belong to its value; returns the index of the next one.
    fn process_line(&mut self, index: usize) -> usize {
        let line = self.replace_tabs(index);
        let Some(place) = ValuePosition::find(&line) else {
            self.copy_line(&line);
            return index + 1;
        };
        let (head, value) = line.split_at(place.value_offset);
        let deeper = self.block_end(index + 1, place.indent);
        let below = self.lines[index + 1..deeper]
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty());
        let is_flow_below =
            value.is_empty() && below.is_some_and(|line| line.starts_with(['{', '[']));
        if (value.is_empty() && !is_flow_below) || is_block_scalar_header(value) {
            self.copy_line(&line);
            // The lines of a block scalar are its text; those below an empty value are read by
            // themselves.
            return if is_block_scalar_header(value) {
                self.copy_lines(index + 1, deeper)
            } else {
                index + 1
            };
        }
        let parts = std::iter::once(value).chain(self.lines[index + 1..deeper].iter().copied());
        let whole = parts
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n ");
        if self.changes.len() >= MAX_EDITS || is_standalone_yaml(&whole) {
            self.copy_line(&line);
            return self.copy_lines(index + 1, deeper);
        }
        let column = head.chars().count() + 1;
        self.changes.push(Edit {
            kind: WarningKind::ValueQuoted {
                key: place.key.to_owned(),
            },
            line: index + 1,
            column,
        });
        let is_flow =
            whole.starts_with(['{', '[']) && whole.ends_with(['}', ']']) && whole.contains('\n');
        // JSON with comments keeps its lines; everything else is one line of text.
        let quoted = if is_flow {
            double_quoted(&whole)
        } else {
            format!("'{}'", intended_text(&whole).replace('\'', "''"))
        };
        let space = if head.ends_with(':') { " " } else { "" };
        self.copy_line(&format!("{head}{space}{quoted}"));
        deeper
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

    /// The line with the tabs of its indentation as spaces, which a change says.
    fn replace_tabs(&mut self, index: usize) -> String {
        let line = self.lines[index];
        let rest = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - rest.len()];
        if !indent.contains('\t') {
            return line.to_owned();
        }
        self.changes.push(Edit {
            kind: WarningKind::TabIndentation,
            line: index + 1,
            column: 1,
        });
        indent.replace('\t', "  ") + rest
    }

    /// Finds the end of the lines that are indented deeper than `indent`, empty lines among them.
    fn block_end(&self, from: usize, indent: usize) -> usize {
        let is_deeper = |line: &str| line.len() - line.trim_start().len() > indent;
        let mut end = from;
        for (index, line) in self.lines.iter().enumerate().skip(from) {
            if line.trim().is_empty() {
                continue;
            }
            if !is_deeper(line) {
                break;
            }
            end = index + 1;
        }
        end
    }
}

/// Where the value of a line begins.
struct ValuePosition<'a> {
    key: &'a str,
    indent: usize,
    value_offset: usize,
}

impl<'a> ValuePosition<'a> {
    /// Finds the value behind `key: `, `- ` or `- key: `.
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
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a value begins a block scalar: `|`, `>-`, `|2+` and perhaps a comment.
fn is_block_scalar_header(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else {
        return false;
    };
    let rest = rest.trim_start_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    rest.trim_start().is_empty() || rest.trim_start().starts_with('#')
}

/// Whether a value is YAML by itself and not a mapping that a colon makes of it.
fn is_standalone_yaml(value: &str) -> bool {
    if value.starts_with("- ") || value.starts_with("? ") {
        return false;
    }
    match yaml::parse(value) {
        Ok(read) => !read.value.is_object() || value.starts_with('{'),
        Err(_) => false,
    }
}

/// Writes text as YAML's double quotes do.
fn double_quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// What the author meant by a value that is no YAML, on one line.
fn intended_text(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    for quote in ['"', '\''] {
        let Some(rest) = line.strip_prefix(quote) else {
            continue;
        };
        return match rest.strip_suffix(quote) {
            Some(inner) if is_quoted_twice(inner, quote) => line,
            Some(inner) if quote == '"' => inner.replace("\\\"", "\""),
            Some(inner) => inner.to_owned(),
            // A quote that is never closed.
            None if !rest.contains(quote) => rest.to_owned(),
            None => line,
        };
    }
    // A block scalar's sign with the text behind it instead of below.
    let text = line.strip_prefix(['|', '>']).map_or(line.as_str(), |rest| {
        rest.trim_start_matches(['-', '+']).trim_start()
    });
    // What stands behind ` #` is a comment, as in YAML.
    text.split(" #").next().unwrap_or(text).to_owned()
}

/// Whether the first quote within `inner` closes and the last one opens: its ends are quoted words
/// then, as in `"a" or "b"`.
fn is_quoted_twice(inner: &str, quote: char) -> bool {
    let opens = |at: usize| inner[..at].ends_with(' ');
    inner
        .find(quote)
        .zip(inner.rfind(quote))
        .is_some_and(|(first, last)| !opens(first) && opens(last))
}
