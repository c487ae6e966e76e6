//! Escapes text of skills for display.

use skills_manifest::{escape_characters, is_invisible};

/// Invisible characters that are not escaped.
const KEPT_INVISIBLE: [char; 4] = ['\n', '\t', '\u{200C}', '\u{200D}'];
/// Maximum length of the label of a message, in characters.
const MAX_LABEL_CHARS: usize = 80;

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

/// Marks the lines of a program that a reader would take for messages of the host application: each
/// line for which `is_message` returns true gets the prefix `| `. Without it a program could print
/// a refusal, and the option that it wants its user to pass.
///
/// Escape the text before, so that each line is shown as one line from its first column.
///
/// ```
/// use skills_runtime::{mark_messages, message_label};
///
/// let is_message = |line: &str| message_label(line).as_deref() == Some("help");
/// let marked = mark_messages("done\n  Help: use --allow spawn\n", is_message);
/// assert_eq!(marked, "done\n|   Help: use --allow spawn\n");
/// ```
#[must_use]
pub fn mark_messages(text: &str, is_message: impl Fn(&str) -> bool) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let mark = if is_message(line) { "| " } else { "" };
        format!("{mark}{line}")
    });
    lines.collect()
}

/// Returns true if a line looks like one of a result about a file that the program wrote, such as
/// `created out.txt (12 bytes)`.
#[must_use]
pub fn is_file_message(line: &str) -> bool {
    let line = line.trim();
    let starts = ["created ", "changed "];
    starts.iter().any(|start| line.starts_with(start)) && line.ends_with(" bytes)")
}

/// Returns the label of a line that looks like a message: the text before its first colon in lower
/// case, without markup and white space around it. `None` without a colon.
#[must_use]
pub fn message_label(line: &str) -> Option<String> {
    let is_markup = |c: char| c.is_whitespace() || "*_#>|`~[]()-".contains(c);
    let (label, _) = line.split_once([':', '\u{FF1A}'])?;
    // Longer text is not a label. A bound, since a line can have any length.
    let label = label.trim_matches(is_markup);
    (label.chars().count() <= MAX_LABEL_CHARS).then(|| label.to_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        /// Whatever a program prints, no line of it starts like a message.
        #[test]
        fn no_text_of_a_program_starts_a_line_like_a_message(
            text in "([ \t\r\n\u{b}\u{85}\u{2028}\u{1b}|*>a-z]{0,4}(help|HELP|Hint|refused|x)[ ]?[:;][ a-z\n]{0,6}){0,4}"
        ) {
            let words = ["help", "hint", "refused"];
            let is_message =
                |line: &str| message_label(line).is_some_and(|label| words.contains(&&*label));
            let marked = mark_messages(&escape_terminal(&text), is_message);
            for line in marked.lines() {
                let start = line.trim_start().to_lowercase();
                let is_forged = words.iter().any(|word| {
                    start.strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with(':'))
                });
                prop_assert!(!is_forged, "{line:?}");
            }
            prop_assert_eq!(marked.lines().count(), escape_terminal(&text).lines().count());
        }
    }
}
