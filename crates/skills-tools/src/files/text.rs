//! Text decoding.

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

/// Decoded text, and the bytes of the slice that it came from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedText {
    pub(crate) content: String,
    /// Number of leading bytes that belong to a character that starts before the slice.
    pub(crate) start: usize,
    /// End of the text in bytes; a truncated character starts there.
    pub(crate) end: usize,
}

/// Position of a slice in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlicePosition {
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

impl TextEncoding {
    /// Detects the encoding by the byte order mark, and returns the length of the mark.
    pub(crate) fn detect(head: &[u8]) -> (Self, usize) {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => (Self::Utf8, 3),
            [0xFF, 0xFE, ..] => (Self::Utf16Little, 2),
            [0xFE, 0xFF, ..] => (Self::Utf16Big, 2),
            _ => (Self::Utf8, 0),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Little => "utf-16le",
            Self::Utf16Big => "utf-16be",
        }
    }

    /// Decodes a slice of a file. Characters that are cut at the edges are omitted. Returns `None`
    /// if the bytes are not text.
    pub(crate) fn decode(self, bytes: &[u8], position: SlicePosition) -> Option<DecodedText> {
        match self {
            Self::Utf8 => decode_utf8(bytes, position),
            Self::Utf16Little => decode_utf16(bytes, position, u16::from_le_bytes),
            Self::Utf16Big => decode_utf16(bytes, position, u16::from_be_bytes),
        }
    }
}

fn decode_utf8(bytes: &[u8], position: SlicePosition) -> Option<DecodedText> {
    let is_inner = |byte: &&u8| **byte & 0xC0 == 0x80;
    // A slice can start inside a character, which has at most three continuation bytes.
    let start = if position.is_first {
        0
    } else {
        bytes.iter().take(3).take_while(is_inner).count()
    };
    let rest = &bytes[start..];
    let end = match std::str::from_utf8(rest) {
        Ok(_) => rest.len(),
        // No error length means that the input ends inside a character: the next slice has the
        // rest.
        Err(error) if error.error_len().is_none() && !position.is_last => error.valid_up_to(),
        Err(_) => return None,
    };
    let content = std::str::from_utf8(&rest[..end]).ok()?.to_owned();
    // Text contains no NUL, and data with only zeros is not text.
    (!content.contains('\0')).then_some(DecodedText {
        content,
        start,
        end: start + end,
    })
}

fn decode_utf16(
    bytes: &[u8],
    position: SlicePosition,
    unit: fn([u8; 2]) -> u16,
) -> Option<DecodedText> {
    let mut units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]))
        .collect();
    // An odd number of bytes is fine in the middle, where the next slice has the second byte.
    if position.is_last && bytes.len() % 2 == 1 {
        return None;
    }
    let is_low = |unit: &u16| (0xDC00..0xE000).contains(unit);
    let is_high = |unit: &u16| (0xD800..0xDC00).contains(unit);
    // Half of a surrogate pair belongs to the neighboring slice.
    let skipped = usize::from(!position.is_first && units.first().is_some_and(is_low));
    let end = units.len() - usize::from(!position.is_last && units.last().is_some_and(is_high));
    units.truncate(end);
    let content = String::from_utf16(units.get(skipped..)?).ok()?;
    Some(DecodedText {
        content,
        start: 2 * skipped,
        end: 2 * end,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn binary_content_is_detected() {
        let whole = SlicePosition {
            is_first: true,
            is_last: true,
        };
        for bytes in [&b"a\0b"[..], b"\xff", b"\xc3", b"\x80a"] {
            assert_eq!(TextEncoding::Utf8.decode(bytes, whole), None, "{bytes:?}");
        }
        assert_eq!(TextEncoding::Utf16Little.decode(b"a\0b", whole), None);
        assert_eq!(TextEncoding::Utf16Little.decode(b"\x00\xd8", whole), None);
    }

    proptest! {
        #[test]
        fn concatenated_slices_equal_the_text(text in "[a-zé漢🦀]{0,40}", step in 4_usize..9) {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for (coding, bytes) in [(TextEncoding::Utf8, text.clone().into_bytes()), (TextEncoding::Utf16Little, little), (TextEncoding::Utf16Big, big)] {
                let (mut together, mut at) = (String::new(), 0);
                while at < bytes.len() {
                    let end = (at + step).min(bytes.len());
                    let position = SlicePosition { is_first: at == 0, is_last: end == bytes.len() };
                    let part = coding.decode(&bytes[at..end], position).unwrap();
                    prop_assert_eq!(part.start, 0);
                    prop_assert!(part.end > 0);
                    together.push_str(&part.content);
                    at += part.end;
                }
                prop_assert_eq!(&together, &text);
            }
        }
    }
}
