//! Writes to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// Where results go: text or one JSON document.
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Says whether a JSON document is wanted.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the document.
    pub(crate) fn document(&self, document: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(document)?;
        text.push('\n');
        self.raw(text.as_bytes())
    }

    /// Prints text of skills. A terminal gets no control characters but line ends and tabs.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        quiet(if stdout.is_terminal() { stdout.write_all(printable(text).as_bytes()) } else { stdout.write_all(text.as_bytes()) })?;
        quiet(stdout.flush())
    }

    /// Prints bytes of a program.
    pub(crate) fn raw(&self, bytes: &[u8]) -> anyhow::Result<()> {
        if io::stdout().is_terminal() {
            return self.text(&String::from_utf8_lossy(bytes));
        }
        let mut stdout = io::stdout().lock();
        quiet(stdout.write_all(bytes))?;
        quiet(stdout.flush())
    }

    /// Prints a line to standard error, always without control characters.
    pub(crate) fn note(&self, text: &str) {
        // When standard error is closed nobody is left to tell.
        let _ = writeln!(io::stderr(), "{}", printable(text));
    }
}

/// A reader that closed its end, as `head` does, has seen enough.
fn quiet(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Makes control characters visible, so that no text moves the cursor, changes colours or talks to the terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') { clean.extend(c.escape_unicode()) } else { clean.push(c) }
    }
    clean
}

#[cfg(test)]
mod tests {
    #[test]
    fn control_characters_become_visible() {
        assert_eq!(super::printable("a\tb\n\u{1b}[31mred\u{7}"), "a\tb\n\\u{1b}[31mred\\u{7}");
    }
}
