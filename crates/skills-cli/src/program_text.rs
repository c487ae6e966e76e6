//! Marks lines of a program that a reader could take for messages of this command.

use std::iter::Peekable;
use std::str::Chars;

use skills_runtime::{
    escape_terminal, is_file_message, is_invisible, mark_messages, message_label,
};

/// Escapes text of a program, and marks the lines that could be lines of this command after a run.
pub(crate) fn mark_text(text: &str) -> String {
    mark_messages(&escape_terminal(text), is_message)
}

/// Marks such lines in the bytes of a program for a pipe or file. These lines are escaped too; all
/// others are unchanged.
pub(crate) fn mark_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if visible_lines(&text).lines().any(is_message) {
            marked.extend(b"| ");
            marked.extend(escape_terminal(&text).as_bytes());
        } else {
            marked.extend(line);
        }
    }
    marked
}

/// Returns true if a line looks like one of this command after a run.
fn is_message(line: &str) -> bool {
    const LABELS: [&str; 6] = ["error", "warning", "note", "help", "hint", "omitted"];
    let is_labeled = message_label(line)
        .is_some_and(|label| LABELS.contains(&label.as_str()) || label.starts_with("refused"));
    is_labeled || is_file_message(line) || line.contains(" truncated: ")
}

/// Returns the lines that a line can become on a terminal: what moves the cursor ends one, and
/// colors and invisible characters are removed.
fn visible_lines(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' => shown.extend(skip_sequence(&mut characters)),
            '\u{9b}' => shown.extend(skip_control_sequence(&mut characters)),
            '\t' => shown.push(c),
            '\r' | '\u{8}' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                shown.push('\n');
            }
            c if is_invisible(c) && c != '\n' => {}
            c => shown.push(c),
        }
    }
    shown
}

/// Skips an escape sequence. Returns a line end if it can move the cursor.
fn skip_sequence(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    match characters.next() {
        Some('[') => skip_control_sequence(characters),
        // A title or link, up to its end.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = characters.next() {
                let is_end = matches!(c, '\u{7}' | '\u{9c}')
                    || c == '\u{1b}' && characters.next_if_eq(&'\\').is_some();
                if is_end {
                    break;
                }
            }
            None
        }
        _ => Some('\n'),
    }
}

/// Skips parameters up to a final letter, which is `m` for colors.
fn skip_control_sequence(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    let end = characters.find(|c| ('\u{40}'..='\u{7e}').contains(c));
    (end != Some('m')).then_some('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_messages_are_marked() {
        let text = "help: me\n  Note : x\n**error:** y\ncreated a (3 bytes)\n\u{1b}[1mhelp: z\nhelper: a\ncreated 3 files\n";
        assert_eq!(
            mark_text(text),
            "| help: me\n|   Note : x\n| **error:** y\n| created a (3 bytes)\n\\u{1b}[1mhelp: z\nhelper: a\ncreated 3 files\n"
        );
    }

    #[test]
    fn bytes_are_unchanged_except_for_such_lines() {
        let unchanged: &[&[u8]] = &[
            b"",
            b"\x89PNG\r\n\x1a\n\0\xff\xfe:\n",
            b"\x1b[32mok\x1b[0m: done\r\n",
            b"helper: a\nno line end",
            "\u{feff}a\u{202e}b\n".as_bytes(),
        ];
        for bytes in unchanged {
            assert_eq!(mark_bytes(bytes), *bytes, "{bytes:?}");
        }
        for (bytes, marked) in [
            (
                &b"a\xff\nhelp: me\nb\xff\n"[..],
                &b"a\xff\n| help: me\nb\xff\n"[..],
            ),
            (b"\x1b[1mhelp: me\n", b"| \\u{1b}[1mhelp: me\n"),
            (b"he\x1b[0mlp: me\n", b"| he\\u{1b}[0mlp: me\n"),
            (b"ok\rhelp: me", b"| ok\\u{d}help: me"),
            (
                b"ok\x1b[2K\x1b[Ghelp: me",
                b"| ok\\u{1b}[2K\\u{1b}[Ghelp: me",
            ),
            (b"\x1b]8;;x\x07help: me", b"| \\u{1b}]8;;x\\u{7}help: me"),
            (b"ok\x08\x08help: me", b"| ok\\u{8}\\u{8}help: me"),
            ("ok\u{2028}help: me".as_bytes(), b"| ok\\u{2028}help: me"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&mark_bytes(bytes)),
                String::from_utf8_lossy(marked)
            );
        }
    }
}
