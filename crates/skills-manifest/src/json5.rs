//! Parses JSON5 text, which hubs write into `metadata`.

use serde_json::Value;

/// Maximum nesting of brackets.
const MAX_DEPTH: usize = 64;

/// Parses a value; `None` if the text is not JSON5 or exceeds [`MAX_DEPTH`].
///
/// The library parses recursively without a limit, so that deep nesting would overflow the stack.
pub(crate) fn parse(text: &str) -> Option<Value> {
    (nesting_depth(text) <= MAX_DEPTH)
        .then(|| ::json5::from_str(text).ok())
        .flatten()
}

/// Returns the maximum nesting of brackets outside of strings and comments.
///
/// For text that is not valid JSON5, the result may be too high, but never too low.
fn nesting_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            // A closing bracket in a string or comment would otherwise hide an open one.
            quote @ (b'"' | b'\'') => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        byte if byte == quote => break,
                        _ => {}
                    }
                }
            }
            b'/' if bytes.peek() == Some(&b'/') => {
                bytes.by_ref().find(|byte| matches!(byte, b'\n' | b'\r'));
            }
            b'/' if bytes.peek() == Some(&b'*') => {
                bytes.next();
                while let Some(byte) = bytes.next() {
                    if byte == b'*' && bytes.peek() == Some(&b'/') {
                        bytes.next();
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_are_not_counted() {
        for text in [
            "[\"]\",".repeat(10_000),
            "[']',".repeat(10_000),
            "[/*]*/".repeat(10_000),
            "[//]\n".repeat(10_000),
            "[".repeat(10_000),
        ] {
            assert_eq!(nesting_depth(&text), 10_000);
            assert_eq!(parse(&text), None);
        }
        assert_eq!(nesting_depth("{a: '[[[', b: [1, {c: 2}]} // ]"), 3);
        for (text, depth) in [
            (r#"{a: "\"[["}"#, 1),
            (r"{a: '\'[['}", 1),
            ("/* * [[ / [ */ [", 1),
            ("/ [[", 2),
            ("/*/ [ */", 0),
            ("// [\r[", 1),
        ] {
            assert_eq!(nesting_depth(text), depth, "{text}");
        }
        assert!(parse("{a: 'x', /* why */ b: [1, 2,],}").is_some());
    }
}
