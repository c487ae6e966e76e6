//! Text of skills where a person reads it.

use skills_manifest::is_invisible;

/// Makes what a reader cannot see visible, so that no text moves the cursor, talks to the terminal
/// or turns the line around. Line ends and tabs stay, and so do the joiners that scripts and emoji
/// need.
#[must_use]
pub fn escape_terminal(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        let stays = !is_invisible(c) || matches!(c, '\n' | '\t' | '\u{200C}' | '\u{200D}');
        if stays {
            clean.push(c)
        } else {
            clean.extend(c.escape_unicode())
        }
    }
    clean
}

/// Puts a value on one line, [printable](escape_terminal()): a line end in it is shown, not made.
#[must_use]
pub fn escape_line(text: &str) -> String {
    escape_terminal(&text.replace('\n', "\\n").replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_becomes_visible() {
        assert_eq!(
            escape_terminal("a\tb\n\u{1b}[31mred\u{7}"),
            "a\tb\n\\u{1b}[31mred\\u{7}"
        );
        assert_eq!(escape_terminal("a\r\nb\rc"), "a\nb\\u{d}c");
        assert_eq!(escape_terminal("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape_line("MIT\nscope  system"), "MIT\\nscope  system");
    }
}
