//! Parses lines into events.

use super::event::{EventSink, MAX_DEPTH, NestedKind, Scalar, fold_line, is_plain_key};
use super::lines::{Lines, indent_of, trim_spaces};
use super::scalar::{parse_plain, split_comment};
use super::{flow, quoted};

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
    let mut parser = Parser {
        lines: Lines::new(yaml),
        depth: 0,
        sink,
    };
    parser.lines.peek_content()?;
    parser.parse_mapping(0)?;
    // A mapping also ends at a line that is indented less; at the top there is none.
    parser.lines.peek_content().is_none().then_some(())
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
    if !is_plain_key(key) {
        return None;
    }
    if rest.is_empty() {
        return Some((key, ""));
    }
    rest.starts_with(' ').then(|| (key, trim_spaces(rest)))
}

struct Parser<'a, 's, S> {
    lines: Lines<'a>,
    /// The number of open mappings and lists below the top.
    depth: usize,
    sink: &'s mut S,
}

impl<'a, S: EventSink<'a>> Parser<'a, '_, S> {
    /// Parses the entries of a mapping whose keys are indented by `indent`.
    fn parse_mapping(&mut self, indent: usize) -> Option<()> {
        while let Some(line) = self.lines.peek_content() {
            let line_indent = indent_of(line);
            if line_indent < indent {
                break;
            }
            if line_indent > indent {
                return None;
            }
            let (key, value) = split_entry(&line[indent..])?;
            self.lines.advance_past(line);
            self.sink.key(key)?;
            self.parse_value(value, indent)?;
        }
        Some(())
    }

    /// Parses the value of an entry or item; its continuation lines are indented by more than
    /// `parent_indent`.
    fn parse_value(&mut self, value: &'a str, parent_indent: usize) -> Option<()> {
        match value.as_bytes().first() {
            None | Some(b'#') => self.parse_below(parent_indent),
            Some(b'|') => self.parse_block_scalar(BlockStyle::Literal, &value[1..], parent_indent),
            Some(b'>') => self.parse_block_scalar(BlockStyle::Folded, &value[1..], parent_indent),
            Some(_) => self.parse_inline(value, parent_indent),
        }
    }

    /// Parses a value that starts on the line of its key or item, other than a block scalar.
    fn parse_inline(&mut self, value: &'a str, parent_indent: usize) -> Option<()> {
        let lines = &mut self.lines;
        match value.as_bytes().first()? {
            quote @ (b'"' | b'\'') => quoted::parse(lines, value, *quote, parent_indent, self.sink),
            b'[' | b'{' => flow::parse(lines, value, parent_indent, self.depth, self.sink),
            _ => self.parse_plain_lines(value, parent_indent),
        }
    }

    /// Parses the lines below a key without a value: none, a mapping, a list or a scalar.
    fn parse_below(&mut self, parent_indent: usize) -> Option<()> {
        let Some(first) = self.lines.peek_content() else {
            return self.sink.scalar(Scalar::Null);
        };
        let indent = indent_of(first);
        let text = trim_spaces(first);
        // Items of a list may be on the level of their key.
        if text.starts_with("- ") && indent >= parent_indent {
            return self.parse_nested(NestedKind::List, |parser| parser.parse_list(indent));
        }
        if indent <= parent_indent {
            return self.sink.scalar(Scalar::Null);
        }
        if split_entry(&first[indent..]).is_some() {
            return self.parse_nested(NestedKind::Mapping, |parser| parser.parse_mapping(indent));
        }
        self.lines.advance_past(first);
        self.parse_inline(text, parent_indent)
    }

    /// Parses the entries or items of a nested mapping or list.
    fn parse_nested(
        &mut self,
        kind: NestedKind,
        parse: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.sink.begin_nested(kind)?;
        parse(self)?;
        self.depth -= 1;
        self.sink.end_nested()
    }

