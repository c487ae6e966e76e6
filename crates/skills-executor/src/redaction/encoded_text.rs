//! Matches a text against bytes in which each of its characters may be encoded in another way.
//!
//! Encoders differ in which characters they escape and how, and a program can mix them, so no list
//! of spellings of a whole value is complete. Here each character of the value is matched by
//! itself, literally or in any of the encodings below, also if these are applied several times
//! (JSON in JSON). All ways to read the bytes are followed at once.

/// Maximum number of backslashes before an escape: those of four nested encodings.
const MAX_BACKSLASHES: usize = 16;
/// Maximum number of times that `%` or `&` is itself encoded.
const MAX_NESTED: usize = 4;
/// Maximum number of digits of a number in braces or of an entity, with leading zeros.
const MAX_DIGITS: usize = 8;

/// The result of matching a text at one position.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextMatch {
    /// The end of the longest match of the whole text.
    pub(super) end: Option<usize>,
    /// Whether the bytes end within the text, so that more bytes could complete or extend a match.
    pub(super) is_cut: bool,
}

/// Matches all characters of a text from a position.
pub(super) fn match_text(text: &[char], bytes: &[u8], start: usize) -> TextMatch {
    let mut positions = Positions::at(start);
    for c in text {
        positions = positions.after_character(bytes, *c);
        if positions.list.is_empty() {
            break;
        }
    }
    TextMatch {
        end: positions.list.last().copied(),
        is_cut: positions.is_cut,
    }
}

/// Returns true if an encoding of a character can start with this byte.
pub(super) fn can_start(c: char, byte: u8) -> bool {
    let literal = c.encode_utf8(&mut [0; 4]).as_bytes()[0];
    let is_special = special_encodings(c)
        .iter()
        .any(|text| text.as_bytes()[0] == byte);
    byte == literal || is_special || SIGILS.contains(&byte)
}

/// The bytes at which encoded numbers start.
const SIGILS: [u8; 4] = [b'\\', b'%', b'=', b'&'];

/// Reads encoded numbers after their first byte, with each number of digits that it can have.
type Reader = fn(&[u8], usize, &mut Numbers);

/// Encodings of the bytes of UTF-8, one after another: `%C3%A4`, `=C3=A4`, `\xc3\xa4`, `\c3\a4` and
/// `\303\244`.
const OF_BYTES: [(u8, Reader); 5] = [
    (b'%', hex_2),
    (b'=', hex_2),
    (b'\\', x_hex_2),
    (b'\\', hex_2),
    (b'\\', octal),
];
/// Encodings of the units of UTF-16, one after another: `\ud83d\ude00` and `%ud83d%ude00`.
const OF_UNITS: [(u8, Reader); 2] = [(b'\\', unicode_4), (b'%', unicode_4)];
/// Encodings of a code point: `%E4`, `\u{e4}`, `\x{e4}`, `\U000000e4`, `\xe4`, `\e4 `, `\344`, `\n`,
/// `&#228;`, `&#xe4;` and `&amp;`.
const OF_CODE_POINTS: [(u8, Reader); 10] = [
    (b'%', hex_2),
    (b'\\', braced),
    (b'\\', unicode_8),
    (b'\\', x_hex_2),
    (b'\\', css),
    (b'\\', octal),
    (b'\\', letter),
    (b'&', entity_decimal),
    (b'&', entity_hex),
    (b'&', entity_name),
];

/// The numbers that can be read at a position, each with its end.
#[derive(Default)]
struct Numbers {
    found: Vec<(u32, usize)>,
    is_cut: bool,
}

/// The positions at which the next character of the text can start.
#[derive(Default)]
struct Positions {
    /// In order, without duplicates.
    list: Vec<usize>,
    is_cut: bool,
}

impl Positions {
    fn at(position: usize) -> Self {
        Self {
            list: vec![position],
            is_cut: false,
        }
    }

    /// Returns the positions after a character.
    fn after_character(self, bytes: &[u8], c: char) -> Self {
        let mut next = Self {
            list: Vec::new(),
            is_cut: self.is_cut,
        };
        for at in self.list {
            next.add_encodings(bytes, at, c);
        }
        next.list.sort_unstable();
        next.list.dedup();
        next
    }

