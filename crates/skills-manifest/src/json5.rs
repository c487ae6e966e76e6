//! Reads JSON5 text, as hubs write it into `metadata`.

use serde_json::Value;

/// How deep it may nest.
const MAX_DEPTH: usize = 64;

/// Reads a value; nothing when the text is no JSON5 or nests too deep.
pub(crate) fn read(text: &str) -> Option<Value> {
    let deepest = text.bytes().scan(0usize, |depth, byte| {
        match byte {
            b'[' | b'{' => *depth += 1,
            b']' | b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if deepest.max().unwrap_or_default() > MAX_DEPTH {
        return None;
    }
    ::json5::from_str(text).ok()
}
