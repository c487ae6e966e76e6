//! Output of results and status lines, escaped for terminals.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Serialize, Serializer};
use serde_json::Value;
use skills_runtime::is_invisible;

use crate::exit::Exit;
use crate::suggested_command::complete_commands;

pub(crate) use skills_runtime::{escape_line as line, escape_terminal};

/// Whether a result, or a part of one, was printed to standard output, of which the process has
/// one.
static HAS_PRINTED_RESULT: AtomicBool = AtomicBool::new(false);

/// The line on standard error between the output of a program and the messages of this command
/// about its run.
pub(crate) const END_OF_OUTPUT: &str = "--- end of program output ---";

/// Returns true if a result, or a part of one, was printed to standard output. A second document
/// would not make it complete.
pub(crate) fn has_printed_result() -> bool {
    HAS_PRINTED_RESULT.load(Ordering::Relaxed)
}

/// Remembers that a part of a result was printed to standard output.
pub(crate) fn set_printed_result() {
    HAS_PRINTED_RESULT.store(true, Ordering::Relaxed);
}

/// Prints results to standard output in one format, and status lines, which are always text, to
/// standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Results are text for people.
    Text,
    /// The result is one JSON document.
    Json,
}

impl Output {
    /// Returns true if results are printed as JSON.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }

    /// Prints a JSON document to standard output.
    pub(crate) fn print_json(self, document: &impl Serialize) -> anyhow::Result<()> {
        let mut out = EscapedStdout(BufWriter::new(io::stdout().lock()));
        let written = serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from);
        ignore_broken_pipe(
            written
                .and_then(|()| writeln!(out))
                .and_then(|()| out.flush()),
        )
    }

    /// Prints a JSON document like [`print_json`](Self::print_json), as the whole result of a
    /// command.
    pub(crate) fn json(self, document: &impl Serialize) -> anyhow::Result<Exit> {
        self.print_json(document).map(|()| Exit::Success)
    }

    /// Prints text to standard output. Line breaks are kept; control and invisible characters are
    /// escaped.
    pub(crate) fn text(self, text: &str) -> anyhow::Result<()> {
        write_stdout(escape_terminal(text).as_bytes())
    }

    /// Prints lines to standard output, like [`text`](Self::text).
    pub(crate) fn lines(self, lines: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
        let ended = lines.into_iter().map(|line| line + "\n");
        self.text(&ended.collect::<String>())
    }

    /// Prints output of a program: unchanged to a pipe or file, escaped on a terminal.
    pub(crate) fn bytes(self, bytes: &[u8]) -> anyhow::Result<()> {
        // A pipe or file gets the exact bytes of the program. A terminal would interpret them.
        if io::stdout().is_terminal() {
            self.text(&String::from_utf8_lossy(bytes))
        } else {
            write_stdout(bytes)
        }
    }

    /// Prints one escaped line to standard error. Commands in a line of help get the options of
    /// this call; other lines can quote a skill or a program, whose commands stay as they are.
    pub(crate) fn status(self, text: &str) {
        let completed = text.starts_with("help: ").then(|| complete_commands(text));
        // One line: text of a skill cannot add a line that looks like a message of this command.
        self.status_lines(&line(completed.as_deref().unwrap_or(text)));
    }

    /// Prints several escaped lines to standard error.
    pub(crate) fn status_lines(self, text: &str) {
        let text = format!("{}\n", escape_terminal(text));
        // A closed standard error is ignored.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// A list of a JSON document. Its items are made while it is printed, so that they are never all in
/// memory.
pub(crate) struct JsonList<F>(pub(crate) F);

impl<F: Fn() -> I, I: Iterator<Item = Value>> Serialize for JsonList<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Writes JSON to standard output. serde_json escapes C0 controls only; bidirectional and other
/// invisible characters of a skill would still reach the terminal.
struct EscapedStdout(BufWriter<StdoutLock<'static>>);

impl Write for EscapedStdout {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        HAS_PRINTED_RESULT.store(true, Ordering::Relaxed);
        if json.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
            self.0.write_all(json)?;
        } else {
            // serde_json writes whole characters.
            let text = String::from_utf8_lossy(json);
            self.0.write_all(escape_controls(&text).as_bytes())?;
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns true if standard output and standard error have one reader: they are the same file, as
/// with `2>&1`, or terminals.
pub(crate) fn has_one_stream() -> bool {
    is_one_file() || io::stdout().is_terminal() && io::stderr().is_terminal()
}

#[cfg(unix)]
fn is_one_file() -> bool {
    let streams = (
        nix::sys::stat::fstat(io::stdout()),
        nix::sys::stat::fstat(io::stderr()),
    );
    // The types of the fields differ between systems.
    matches!(streams, (Ok(out), Ok(err)) if out.st_dev == err.st_dev && out.st_ino == err.st_ino)
}

#[cfg(not(unix))]
fn is_one_file() -> bool {
    false
}

fn write_stdout(bytes: &[u8]) -> anyhow::Result<()> {
    if !bytes.is_empty() {
        HAS_PRINTED_RESULT.store(true, Ordering::Relaxed);
    }
    let mut stdout = io::stdout().lock();
    ignore_broken_pipe(stdout.write_all(bytes))?;
    ignore_broken_pipe(stdout.flush())
}

/// Ignores a reader that closed the pipe, as `head` does.
fn ignore_broken_pipe(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Escapes the characters that are valid in JSON but that a terminal interprets.
fn escape_controls(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for c in json.chars() {
        // The line breaks are those of the pretty printer; one inside a string is already `\n`.
        if is_invisible(c) && c != '\n' {
            // JSON has no escapes for code points above U+FFFF, only for UTF-16 units.
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            clean.extend(units.map(|unit| format!("\\u{unit:04x}")));
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
    fn invisible_characters_are_escaped_in_json() {
        assert_eq!(
            escape_controls("\"a\u{202e}b\u{e0041}\""),
            "\"a\\u202eb\\udb40\\udc41\""
        );
    }
}