    /// Adds the positions after all encodings of a character.
    fn add_encodings(&mut self, bytes: &[u8], at: usize, c: char) {
        let mut utf8 = [0; 4];
        let utf8 = c.encode_utf8(&mut utf8).as_bytes();
        self.add_literal(bytes, at, utf8);
        for text in special_encodings(c) {
            self.add_literal(bytes, at, text.as_bytes());
        }
        let Some(sigil) = bytes.get(at).copied().filter(|byte| SIGILS.contains(byte)) else {
            return;
        };
        if sigil == b'\\' {
            self.add_escaped_literal(bytes, at, utf8);
        }
        let of_sigil = |readers: &'static [(u8, Reader)]| {
            let readers = readers.iter().filter(move |(first, _)| *first == sigil);
            readers.map(|(_, reader)| *reader)
        };
        for reader in of_sigil(&OF_BYTES) {
            let numbers = utf8.iter().map(|byte| u32::from(*byte));
            self.add_numbers(bytes, at, sigil, reader, numbers);
        }
        let mut utf16 = [0; 2];
        let utf16 = &*c.encode_utf16(&mut utf16);
        for reader in of_sigil(&OF_UNITS) {
            let numbers = utf16.iter().map(|unit| u32::from(*unit));
            self.add_numbers(bytes, at, sigil, reader, numbers);
        }
        for reader in of_sigil(&OF_CODE_POINTS) {
            self.add_numbers(bytes, at, sigil, reader, [u32::from(c)]);
        }
    }

    fn add_literal(&mut self, bytes: &[u8], at: usize, literal: &[u8]) {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(literal) {
            self.list.push(at + literal.len());
        } else if literal.starts_with(rest) {
            self.is_cut = true;
        }
    }

    /// Adds a character after backslashes (`\/`); a backslash itself can be any number of them.
    fn add_escaped_literal(&mut self, bytes: &[u8], at: usize, literal: &[u8]) {
        let after = at + count_backslashes(bytes, at);
        if literal == b"\\" {
            self.list.extend(at + 1..=after);
            self.is_cut |= after == bytes.len();
        } else {
            self.add_literal(bytes, after, literal);
        }
    }

    /// Adds the position after encodings of these numbers, one after another.
    fn add_numbers(
        &mut self,
        bytes: &[u8],
        at: usize,
        sigil: u8,
        reader: Reader,
        numbers: impl IntoIterator<Item = u32>,
    ) {
        let mut positions = vec![at];
        for number in numbers {
            let mut read = Numbers::default();
            for at in positions {
                read_after_sigil(bytes, at, sigil, reader, &mut read);
            }
            self.is_cut |= read.is_cut;
            let expected = read.found.iter().filter(|(found, _)| *found == number);
            positions = expected.map(|(_, end)| *end).collect();
        }
        self.list.extend(positions);
    }
}

/// Returns encodings of single characters: `+` of forms, `""` of CSV, `''` of SQL and YAML, the
/// quotes of shells, and line ends of Windows.
fn special_encodings(c: char) -> &'static [&'static str] {
    match c {
        ' ' => &["+"],
        '"' => &["\"\""],
        '\'' => &["''", "'\\''", "'\"'\"'"],
        '\n' => &["\r\n"],
        _ => &[],
    }
}

/// Returns the number of backslashes at a position, up to the maximum.
fn count_backslashes(bytes: &[u8], at: usize) -> usize {
    let run = bytes[at..].iter().take(MAX_BACKSLASHES);
    run.take_while(|byte| **byte == b'\\').count()
}

/// Reads numbers after a sigil that may itself be encoded: `\\`, `%25` or `&amp;`.
fn read_after_sigil(bytes: &[u8], at: usize, sigil: u8, reader: Reader, into: &mut Numbers) {
    match bytes.get(at) {
        None => {
            into.is_cut = true;
            return;
        }
        Some(byte) if *byte != sigil => return,
        Some(_) => {}
    }
    let nested: &[u8] = match sigil {
        b'\\' => return reader(bytes, at + count_backslashes(bytes, at), into),
        b'%' => b"25",
        b'&' => b"amp;",
        _ => return reader(bytes, at + 1, into),
    };
    let mut after = at + 1;
    for _ in 0..=MAX_NESTED {
        reader(bytes, after, into);
        if !bytes[after..].starts_with(nested) {
            into.is_cut |= nested.starts_with(&bytes[after..]);
            return;
        }
        after += nested.len();
    }
}

/// Reads a number with each of these numbers of digits that is there.
fn digits(
    bytes: &[u8],
    at: usize,
    counts: std::ops::RangeInclusive<usize>,
    radix: u32,
    into: &mut Numbers,
) {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut number = 0_u32;
    for count in 1..=*counts.end() {
        let Some(byte) = rest.get(count - 1) else {
            into.is_cut = true;
            return;
        };
        let Some(digit) = char::from(*byte).to_digit(radix) else {
            return;
        };
        number = number.wrapping_mul(radix).wrapping_add(digit);
        if counts.contains(&count) {
            into.found.push((number, at + count));
        }
    }
}

