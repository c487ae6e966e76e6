//! Writes to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use skills_runtime::is_hidden;

pub(crate) use skills_runtime::{one_line as line, printable};

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
        let text = serde_json::to_string_pretty(document)?;
        write(format!("{}\n", ascii_controls(&text)).as_bytes())
    }

    /// Prints text of skills: lines stay, what moves the cursor or hides text becomes visible.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        write(printable(text).as_bytes())
    }

    /// Prints bytes of a program: as they are into a pipe or file, printable on a terminal.
    pub(crate) fn raw(&self, bytes: &[u8]) -> anyhow::Result<()> {
        if io::stdout().is_terminal() {
            self.text(&String::from_utf8_lossy(bytes))
        } else {
            write(bytes)
        }
    }

    /// Prints one line to standard error.
    pub(crate) fn note(&self, text: &str) {
        self.notes(&line(text));
    }

    /// Prints lines to standard error.
    pub(crate) fn notes(&self, text: &str) {
        // When standard error is closed nobody is left to tell.
        let _ = writeln!(io::stderr(), "{}", printable(text));
    }
}

fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    quiet(stdout.write_all(bytes))?;
    quiet(stdout.flush())
}

/// A reader that closed its end, as `head` does, has seen enough.
fn quiet(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes the characters that JSON allows but a terminal would act on, as JSON escapes.
fn ascii_controls(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) && c != '\n' {
            let mut units = [0; 2];
            clean.extend(
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_becomes_visible() {
        assert_eq!(
            printable("a\tb\n\u{1b}[31mred\u{7}"),
            "a\tb\n\\u{1b}[31mred\\u{7}"
        );
        assert_eq!(printable("a\r\nb\rc"), "a\nb\\u{d}c");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(line("MIT\nscope  system"), "MIT\\nscope  system");
        assert_eq!(
            ascii_controls("\"a\u{202e}b\u{e0041}\""),
            "\"a\\u202eb\\udb40\\udc41\""
        );
    }
}
