//! Redacts values of secrets in a stream.

use std::io::{self, Write};

use super::Redactor;
use super::redactor::After;

/// Writes a stream without the values of secrets, also of those that are split between two writes.
///
/// It keeps at most the bytes that may be the start of a value. [`finish`](Self::finish) writes them
/// after the last byte of the stream; dropping the writer does not.
pub(crate) struct RedactingWriter<W> {
    redactor: Redactor,
    inner: W,
    pending: Vec<u8>,
    /// The number of pending bytes that belong to a value that was replaced.
    covered: usize,
}

impl<W: Write> RedactingWriter<W> {
    pub(crate) fn new(redactor: Redactor, inner: W) -> Self {
        Self {
            redactor,
            inner,
            pending: Vec::new(),
            covered: 0,
        }
    }

    /// Writes what is pending. If the stream `is_complete`, a part of a value at its end is what the
    /// program wrote, otherwise it is redacted.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub(crate) fn finish(&mut self, is_complete: bool) -> io::Result<()> {
        let after = if is_complete {
            After::End
        } else {
            After::Dropped
        };
        self.write_redacted(after)?;
        self.inner.flush()
    }

    fn write_redacted(&mut self, after: After) -> io::Result<()> {
        let part = self
            .redactor
            .redact_part(&self.pending, self.covered, after);
        self.pending.drain(..part.processed);
        self.covered = part.covered;
        self.inner.write_all(&part.bytes)
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.redactor.is_empty() {
            return self.inner.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        self.write_redacted(After::More)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str, chunk: usize, is_complete: bool) -> String {
        let redactor = Redactor::new([("KEY", "hunter2&hunter2"), ("AAA", "aaaaaaaa")]);
        let mut written = Vec::new();
        let mut writer = RedactingWriter::new(redactor, &mut written);
        for chunk in text.as_bytes().chunks(chunk) {
            writer.write_all(chunk).unwrap();
        }
        writer.finish(is_complete).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_value_that_crosses_chunks_is_redacted() {
        let text = r"a hunter2&hunter2 b hunter2\u0026hunter2 hunter c hunter2";
        for chunk in 1..text.len() {
            assert_eq!(
                redact(text, chunk, true),
                "a [redacted KEY] b [redacted KEY] hunter c hunter2",
                "{chunk}"
            );
            assert_eq!(
                redact(text, chunk, false),
                "a [redacted KEY] b [redacted KEY] hunter c [redacted KEY]",
                "{chunk}"
            );
        }
    }

    #[test]
    fn overlapping_values_do_not_fill_memory() {
        let text = "a".repeat(100_000) + " end";
        assert_eq!(redact(&text, 1_000, true), "[redacted AAA] end");
    }
}
