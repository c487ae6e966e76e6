//! Parses lines into events.

/// Maximum length of a key, in bytes; the limit of YAML is 1,024 characters.
const MAX_KEY_BYTES: usize = 1_000;

/// A scalar on one line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scalar<'a> {
    Text(&'a str),
    Bool(bool),
    Number(u64),
    Null,
}

/// Receives the events of a document in order; a method returns `None` to abort the parser.
pub(super) trait EventSink<'a> {
    /// A top-level key; the events of its value follow.
    fn key(&mut self, key: &'a str) -> Option<()>;
    /// The value of the current key.
    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()>;
    /// A piece of the block scalar that is the value of the current key.
    fn block_text(&mut self, piece: &'a str) -> Option<()>;
    /// Line ends in the block scalar.
    fn line_breaks(&mut self, count: usize);
    /// The value of the current key is a mapping or a list, whose entries or items follow.
    fn begin_nested(&mut self, kind: NestedKind) -> Option<()>;
    /// An entry of the nested mapping.
    fn nested_entry(&mut self, key: &'a str, scalar: Scalar<'a>) -> Option<()>;
    /// An item of the nested list.
    fn list_item(&mut self, scalar: Scalar<'a>);
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum NestedKind {
    Mapping,
    List,
}

/// Parses `yaml` into a sink; `None` if the text is outside of the subset.
pub(super) fn parse_into<'a>(yaml: &'a str, sink: &mut impl EventSink<'a>) -> Option<()> {
    // Tabs, carriage returns and other control characters have rules of their own in YAML, as have
    // the line ends of Unicode. The fold visits every byte: without an early exit, the compiler
    // vectorizes it.
    let (has_control, all_bits) = yaml.bytes().fold((false, 0), |(has_control, all_bits), b| {
        (has_control | is_unsupported_control(b), all_bits | b)
    });
    if has_control || yaml.starts_with(' ') || !yaml.ends_with('\n') {
        return None;
    }
    let is_ascii = all_bits < 0x80;
    if !is_ascii && yaml.contains(is_unsupported_char) {
        return None;
    }
    let mut lines = Lines { rest: yaml };
    let mut has_fields = false;
    while let Some(line) = lines.next_content() {
        let (key, value) = split_entry(line)?;
        sink.key(key)?;
        has_fields = true;
        match value.as_bytes().first() {
            Some(b'|') => parse_block_scalar(&mut lines, BlockStyle::Literal, &value[1..], sink)?,
            Some(b'>') => parse_block_scalar(&mut lines, BlockStyle::Folded, &value[1..], sink)?,
            None => parse_nested(&mut lines, sink)?,
            // An indented line would continue the value. `split_entry` rejects it in the next
            // iteration, since no key starts with a space.
            Some(_) => sink.scalar(parse_scalar(value)?)?,
        }
    }
    has_fields.then_some(())
}

// Operators without short circuit, for the fold in `parse_into`.
#[inline]
fn is_unsupported_control(b: u8) -> bool {
    ((b < b' ') & (b != b'\n')) | (b == 0x7F)
}

/// Returns true if the library rejects a character or ends a line at it: C1 controls, Unicode line
/// ends, byte order marks and noncharacters.
fn is_unsupported_char(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
    )
}

/// Splits `key: value` into a key of letters, digits, hyphens and underscores and the trimmed
/// value.
#[inline]
fn split_entry(line: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(b':', line.as_bytes())?;
    let key = &line[..end];
    let rest = &line[end + 1..];
    if !key
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    {
        return None;
    }
    // Other first characters start numbers or indicators; `true` and `null` are not text as keys.
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

/// Parses the lines below a key without a value: none, a mapping or a list of scalars.
fn parse_nested<'a>(lines: &mut Lines<'a>, sink: &mut impl EventSink<'a>) -> Option<()> {
    let Some(first) = lines.peek_content() else {
        return sink.scalar(Scalar::Null);
    };
    let indent = indent_of(first);
    // Items of a list may be on the level of their key.
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
        // A list on the level of its key ends with the next key.
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

/// Parses a scalar on one line.
#[inline]
fn parse_scalar(text: &str) -> Option<Scalar<'_>> {
    let bytes = text.as_bytes();
    match bytes.first()? {
        quote @ (b'"' | b'\'') => {
            let inner = text
                .get(1..text.len() - 1)
                .filter(|_| bytes.last() == Some(quote))?;
            // Only text without escapes can be borrowed; single quotes have no backslash escapes.
            let is_plain = |b: u8| b != *quote && (b != b'\\' || *quote == b'\'');
            inner.bytes().all(is_plain).then_some(Scalar::Text(inner))
        }
        first => {
            let is_plain = first.is_ascii_alphanumeric()
                || *first >= 0x80
                || matches!(first, b'(' | b'/' | b'_' | b'$');
            // `: ` starts a value and ` #` a comment. The index of `#` is greater than 0, since it
            // is not among the first characters above.
            let is_indicator = |index: usize| match bytes[index] {
                b':' => bytes.get(index + 1).is_none_or(|b| *b == b' '),
                _ => bytes[index - 1] == b' ',
            };
            if !is_plain || memchr::memchr2_iter(b':', b'#', bytes).any(is_indicator) {
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

/// Parses a scalar that starts with a digit if it is a short integer or certainly text.
///
/// Versions, dates and other notations of numbers are left to the library.
fn parse_number(text: &str) -> Option<Scalar<'_>> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        // 15 digits fit into 64 bits and into the mantissa of a float; a leading zero means octal
        // in YAML 1.1.
        let is_integer = text.len() <= 15 && (text.len() == 1 || !text.starts_with('0'));
        return is_integer
            .then(|| text.parse().ok())
            .flatten()
            .map(Scalar::Number);
    }
    text.contains(' ').then_some(Scalar::Text(text))
}

/// The style of a block scalar: `|` keeps its line ends, `>` folds single ones into spaces.
#[derive(Clone, Copy, PartialEq)]
enum BlockStyle {
    Literal,
    Folded,
}

/// Parses a block scalar whose lines all have the same indentation.
///
/// `chomping` is the text after `|` or `>`: nothing, `-` or `+`.
fn parse_block_scalar<'a>(
    lines: &mut Lines<'a>,
    style: BlockStyle,
    chomping: &str,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let mut indent = None;
    let mut blank_lines = 0;
    while let Some(line) = lines.peek() {
        let line_indent = indent_of(line);
        if line_indent == line.len() {
            // Spaces in a blank line belong to the text if they exceed the indentation.
            if !line.is_empty() {
                return None;
            }
            lines.advance_past(line);
            blank_lines += 1;
            continue;
        }
        if line_indent == 0 {
            break;
        }
        match (indent, style) {
            // Folding has other rules for lines that are indented deeper.
            (Some(indent), _) if indent != line_indent => return None,
            (None, _) => sink.line_breaks(blank_lines),
            (_, BlockStyle::Literal) => sink.line_breaks(blank_lines + 1),
            (_, BlockStyle::Folded) if blank_lines == 0 => sink.block_text(" ")?,
            (_, BlockStyle::Folded) => sink.line_breaks(blank_lines),
        }
        indent = Some(line_indent);
        blank_lines = 0;
        sink.block_text(&line[line_indent..])?;
        lines.advance_past(line);
    }
    // Without any text, the rules for trailing line ends differ.
    indent?;
    match chomping {
        "" => sink.line_breaks(1),
        "-" => {}
        "+" => sink.line_breaks(blank_lines + 1),
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

/// Returns true if an unquoted word is a boolean or null in YAML 1.2.
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

    /// Returns the next line that is neither blank nor a comment; skips those before it.
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

    /// Skips the line that [`peek`](Self::peek) returned.
    fn advance_past(&mut self, line: &str) {
        self.rest = self.rest.get(line.len() + 1..).unwrap_or_default();
    }

    /// Returns the next line without its indentation of `indent` spaces.
    ///
    /// `Some(None)` means that the line belongs to the level above or the text ends, `None` that
    /// the indentation is outside of the subset.
    #[expect(
        clippy::option_option,
        reason = "the end of a level differs from an unsupported text"
    )]
    fn next_at_indent(&mut self, indent: usize) -> Option<Option<&'a str>> {
        let Some(line) = self.peek_content() else {
            return Some(None);
        };
        let line_indent = indent_of(line);
        if line_indent == 0 && indent > 0 {
            return Some(None);
        }
        if line_indent != indent {
            return None;
        }
        self.advance_past(line);
        Some(Some(&line[indent..]))
    }
}