/// Returns the position after one of these bytes.
fn after_byte(bytes: &[u8], at: usize, expected: &[u8], into: &mut Numbers) -> Option<usize> {
    let byte = bytes.get(at);
    into.is_cut |= byte.is_none();
    byte.filter(|byte| expected.contains(byte))?;
    Some(at + 1)
}

fn hex_2(bytes: &[u8], at: usize, into: &mut Numbers) {
    digits(bytes, at, 2..=2, 16, into);
}

fn x_hex_2(bytes: &[u8], at: usize, into: &mut Numbers) {
    if let Some(at) = after_byte(bytes, at, b"xX", into) {
        digits(bytes, at, 1..=2, 16, into);
    }
}

fn octal(bytes: &[u8], at: usize, into: &mut Numbers) {
    digits(bytes, at, 1..=3, 8, into);
}

/// Four digits after one or, as Java allows, several `u`.
fn unicode_4(bytes: &[u8], at: usize, into: &mut Numbers) {
    let mut at = at;
    for _ in 0..=MAX_NESTED {
        match after_byte(bytes, at, b"u", into) {
            Some(after) => at = after,
            None => return,
        }
        digits(bytes, at, 4..=4, 16, into);
    }
}

fn unicode_8(bytes: &[u8], at: usize, into: &mut Numbers) {
    if let Some(at) = after_byte(bytes, at, b"U", into) {
        digits(bytes, at, 8..=8, 16, into);
    }
}

fn braced(bytes: &[u8], at: usize, into: &mut Numbers) {
    let after_letter = after_byte(bytes, at, b"ux", into);
    let Some(at) = after_letter.and_then(|at| after_byte(bytes, at, b"{", into)) else {
        return;
    };
    let mut inner = Numbers::default();
    digits(bytes, at, 1..=MAX_DIGITS, 16, &mut inner);
    into.is_cut |= inner.is_cut;
    for (number, end) in inner.found {
        let end = after_byte(bytes, end, b"}", into);
        into.found.extend(end.map(|end| (number, end)));
    }
}

/// Up to six digits, optionally with a space after them.
fn css(bytes: &[u8], at: usize, into: &mut Numbers) {
    with_optional_end(bytes, b' ', into, |into| digits(bytes, at, 1..=6, 16, into));
}

/// Control characters and the space have letters: `\n`.
fn letter(bytes: &[u8], at: usize, into: &mut Numbers) {
    let number = match bytes.get(at) {
        None => {
            into.is_cut = true;
            return;
        }
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'v') => 0x0b,
        Some(b'a') => 0x07,
        Some(b's') => b' ',
        Some(b'e' | b'E') => 0x1b,
        Some(_) => return,
    };
    into.found.push((number.into(), at + 1));
}

fn entity_decimal(bytes: &[u8], at: usize, into: &mut Numbers) {
    if let Some(at) = after_byte(bytes, at, b"#", into) {
        with_optional_end(bytes, b';', into, |into| {
            digits(bytes, at, 1..=MAX_DIGITS, 10, into);
        });
    }
}

fn entity_hex(bytes: &[u8], at: usize, into: &mut Numbers) {
    let after_number_sign = after_byte(bytes, at, b"#", into);
    if let Some(at) = after_number_sign.and_then(|at| after_byte(bytes, at, b"xX", into)) {
        with_optional_end(bytes, b';', into, |into| {
            digits(bytes, at, 1..=MAX_DIGITS, 16, into);
        });
    }
}

fn entity_name(bytes: &[u8], at: usize, into: &mut Numbers) {
    const NAMES: [(&[u8], char); 7] = [
        (b"amp;", '&'),
        (b"lt;", '<'),
        (b"gt;", '>'),
        (b"quot;", '"'),
        (b"apos;", '\''),
        (b"sol;", '/'),
        (b"nbsp;", '\u{a0}'),
    ];
    let rest = &bytes[at..];
    for (name, c) in NAMES {
        if rest.starts_with(name) {
            into.found.push((c.into(), at + name.len()));
        } else {
            into.is_cut |= name.starts_with(rest);
        }
    }
}

/// Adds the numbers that `read` finds, each additionally with this byte after it.
fn with_optional_end(bytes: &[u8], end: u8, into: &mut Numbers, read: impl Fn(&mut Numbers)) {
    let mut inner = Numbers::default();
    read(&mut inner);
    for (number, after) in inner.found {
        into.found.push((number, after));
        let is_ended = bytes.get(after) == Some(&end);
        into.found.extend(is_ended.then_some((number, after + 1)));
        into.is_cut |= after == bytes.len();
    }
    into.is_cut |= inner.is_cut;
}
