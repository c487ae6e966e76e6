//! Writes to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use skills_runtime::is_invisible;

pub(crate) use skills_runtime::{escape_line as line, escape_terminal};

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
    pub(crate) fn print_json(&self, document: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(document)?;
        write_stdout(format!("{}\n", escape_controls(&text)).as_bytes())
    }

    /// Prints text of skills: lines stay, what moves the cursor or hides text becomes visible.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        write_stdout(escape_terminal(text).as_bytes())
    }

    /// Prints bytes of a program: as they are into a pipe or file, printable on a terminal.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        if io::stdout().is_terminal() {
            self.text(&String::from_utf8_lossy(bytes))
        } else {
            write_stdout(bytes)
        }
    }

    /// Prints one line to standard error.
    pub(crate) fn status(&self, text: &str) {
        self.status_lines(&line(text));
    }

    /// Prints lines to standard error.
    pub(crate) fn status_lines(&self, text: &str) {
        // When standard error is closed nobody is left to tell.
        let _ = writeln!(io::stderr(), "{}", escape_terminal(text));
    }
}

fn write_stdout(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    ignore_broken_pipe(stdout.write_all(bytes))?;
    ignore_broken_pipe(stdout.flush())
}

/// A reader that closed its end, as `head` does, has seen enough.
fn ignore_broken_pipe(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes the characters that JSON allows but a terminal would act on, as JSON escapes.
fn escape_controls(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) && c != '\n' {
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
            escape_terminal("a\tb\n\u{1b}[31mred\u{7}"),
            "a\tb\n\\u{1b}[31mred\\u{7}"
        );
        assert_eq!(escape_terminal("a\r\nb\rc"), "a\nb\\u{d}c");
        assert_eq!(escape_terminal("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(line("MIT\nscope  system"), "MIT\\nscope  system");
        assert_eq!(
            escape_controls("\"a\u{202e}b\u{e0041}\""),
            "\"a\\u202eb\\udb40\\udc41\""
        );
    }
}
