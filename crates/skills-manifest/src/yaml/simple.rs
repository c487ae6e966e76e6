//! Reads the YAML that nearly every skill is written in, ten times faster than the library: `key: value` lines, one level of mappings and
//! lists, block scalars.
//!
//! It gives up on whatever it does not know for certain, and the library reads the text then. That both agree is a property test.

use serde_json::{Map, Value};

/// Reads `yaml`, or gives up.
pub(super) fn mapping(yaml: &str) -> Option<Map<String, Value>> {
    if yaml.contains(['\r', '\t', '\u{85}', '\u{2028}', '\u{2029}', '\u{FEFF}', '\u{7F}']) || yaml.starts_with(' ') {
        return None;
    }
    let mut lines = Lines { rest: yaml };
    let mut map = Map::with_capacity(8);
    while let Some(line) = lines.next_filled() {
        let (key, value) = entry(line)?;
        let value = if let Some(style) = value.strip_prefix(['|', '>']) {
            Value::String(block(&mut lines, value.starts_with('>'), style)?)
        } else if value.is_empty() {
            nested(&mut lines)?
        } else {
            // A deeper line goes on with the value.
            let goes_on = lines.peek().is_some_and(|line| line.starts_with(' ') && !line.trim().is_empty());
            if goes_on || lines.empty_then_deeper() {
                return None;
            }
            scalar(value)?
        };
        if map.contains_key(key) {
            return None;
        }
        map.insert(key.to_owned(), value);
    }
    (!map.is_empty()).then_some(map)
}

/// Splits `key: value`; the key is a plain word, the value has no white space around it.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_word =
        key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) && key.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_word || is_typed_word(key) {
        return None;
    }
    if rest.is_empty() {
        return Some((key, ""));
    }
    rest.starts_with(' ').then(|| (key, rest.trim_matches(' ')))
}

/// Reads what stands below a key without a value: nothing, a mapping or a list of scalars.
fn nested(lines: &mut Lines<'_>) -> Option<Value> {
    let Some(first) = lines.peek_filled() else { return Some(Value::Null) };
    let indent = first.len() - first.trim_start_matches(' ').len();
    let text = &first[indent..];
    if text.starts_with("- ") {
        return list(lines, indent);
    }
    if indent == 0 {
        return Some(Value::Null);
    }
    let mut map = Map::new();
    while let Some(text) = lines.next_at(indent)? {
        let (key, value) = entry(text)?;
        if value.is_empty() || value.starts_with(['|', '>']) || map.contains_key(key) {
            return None;
        }
        map.insert(key.to_owned(), scalar(value)?);
    }
    Some(Value::Object(map))
}

fn list(lines: &mut Lines<'_>, indent: usize) -> Option<Value> {
    let mut items = Vec::new();
    while let Some(line) = lines.peek_filled() {
        if indent == 0 && !line.starts_with('-') {
            break;
        }
        let Some(text) = lines.next_at(indent)? else { break };
        items.push(scalar(text.strip_prefix("- ")?.trim_matches(' '))?);
    }
    Some(Value::Array(items))
}

/// Reads a scalar of one line.
fn scalar(text: &str) -> Option<Value> {
    if text.bytes().any(|b| b < b' ') || text.chars().any(|c| c.is_control()) {
        return None;
    }
    match text.as_bytes().first()? {
        quote @ (b'"' | b'\'') => {
            let inner = text.get(1..text.len().checked_sub(1)?).filter(|_| text.len() > 1 && text.as_bytes().last() == Some(quote))?;
            let is_plain = !inner.contains(*quote as char) && (*quote == b'\'' || !inner.contains('\\'));
            is_plain.then(|| Value::String(inner.to_owned()))
        }
        first => {
            let is_plain = first.is_ascii_alphanumeric() || *first >= 0x80 || matches!(first, b'(' | b'/' | b'_' | b'$');
            if !is_plain || text.contains(": ") || text.ends_with(':') || text.contains(" #") {
                return None;
            }
            if first.is_ascii_digit() {
                return number(text);
            }
            Some(match text {
                "true" | "True" | "TRUE" => Value::Bool(true),
                "false" | "False" | "FALSE" => Value::Bool(false),
                "null" | "Null" | "NULL" => Value::Null,
                _ => Value::String(text.to_owned()),
            })
        }
    }
}

