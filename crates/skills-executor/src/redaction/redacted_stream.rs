//! Redacts values of secrets in a stream.

use super::Redactor;
use super::redactor::After;

/// A stream without the values of secrets, also of those that are split between two pieces.
///
/// It keeps at most the bytes that may be the start of a value. [`end`](Self::end) returns them after the
/// last byte of the stream.
pub(crate) struct RedactedStream {
    redactor: Redactor,
    pending: Vec<u8>,
    /// The number of pending bytes that belong to a value that was replaced.
    covered: usize,
}

impl RedactedStream {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            pending: Vec::new(),
            covered: 0,
        }
    }

    /// Adds bytes, and returns those that are known to belong to no value.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        self.redact(After::More)
    }

    /// Returns what is pending. If the stream `is_complete`, a part of a value at its end is what the
    /// program wrote, otherwise it is redacted.
    pub(crate) fn end(mut self, is_complete: bool) -> Vec<u8> {
        self.redact(if is_complete {
            After::End
        } else {
            After::Dropped
        })
    }

    fn redact(&mut self, after: After) -> Vec<u8> {
        let part = self
            .redactor
            .redact_part(&self.pending, self.covered, after);
        self.pending.drain(..part.processed);
        self.covered = part.covered;
        part.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str, chunk: usize, is_complete: bool) -> String {
        let redactor = Redactor::new([("KEY", "hunter2&hunter2"), ("AAA", "aaaaaaaa")]);
        let mut stream = RedactedStream::new(redactor);
        let chunks = text.as_bytes().chunks(chunk);
        let mut redacted: Vec<u8> = chunks.flat_map(|chunk| stream.push(chunk)).collect();
        redacted.extend(stream.end(is_complete));
        String::from_utf8(redacted).unwrap()
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
