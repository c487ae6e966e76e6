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
    let mut lines = Lines::new(yaml);
    lines.peek_content()?;
    parse_mapping(&mut lines, 0, 0, sink)?;
    // A mapping also ends at a line that is indented less; at the top there is none.
    lines.peek_content().is_none().then_some(())
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

/// Parses the entries of a mapping whose keys are indented by `indent`.
fn parse_mapping<'a>(
    lines: &mut Lines<'a>,
    indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    while let Some(line) = lines.peek_content() {
        let line_indent = indent_of(line);
        if line_indent < indent {
            break;
        }
        if line_indent > indent {
            return None;
        }
        let (key, value) = split_entry(&line[indent..])?;
        lines.advance_past(line);
        sink.key(key)?;
        parse_value(lines, value, indent, depth, sink)?;
    }
    Some(())
}

/// Parses the value of an entry or item; its continuation lines are indented by more than
/// `parent_indent`.
fn parse_value<'a>(
    lines: &mut Lines<'a>,
    value: &'a str,
    parent_indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    match value.as_bytes().first() {
        None | Some(b'#') => parse_below(lines, parent_indent, depth, sink),
        Some(b'|') => {
            parse_block_scalar(lines, BlockStyle::Literal, &value[1..], parent_indent, sink)
        }
        Some(b'>') => {
            parse_block_scalar(lines, BlockStyle::Folded, &value[1..], parent_indent, sink)
        }
        Some(_) => parse_inline(lines, value, parent_indent, depth, sink),
    }
}

/// Parses a value that starts on the line of its key or item, other than a block scalar.
fn parse_inline<'a>(
    lines: &mut Lines<'a>,
    value: &'a str,
    parent_indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => quoted::parse(lines, value, *quote, parent_indent, sink),
        b'[' | b'{' => flow::parse(lines, value, parent_indent, depth, sink),
        _ => parse_plain_lines(lines, value, parent_indent, sink),
    }
}

/// Parses the lines below a key without a value: none, a mapping, a list or a scalar.
fn parse_below<'a>(
    lines: &mut Lines<'a>,
    parent_indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let Some(first) = lines.peek_content() else {
        return sink.scalar(Scalar::Null);
    };
    let indent = indent_of(first);
    let text = trim_spaces(first);
    // Items of a list may be on the level of their key.
    if text.starts_with("- ") && indent >= parent_indent {
        if depth >= MAX_DEPTH {
            return None;
        }
        sink.begin_nested(NestedKind::List)?;
        parse_list(lines, indent, depth + 1, sink)?;
        return sink.end_nested();
    }
    if indent <= parent_indent {
        return sink.scalar(Scalar::Null);
    }
    if split_entry(&first[indent..]).is_some() {
        if depth >= MAX_DEPTH {
            return None;
        }
        sink.begin_nested(NestedKind::Mapping)?;
        parse_mapping(lines, indent, depth + 1, sink)?;
        return sink.end_nested();
    }
    lines.advance_past(first);
    parse_inline(lines, text, parent_indent, depth, sink)
}

/// Parses the items of a list whose hyphens are indented by `indent`.
fn parse_list<'a>(
    lines: &mut Lines<'a>,
    indent: usize,
    depth: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    while let Some(line) = lines.peek_content() {
        // Whether another line may follow here is decided by the mapping around the list.
        if indent_of(line) != indent || !line[indent..].starts_with('-') {
            break;
        }
        let after = line[indent..].strip_prefix("- ")?;
        let item = trim_spaces(after);
        let item_indent = indent + 2 + indent_of(after);
        if let Some((key, value)) = split_entry(item) {
            // `- key: value` is a mapping whose keys are below the first one.
            if depth >= MAX_DEPTH {
                return None;
            }
            lines.advance_past(line);
            sink.begin_nested(NestedKind::Mapping)?;
            sink.key(key)?;
            parse_value(lines, value, item_indent, depth + 1, sink)?;
            if lines
                .peek_content()
                .is_some_and(|next| indent_of(next) >= item_indent)
            {
                parse_mapping(lines, item_indent, depth + 1, sink)?;
            }
            sink.end_nested()?;
            continue;
        }
        lines.advance_past(line);
        parse_inline(lines, item, indent, depth, sink)?;
    }
    Some(())
}

/// Parses an unquoted scalar with the lines that continue it.
fn parse_plain_lines<'a>(
    lines: &mut Lines<'a>,
    first: &'a str,
    parent_indent: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let (text, has_comment) = split_comment(first);
    let scalar = parse_plain(text)?;
    // A comment ends the scalar.
    let mut continuation = if has_comment {
        None
    } else {
        lines.continuation(parent_indent)
    };
    if continuation.is_none() {
        sink.scalar(scalar)?;
    } else {
        sink.text_piece(text)?;
        while let Some((line, blank_lines)) = continuation {
            fold_line(blank_lines, sink)?;
            let text = trim_spaces(line);
            if !is_plain_continuation(text) {
                return None;
            }
            sink.text_piece(text)?;
            lines.advance_past(line);
            continuation = lines.continuation(parent_indent);
        }
        sink.end_text()?;
    }
    // After a comment, an indented line no longer continues the scalar.
    let is_followed = lines
        .peek_content()
        .is_some_and(|line| indent_of(line) > parent_indent);
    (!is_followed).then_some(())
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

/// Parses a block scalar; the lines of a folded one all have the same indentation.
///
/// `chomping` is the text after `|` or `>`: nothing, `-` or `+`.
fn parse_block_scalar<'a>(
    lines: &mut Lines<'a>,
    style: BlockStyle,
    chomping: &str,
    parent_indent: usize,
    sink: &mut impl EventSink<'a>,
) -> Option<()> {
    let mut indent = None;
    let mut blank_lines = 0;
    while let Some(line) = lines.peek() {
        let line_indent = indent_of(line);
        if line_indent == line.len() {
            // Spaces in a blank line belong to the text if they exceed the indentation.
            if !line.is_empty() && indent.is_none_or(|indent| line.len() > indent) {
                return None;
            }
            lines.advance_past(line);
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
            (None, _) => sink.line_breaks(blank_lines),
            (_, BlockStyle::Literal) => sink.line_breaks(blank_lines + 1),
            (_, BlockStyle::Folded) => fold_line(blank_lines, sink)?,
        }
        let indent = *indent.get_or_insert(line_indent);
        blank_lines = 0;
        sink.text_piece(&line[indent..])?;
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
    sink.end_text()
}
