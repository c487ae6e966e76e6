//! Reads the YAML that nearly every skill is written in, ten times faster than the library:
//! `key: value` lines, one level of mappings and lists, block scalars.
//!
//! It gives up on whatever it does not know for certain, and the library reads the text then. That
//! both agree is a property test.

mod build;
mod peek;
#[cfg(test)]
mod tests;

pub(crate) use build::parse_mapping;
pub(crate) use peek::peek_name;

/// The longest key; YAML has a limit of its own beyond it.
const MAX_KEY_BYTES: usize = 1_000;

/// A scalar of one line.
#[derive(Debug, Clone, Copy)]
enum Scalar<'a> {
    Text(&'a str),
    Bool(bool),
    Number(u64),
    Null,
}

/// Takes what a text holds, piece by piece; each returns nothing to give up.
trait EventSink<'a> {
    /// A key of the top level; its value follows.
    fn key(&mut self, key: &'a str) -> Option<()>;
    /// The value of the key.
    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()>;
    /// A piece of a block scalar, which is the value of the key.
    fn block_text(&mut self, piece: &'a str) -> Option<()>;
    /// Line ends of a block scalar.
    fn line_breaks(&mut self, count: usize);
    /// The value of the key is a mapping or a list.
    fn begin_nested(&mut self, nest: NestedKind) -> Option<()>;
    /// An entry of the mapping.
    fn nested_entry(&mut self, key: &'a str, scalar: Scalar<'a>) -> Option<()>;
    /// An item of the list.
    fn list_item(&mut self, scalar: Scalar<'a>);
}

#[derive(Clone, Copy, PartialEq)]
enum NestedKind {
    Mapping,
    List,
}

/// Reads `yaml` into a sink, or gives up.
fn parse_into<'a>(yaml: &'a str, sink: &mut impl EventSink<'a>) -> Option<()> {
    // Tabs, carriage returns and other control characters have rules of their own, and so have the
    // line ends that Unicode adds. Looking at every byte without stopping is faster than stopping
    // at the first.
    let is_control = |b: u8| ((b < b' ') & (b != b'\n')) | (b == 0x7F);
    let (odd, all) = yaml
        .bytes()
        .fold((false, 0), |(odd, all), b| (odd | is_control(b), all | b));
    if odd || yaml.starts_with(' ') || !yaml.ends_with('\n') {
        return None;
    }
    if all >= 0x80 && yaml.contains(is_unsupported_char) {
        return None;
    }
    let mut lines = Lines { rest: yaml };
    let mut any = false;
    while let Some(line) = lines.next_content() {
        let (key, value) = split_entry(line)?;
        sink.key(key)?;
        any = true;
        match value.as_bytes().first() {
            Some(sign @ (b'|' | b'>')) => {
                parse_block_scalar(&mut lines, *sign == b'>', &value[1..], sink)?
            }
            None => parse_nested(&mut lines, sink)?,
            // A deeper line would continue the value; no key begins with its space, so the next
            // round gives up.
            Some(_) => sink.scalar(parse_scalar(value)?)?,
        }
    }
    any.then_some(())
}

fn is_unsupported_char(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
    )
}

/// Splits `key: value`; the key is a plain word, the value has no white space around it.
#[inline]
fn split_entry(line: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(b':', line.as_bytes())?;
    let (key, rest) = (&line[..end], &line[end + 1..]);
    if !key
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    {
        return None;
    }
    if key.len() > MAX_KEY_BYTES
        || !key.starts_with(|c: char| c.is_ascii_alphabetic())
        || is_typed_word(key)
    {
        return None;
    }
    if rest.is_empty() {
        return Some((key, ""));
    }
    rest.starts_with(' ').then(|| (key, trim_spaces(rest)))
}

/// Reads what stands below a key without a value: nothing, a mapping or a list of scalars.
fn parse_nested<'a>(lines: &mut Lines<'a>, sink: &mut impl EventSink<'a>) -> Option<()> {
    let Some(first) = lines.peek_content() else {
        return sink.scalar(Scalar::Null);
    };
    let indent = indent_of(first);
    if first[indent..].starts_with("- ") {
        sink.begin_nested(NestedKind::List)?;
        return parse_list(lines, indent, sink);
    }
    if indent == 0 {
        return sink.scalar(Scalar::Null);
    }
    sink.begin_nested(NestedKind::Mapping)?;
    while let Some(text) = lines.next_at_indent(indent)? {
        let (key, value) = split_entry(text)?;
        sink.nested_entry(key, parse_scalar(value)?)?;
    }
    Some(())
}

fn parse_list<'a>(
    lines: &mut Lines<'a>,
    indent: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    while let Some(line) = lines.peek_content() {
        if indent == 0 && !line.starts_with('-') {
            break;
        }
        let Some(text) = lines.next_at_indent(indent)? else {
            break;
        };
        sink.list_item(parse_scalar(trim_spaces(text.strip_prefix("- ")?))?);
    }
    Some(())
}

