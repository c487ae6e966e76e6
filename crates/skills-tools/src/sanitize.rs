//! Removes what hides text in a terminal.

use skills_runtime::manifest::is_invisible_after;

/// Maximum length of a description in a result, in characters.
const MAX_SHORT_CHARS: usize = 300;
/// Maximum length of a description by the Agent Skills specification, in characters.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Returns a description on one line, without invisible characters, truncated to 300 characters.
pub(crate) fn short_description(description: &str) -> String {
    description_line(description, MAX_SHORT_CHARS)
}

/// Returns a description on one line, without invisible characters. It is whole unless it is longer
/// than the specification allows.
pub(crate) fn whole_description(description: &str) -> String {
    description_line(description, MAX_DESCRIPTION_CHARS)
}

fn description_line(description: &str, max_chars: usize) -> String {
    // Descriptions are untrusted: escape sequences could hide text from a user who watches the
    // terminal.
    let line = strip_terminal_escapes(description)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(max_chars) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Removes terminal escape sequences, control characters and invisible characters.
pub(crate) fn strip_terminal_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut characters),
            '\u{9b}' => skip_until(&mut characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
            '\n' | '\t' => out.push(c),
            // CRLF is one line end. A lone carriage return could overwrite the line before it, so
            // it becomes a line end.
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            // Joiners that scripts and emoji need are kept.
            c if is_invisible_after(out.chars().next_back().unwrap_or('\n'), c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Skips the rest of an escape sequence: `[ … letter`, `] … BEL` or `ESC \`, or one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => skip_until(characters, |c| ('\u{40}'..='\u{7e}').contains(&c)),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = characters.next() {
                if c == '\u{7}'
                    || c == '\u{9c}'
                    || (c == '\u{1b}' && characters.next_if_eq(&'\\').is_some())
                {
                    return;
                }
                // An unterminated sequence ends with its line.
                if c == '\n' {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn skip_until(
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    is_end: impl Fn(char) -> bool,
) {
    for c in characters.by_ref() {
        if is_end(c) || c == '\n' {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed() {
        assert_eq!(
            strip_terminal_escapes(
                "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\u{0}\u{8}c\r\nd\re\u{202e}f"
            ),
            "red abc\nd\nef"
        );
        assert_eq!(strip_terminal_escapes("\u{9b}2Jx\u{1b}Ÿy\u{1b}[31"), "xy");
        assert_eq!(
            strip_terminal_escapes("tab\tline\n日本 👩\u{200d}🚀"),
            "tab\tline\n日本 👩\u{200d}🚀"
        );
    }
}