/// Reads what begins with a digit when it is a short whole number or certainly text.
fn number(text: &str) -> Option<Value> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let short = text.len() <= 15 && (text.len() == 1 || !text.starts_with('0'));
        return short.then(|| text.parse::<u64>().ok()).flatten().map(Value::from);
    }
    text.contains(' ').then(|| Value::String(text.to_owned()))
}

/// Reads a block scalar whose lines are all indented alike; `style` is what follows the indicator.
fn block(lines: &mut Lines<'_>, folded: bool, style: &str) -> Option<String> {
    let mut text = String::new();
    let mut indent = None;
    let mut empty = 0;
    while let Some(line) = lines.peek() {
        let content = line.trim_start_matches(' ');
        if content.is_empty() {
            // White space of its own length can matter.
            if !line.is_empty() {
                return None;
            }
            lines.next();
            empty += 1;
            continue;
        }
        let deep = line.len() - content.len();
        if deep == 0 {
            break;
        }
        let first = indent.is_none();
        if *indent.get_or_insert(deep) != deep || content.chars().any(char::is_control) {
            return None;
        }
        match (first, folded) {
            (true, _) => text.extend(std::iter::repeat_n('\n', empty)),
            (false, false) => text.extend(std::iter::repeat_n('\n', empty + 1)),
            (false, true) if empty == 0 => text.push(' '),
            (false, true) => text.extend(std::iter::repeat_n('\n', empty)),
        }
        empty = 0;
        text.push_str(content);
        lines.next();
    }
    indent?;
    match style {
        "" => text.push('\n'),
        "-" => {}
        "+" => text.extend(std::iter::repeat_n('\n', empty + 1)),
        _ => return None,
    }
    Some(text)
}

fn is_typed_word(word: &str) -> bool {
    matches!(word, "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "null" | "Null" | "NULL")
}

struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        if self.rest.is_empty() { None } else { self.rest.split('\n').next() }
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.rest = self.rest.get(line.len() + 1..).unwrap_or_default();
        Some(line)
    }

    /// Looks at the next line that is neither empty nor a comment, and passes those before it.
    fn peek_filled(&mut self) -> Option<&'a str> {
        loop {
            let line = self.peek()?;
            let text = line.trim_start_matches(' ');
            if !text.is_empty() && !text.starts_with('#') {
                return Some(line);
            }
            self.next();
        }
    }

    fn next_filled(&mut self) -> Option<&'a str> {
        self.peek_filled()?;
        self.next()
    }

    /// Takes the next line when it is indented by `indent`; nothing when it belongs to a level above; gives up otherwise.
    #[expect(clippy::option_option, reason = "giving up is not the end")]
    fn next_at(&mut self, indent: usize) -> Option<Option<&'a str>> {
        let Some(line) = self.peek_filled() else { return Some(None) };
        let deep = line.len() - line.trim_start_matches(' ').len();
        if deep == 0 && indent > 0 {
            return Some(None);
        }
        if deep != indent {
            return None;
        }
        self.next();
        Some(Some(&line[indent..]))
    }

    /// Whether a deeper line follows behind empty ones, which would belong to a value of several paragraphs.
    fn empty_then_deeper(&self) -> bool {
        let mut lines = self.rest.split('\n').skip_while(|line| line.trim_start_matches(' ').is_empty());
        self.peek().is_some_and(|line| line.trim_start_matches(' ').is_empty()) && lines.next().is_some_and(|line| line.starts_with(' '))
    }
}