    /// Parses the items of a list whose hyphens are indented by `indent`.
    fn parse_list(&mut self, indent: usize) -> Option<()> {
        while let Some(line) = self.lines.peek_content() {
            // Whether another line may follow here is decided by the mapping around the list.
            if indent_of(line) != indent || !line[indent..].starts_with('-') {
                break;
            }
            let after = line[indent..].strip_prefix("- ")?;
            let item = trim_spaces(after);
            self.lines.advance_past(line);
            let Some((key, value)) = split_entry(item) else {
                self.parse_inline(item, indent)?;
                continue;
            };
            // `- key: value` is a mapping whose keys are below the first one.
            let item_indent = indent + 2 + indent_of(after);
            self.parse_nested(NestedKind::Mapping, |parser| {
                parser.sink.key(key)?;
                parser.parse_value(value, item_indent)?;
                match parser.lines.peek_content() {
                    Some(next) if indent_of(next) >= item_indent => {
                        parser.parse_mapping(item_indent)
                    }
                    _ => Some(()),
                }
            })?;
        }
        Some(())
    }

    /// Parses an unquoted scalar with the lines that continue it.
    fn parse_plain_lines(&mut self, first: &'a str, parent_indent: usize) -> Option<()> {
        let (text, has_comment) = split_comment(first);
        let scalar = parse_plain(text)?;
        // A comment ends the scalar.
        let mut continuation = if has_comment {
            None
        } else {
            self.lines.continuation(parent_indent)
        };
        if continuation.is_none() {
            self.sink.scalar(scalar)?;
        } else {
            self.sink.text_piece(text)?;
            while let Some((line, blank_lines)) = continuation {
                fold_line(blank_lines, self.sink)?;
                let text = trim_spaces(line);
                if !is_plain_continuation(text) {
                    return None;
                }
                self.sink.text_piece(text)?;
                self.lines.advance_past(line);
                continuation = self.lines.continuation(parent_indent);
            }
            self.sink.end_text()?;
        }
        // After a comment, an indented line no longer continues the scalar.
        let next = self.lines.peek_content();
        let is_followed = next.is_some_and(|line| indent_of(line) > parent_indent);
        (!is_followed).then_some(())
    }

    /// Parses a block scalar; the lines of a folded one all have the same indentation.
    ///
    /// `chomping` is the text after `|` or `>`: nothing, `-` or `+`.
    fn parse_block_scalar(
        &mut self,
        style: BlockStyle,
        chomping: &str,
        parent_indent: usize,
    ) -> Option<()> {
        let mut indent = None;
        let mut blank_lines = 0;
        while let Some(line) = self.lines.peek() {
            let line_indent = indent_of(line);
            if line_indent == line.len() {
                // Spaces in a blank line belong to the text if they exceed the indentation.
                if !line.is_empty() && indent.is_none_or(|indent| line.len() > indent) {
                    return None;
                }
                self.lines.advance_past(line);
                blank_lines += 1;
                continue;
            }
            if line_indent <= parent_indent {
                break;
            }
            match (indent, style) {
                // Folding has other rules for lines that are indented deeper.
                (Some(indent), BlockStyle::Folded) if indent != line_indent => return None,
                (Some(indent), _) if indent > line_indent => return None,
                (None, _) => self.sink.line_breaks(blank_lines),
                (_, BlockStyle::Literal) => self.sink.line_breaks(blank_lines + 1),
                (_, BlockStyle::Folded) => fold_line(blank_lines, self.sink)?,
            }
            let indent = *indent.get_or_insert(line_indent);
            blank_lines = 0;
            self.sink.text_piece(&line[indent..])?;
            self.lines.advance_past(line);
        }
        // Without any text, the rules for trailing line ends differ.
        indent?;
        match chomping {
            "" => self.sink.line_breaks(1),
            "-" => {}
            "+" => self.sink.line_breaks(blank_lines + 1),
            _ => return None,
        }
        self.sink.end_text()
    }
}

/// Returns true if a line certainly continues an unquoted scalar and does not end it.
fn is_plain_continuation(text: &str) -> bool {
    let bytes = text.as_bytes();
    !memchr::memchr2_iter(b':', b'#', bytes).any(|index| ends_scalar(bytes, index))
}

/// Returns true if the `:` or `#` at an index may end a scalar.
fn ends_scalar(bytes: &[u8], index: usize) -> bool {
    match bytes[index] {
        b':' => bytes.get(index + 1).is_none_or(|b| *b == b' '),
        _ => index == 0 || bytes[index - 1] == b' ',
    }
}

/// The style of a block scalar: `|` keeps its line ends, `>` folds single ones into spaces.
#[derive(Clone, Copy, PartialEq)]
enum BlockStyle {
    Literal,
    Folded,
}
