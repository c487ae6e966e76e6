//! Ends and escapes of string literals.

/// Maximum length of a character name in bytes, so that many unterminated ones stay cheap.
const MAX_CHARACTER_NAME_BYTES: usize = 128;
/// The characters that a letter after a backslash stands for.
const ESCAPED_CHARACTERS: [(u8, char); 10] = [
    (b'n', '\n'),
    (b't', '\t'),
    (b'r', '\r'),
    (b'a', '\u{7}'),
    (b'b', '\u{8}'),
    (b'f', '\u{C}'),
    (b'v', '\u{B}'),
    (b'\\', '\\'),
    (b'\'', '\''),
    (b'"', '"'),
];

/// A decoded character, if there is one, and the length of its source in bytes.
type Decoded = (Option<char>, usize);

/// Finds the closing quotes. A quote after a backslash does not close, in raw strings either.
pub(super) fn find_string_end(text: &str, closing: &str) -> Option<usize> {
    // Only a string with three quotes may contain line ends.
    let is_multiline = closing.len() == 3;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '\n' if !is_multiline => return None,
            _ if text[at..].starts_with(closing) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Decodes the escapes of a string. Unknown character names become the replacement character.
pub(super) fn decode_escapes(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find(['\\', '\r']) {
        text.push_str(&rest[..at]);
        let (decoded, bytes) = decode_escape(&rest[at..]);
        text.extend(decoded);
        rest = &rest[at + bytes..];
    }
    text.push_str(rest);
    text
}

/// Decodes the escape or line end at the start of `text`.
fn decode_escape(text: &str) -> Decoded {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => (None, 1),
        [b'\r', ..] => (Some('\n'), 1),
        [_, b'\r', b'\n', ..] => (None, 3),
        [_, b'\n' | b'\r', ..] => (None, 2),
        [_, b'0'..=b'7', ..] => decode_digits(text, 1, 3, 8),
        [_, b'x', ..] => decode_digits(text, 2, 2, 16),
        [_, b'u', ..] => decode_digits(text, 2, 4, 16),
        [_, b'U', ..] => decode_digits(text, 2, 8, 16),
        [_, b'N', b'{', ..] => decode_character_name(text),
        [_, letter, ..] => decode_letter(*letter),
        _ => LITERAL_BACKSLASH,
    }
}

/// An unknown escape is literal.
const LITERAL_BACKSLASH: Decoded = (Some('\\'), 1);

fn decode_letter(letter: u8) -> Decoded {
    ESCAPED_CHARACTERS
        .iter()
        .find(|(escape, _)| *escape == letter)
        .map_or(LITERAL_BACKSLASH, |(_, c)| (Some(*c), 2))
}

fn decode_character_name(text: &str) -> Decoded {
    let mut name = text.bytes().take(MAX_CHARACTER_NAME_BYTES);
    name.position(|byte| byte == b'}')
        .map_or(LITERAL_BACKSLASH, |end| {
            (Some(char::REPLACEMENT_CHARACTER), end + 1)
        })
}

/// Decodes up to `max_digits` digits of `text`, starting at byte `start`.
fn decode_digits(text: &str, start: usize, max_digits: usize, radix: u32) -> Decoded {
    let digits = text[start..].chars().map_while(|c| c.to_digit(radix));
    let (count, code) = digits
        .take(max_digits)
        .fold((0, 0_u32), |(count, code), digit| {
            (count + 1, code.saturating_mul(radix).saturating_add(digit))
        });
    let decoded = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    (Some(decoded), start + count)
}
