//! The events of a document, and what the parsers of its parts share.

/// Maximum length of a key, in bytes; the limit of YAML is 1,024 characters.
pub(super) const MAX_KEY_BYTES: usize = 1_000;
/// Maximum nesting of mappings and lists.
pub(super) const MAX_DEPTH: usize = 16;

/// A scalar on one line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scalar<'a> {
    Text(&'a str),
    Bool(bool),
    Number(u64),
    /// A number with a decimal point, as written.
    Decimal(&'a str),
    Null,
}

/// Receives the events of a document in order; a method returns `None` to abort the parser.
pub(super) trait EventSink<'a> {
    /// A key of the current mapping; the events of its value follow.
    fn key(&mut self, key: &'a str) -> Option<()>;
    /// A value.
    fn scalar(&mut self, scalar: Scalar<'a>) -> Option<()>;
    /// A piece of the text that is the current value.
    fn text_piece(&mut self, piece: &'a str) -> Option<()>;
    /// Line ends in the text.
    fn line_breaks(&mut self, count: usize);
    fn end_text(&mut self) -> Option<()>;
    /// The value is a mapping or a list, whose entries or items follow.
    fn begin_nested(&mut self, kind: NestedKind) -> Option<()>;
    /// The nested mapping or list ends.
    fn end_nested(&mut self) -> Option<()>;
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum NestedKind {
    Mapping,
    List,
}

/// Returns true if a key is a word that is certainly text.
pub(super) fn is_plain_key(key: &str) -> bool {
    // Other first characters start numbers or indicators; `true` and `null` are not text as keys.
    key.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        && key.len() <= MAX_KEY_BYTES
        && key.starts_with(|c: char| c.is_ascii_alphabetic())
        && !is_typed_word(key)
}

/// Returns true if an unquoted word is a boolean or null in YAML 1.2.
fn is_typed_word(word: &str) -> bool {
    matches!(
        word,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "null" | "Null" | "NULL"
    )
}

/// Emits the line end between two lines of a folded text: a space, or the blank lines between them.
pub(super) fn fold_line<'a>(blank_lines: usize, sink: &mut impl EventSink<'a>) -> Option<()> {
    if blank_lines == 0 {
        sink.text_piece(" ")
    } else {
        sink.line_breaks(blank_lines);
        Some(())
    }
}
