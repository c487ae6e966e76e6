//! Output of the commands that print byte for byte like the reference tool.

use std::io::{self, IsTerminal, Write};

use crate::output::{Output, escape_terminal};

/// Prints text like the reference tool, without terminal escape sequences. On a terminal, invisible
/// characters are also escaped.
pub(crate) fn print_plain(text: &str, output: Output) -> anyhow::Result<()> {
    output.bytes(strip_terminal_sequences(text).as_bytes())
}

/// Prints text like [`print_plain`], to standard error.
pub(crate) fn print_error(text: &str) {
    let text = strip_terminal_sequences(text);
    let text = if io::stderr().is_terminal() {
        escape_terminal(&text)
    } else {
        text
    };
    // A closed standard error is ignored.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Removes terminal escape sequences: escape, bracket, numbers, one letter.
fn strip_terminal_sequences(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| matches!(c, ';' | '?' | '0'..='9'));
        match rest.strip_prefix(|c: char| c.is_ascii_alphabetic()) {
            Some(rest) => out.push_str(rest),
            None => out.extend(["\u{1b}[", part]),
        }
    }
    out
}
