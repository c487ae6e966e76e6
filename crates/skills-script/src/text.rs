//! Sanitization of text from skills.

use skills_manifest::is_invisible_after;

/// Maximum length of the description of an argument, in characters.
pub(crate) const MAX_ARGUMENT_CHARS: usize = 300;

/// Returns `text` as one line: white space becomes single spaces, invisible characters are removed,
/// and text over `max_chars` is truncated with `…`.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let (mut chars, mut before, mut space) = (0, ' ', false);
    for c in text.chars() {
        if c.is_whitespace() {
            space = chars > 0;
            continue;
        }
        if is_invisible_after(before, c) {
            continue;
        }
        if std::mem::take(&mut space) {
            line.push(' ');
            chars += 1;
        }
        line.push(c);
        before = c;
        chars += 1;
        // Stops here instead of at the end, since the text can be very long.
        if chars > max_chars {
            return truncate(&line, max_chars);
        }
    }
    line
}

/// Returns the start of a text, at most `max_bytes` long.
pub(crate) fn start(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// Sanitizes the description of an argument. Returns `None` if nothing is left.
pub(crate) fn argument_description(text: &str) -> Option<String> {
    Some(one_line(text, MAX_ARGUMENT_CHARS)).filter(|line| !line.is_empty())
}

/// Returns true if a value can be shown unchanged: no invisible characters, and at most `max_chars`
/// characters.
pub(crate) fn is_displayable(text: &str, max_chars: usize) -> bool {
    // Counted up to the limit only, since the text can be very long.
    text.chars().take(max_chars + 1).count() <= max_chars && one_line(text, max_chars) == text
}

fn truncate(line: &str, max_chars: usize) -> String {
    let start: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_and_line_ends_are_removed() {
        assert_eq!(
            one_line("  a\n\tb\u{200B}\u{E0041}\u{202E}c\u{7}\r\n ", 10),
            "a bc"
        );
        assert_eq!(one_line("天气\u{FEFF} 好", 10), "天气 好");
        assert_eq!(one_line("\n\u{0}", 10), "");
    }

    #[test]
    fn long_text_is_truncated_at_the_limit() {
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line(&"é".repeat(2000), 1024).chars().count(), 1024);
    }

    #[test]
    fn invisible_and_long_values_are_not_displayable() {
        assert!(is_displayable("Taipei City", 20));
        assert!(!is_displayable("Taipei\nCity", 20));
        assert!(!is_displayable("Tai\u{200B}pei", 20));
        assert!(!is_displayable("Taipei", 5));
    }
}
