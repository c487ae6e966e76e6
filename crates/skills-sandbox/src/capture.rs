//! Captured output, up to a limit.

use std::collections::VecDeque;

/// One output stream: its first bytes, its last bytes if some between them were dropped, and the
/// total number of bytes that the program wrote.
///
/// Three quarters of a limit are for the beginning and one quarter for the end, where programs
/// usually report errors.
///
/// ```
/// use skills_sandbox::CapturedOutput;
///
/// let mut output = CapturedOutput::default();
/// output.push(b"0123456789", 8);
/// assert_eq!((output.head(), output.tail().as_slice()), (&b"012345"[..], &b"89"[..]));
/// assert_eq!(output.text(), "012345\n[... 2 bytes omitted ...]\n89");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    dropped_bytes: u64,
}

impl CapturedOutput {
    /// Adds `chunk`, keeps at most `limit` bytes in total and counts the rest. Pass the same limit
    /// for all chunks.
    pub fn push(&mut self, chunk: &[u8], limit: usize) {
        self.total_bytes += chunk.len() as u64;
        if self.tail.is_empty() && self.dropped_bytes == 0 && self.head.len() + chunk.len() <= limit
        {
            self.head.extend_from_slice(chunk);
            return;
        }
        // A quarter for the end, where programs usually report errors.
        let tail_limit = limit / 4;
        let head_limit = limit - tail_limit;
        let head_bytes = head_limit.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..head_bytes]);
        // The surplus of the beginning, kept from before it was known that bytes would be dropped.
        let surplus = self.head.split_off(self.head.len().min(head_limit));
        let last = &chunk[head_bytes..];
        let skipped = last.len().saturating_sub(tail_limit);
        self.dropped_bytes += skipped as u64;
        self.tail.extend(surplus);
        self.tail.extend(&last[skipped..]);
        // Bounded after each chunk, so that memory does not grow with the output.
        let excess = self.tail.len().saturating_sub(tail_limit);
        self.tail.drain(..excess);
        self.dropped_bytes += excess as u64;
    }

    /// Replaces the captured bytes, for example with redacted ones; the counts of written and
    /// dropped bytes stay.
    #[must_use]
    pub fn with_bytes(self, head: Vec<u8>, tail: Vec<u8>) -> Self {
        Self {
            head,
            tail: tail.into(),
            ..self
        }
    }

    /// Returns the first bytes; all of them if none were dropped.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the last bytes if some between them and the first were dropped, otherwise nothing.
    #[must_use]
    pub fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// Returns how many bytes the program wrote.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns how many bytes were dropped.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// Returns true if bytes were dropped.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped_bytes > 0
    }

    /// Returns the marker line for the omitted bytes: `[... N bytes omitted ...]`.
    #[must_use]
    pub fn truncation_marker(&self) -> String {
        format!("\n[... {} bytes omitted ...]\n", self.dropped_bytes)
    }

    /// Returns the captured bytes as text, with the [marker line](Self::truncation_marker) between
    /// the first and the last bytes if some were dropped. Bytes that are not UTF-8 become `U+FFFD`.
    #[must_use]
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        if !self.is_truncated() {
            return head.into_owned();
        }
        format!(
            "{head}{}{}",
            self.truncation_marker(),
            String::from_utf8_lossy(&self.tail())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&str], limit: usize) -> CapturedOutput {
        let mut captured = CapturedOutput::default();
        chunks
            .iter()
            .for_each(|chunk| captured.push(chunk.as_bytes(), limit));
        captured
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let all = captured(&["abc", "defgh"], 8);
        assert_eq!(
            (all.text().as_str(), all.is_truncated(), all.tail()),
            ("abcdefgh", false, Vec::new())
        );
        for chunks in [
            &["abcdefghijkl"][..],
            &["abc", "defgh", "ijkl"],
            &["abcdefg", "h", "i", "j", "k", "l"],
            &["abcdefgh", "ijkl"],
        ] {
            let cut = captured(chunks, 8);
            assert_eq!(
                (cut.head(), cut.tail().as_slice()),
                (b"abcdef".as_slice(), b"kl".as_slice()),
                "{chunks:?}"
            );
            assert_eq!(
                (cut.total_bytes(), cut.dropped_bytes()),
                (12, 4),
                "{chunks:?}"
            );
        }
        assert_eq!(
            captured(&["abcdefghijkl"], 8).text(),
            "abcdef\n[... 4 bytes omitted ...]\nkl"
        );
    }

    #[test]
    fn counts_do_not_depend_on_chunk_sizes() {
        for limit in 0..12 {
            for size in 1..8 {
                let text: Vec<u8> = (0..40).collect();
                let mut captured = CapturedOutput::default();
                text.chunks(size)
                    .for_each(|chunk| captured.push(chunk, limit));
                let (head, tail) = (captured.head(), captured.tail());
                assert_eq!(head.len() + tail.len(), limit, "{limit} {size}");
                assert_eq!(captured.dropped_bytes(), 40 - limit as u64);
                assert!(text.starts_with(head) && text.ends_with(&tail));
            }
        }
    }
}
