//! Escapes text of skills for display.

use skills_manifest::{escape_characters, is_invisible};

/// Invisible characters that are not escaped.
const KEPT_INVISIBLE: [char; 4] = ['\n', '\t', '\u{200C}', '\u{200D}'];

/// Escapes control and invisible characters, so that text cannot move the cursor, send terminal
/// sequences or change the text direction. Line ends, tabs, and joiners that scripts and emoji need
/// are kept. CRLF becomes LF.
///
/// ```
/// use skills_runtime::{escape_line, escape_terminal};
///
/// assert_eq!(escape_terminal("\u{1b}[31mred"), "\\u{1b}[31mred");
/// assert_eq!(escape_line("one\ntwo"), "one\\ntwo");
/// ```
#[must_use]
pub fn escape_terminal(text: &str) -> String {
    // A CR alone is escaped: with it, text overwrites the line before it on a terminal.
    let text = text.replace("\r\n", "\n").replace('\r', "\\u{d}");
    escape_characters(&text, |c| is_invisible(c) && !KEPT_INVISIBLE.contains(&c)).into_owned()
}

/// Escapes text like [`escape_terminal`] and also line ends, so that the result is a single line.
/// Tabs become spaces.
#[must_use]
pub fn escape_line(text: &str) -> String {
    // First, since `escape_terminal` keeps line ends and tabs.
    escape_terminal(&text.replace('\n', "\\n").replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(
            escape_terminal("a\tb\n\u{1b}[31mred\u{7}"),
            "a\tb\n\\u{1b}[31mred\\u{7}"
        );
        assert_eq!(escape_terminal("a\r\nb\rc"), "a\nb\\u{d}c");
        assert_eq!(escape_terminal("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape_line("MIT\nscope  system"), "MIT\\nscope  system");
    }
}