/// Reads a scalar of one line.
#[inline]
fn parse_scalar(text: &str) -> Option<Scalar<'_>> {
    let bytes = text.as_bytes();
    match bytes.first()? {
        quote @ (b'"' | b'\'') => {
            let inner = text
                .get(1..text.len() - 1)
                .filter(|_| bytes.last() == Some(quote))?;
            let is_plain = |b: u8| b != *quote && (b != b'\\' || *quote == b'\'');
            inner.bytes().all(is_plain).then_some(Scalar::Text(inner))
        }
        first => {
            let is_plain = first.is_ascii_alphanumeric()
                || *first >= 0x80
                || matches!(first, b'(' | b'/' | b'_' | b'$');
            // `: ` makes a mapping, ` #` a comment; neither sign begins a plain scalar.
            let is_sign = |at: usize| match bytes[at] {
                b':' => bytes.get(at + 1).is_none_or(|b| *b == b' '),
                _ => bytes[at - 1] == b' ',
            };
            if !is_plain || memchr::memchr2_iter(b':', b'#', bytes).any(is_sign) {
                return None;
            }
            if first.is_ascii_digit() {
                return parse_number(text);
            }
            Some(match text {
                "true" | "True" | "TRUE" => Scalar::Bool(true),
                "false" | "False" | "FALSE" => Scalar::Bool(false),
                "null" | "Null" | "NULL" => Scalar::Null,
                _ => Scalar::Text(text),
            })
        }
    }
}

/// Reads what begins with a digit when it is a short whole number or certainly text.
fn parse_number(text: &str) -> Option<Scalar<'_>> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let short = text.len() <= 15 && (text.len() == 1 || !text.starts_with('0'));
        return short
            .then(|| text.parse().ok())
            .flatten()
            .map(Scalar::Number);
    }
    text.contains(' ').then_some(Scalar::Text(text))
}

/// Reads a block scalar whose lines are all indented alike; `style` is what follows the indicator.
fn parse_block_scalar<'a>(
    lines: &mut Lines<'a>,
    folded: bool,
    style: &str,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let mut indent = None;
    let mut empty = 0;
    while let Some(line) = lines.peek() {
        let deep = indent_of(line);
        if deep == line.len() {
            // White space of its own length can matter.
            if !line.is_empty() {
                return None;
            }
            lines.advance_past(line);
            empty += 1;
            continue;
        }
        if deep == 0 {
            break;
        }
        match (indent, folded) {
            (Some(indent), _) if indent != deep => return None,
            (None, _) => sink.line_breaks(empty),
            (_, false) => sink.line_breaks(empty + 1),
            (_, true) if empty == 0 => sink.block_text(" ")?,
            (_, true) => sink.line_breaks(empty),
        }
        indent = Some(deep);
        empty = 0;
        sink.block_text(&line[deep..])?;
        lines.advance_past(line);
    }
    indent?;
    match style {
        "" => sink.line_breaks(1),
        "-" => {}
        "+" => sink.line_breaks(empty + 1),
        _ => return None,
    }
    Some(())
}

#[inline]
fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b' ').count()
}

#[inline]
fn trim_spaces(text: &str) -> &str {
    let text = &text[indent_of(text)..];
    let end = text
        .bytes()
        .rposition(|b| b != b' ')
        .map_or(0, |last| last + 1);
    &text[..end]
}

fn is_typed_word(word: &str) -> bool {
    matches!(
        word,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "null" | "Null" | "NULL"
    )
}

struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        Some(&self.rest[..end])
    }

    /// Looks at the next line that is neither empty nor a comment, and passes those before it.
    fn peek_content(&mut self) -> Option<&'a str> {
        loop {
            let line = self.peek()?;
            match line.as_bytes().get(indent_of(line)) {
                None | Some(b'#') => self.advance_past(line),
                Some(_) => return Some(line),
            }
        }
    }

    fn next_content(&mut self) -> Option<&'a str> {
        let line = self.peek_content()?;
        self.advance_past(line);
        Some(line)
    }

    /// Passes the line that was looked at.
    fn advance_past(&mut self, line: &str) {
        self.rest = self.rest.get(line.len() + 1..).unwrap_or_default();
    }

    /// Takes the next line when it is indented by `indent`; nothing when it belongs to a level
    /// above; gives up otherwise.
    #[expect(clippy::option_option, reason = "giving up is not the end")]
    fn next_at_indent(&mut self, indent: usize) -> Option<Option<&'a str>> {
        let Some(line) = self.peek_content() else {
            return Some(None);
        };
        let deep = indent_of(line);
        if deep == 0 && indent > 0 {
            return Some(None);
        }
        if deep != indent {
            return None;
        }
        self.advance_past(line);
        Some(Some(&line[indent..]))
    }
}
