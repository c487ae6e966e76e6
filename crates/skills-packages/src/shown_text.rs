//! Text of a skill in messages.

/// Maximum number of characters of an invalid text in a message.
const MAX_SHOWN_CHARS: usize = 80;

/// Returns the start of a text for a message, with escapes.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .take(MAX_SHOWN_CHARS)
        .flat_map(char::escape_debug)
        .collect()
}
