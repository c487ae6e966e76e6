//! Output that was kept, up to a limit.

use std::collections::VecDeque;

/// One output stream: its first bytes, its last bytes when there were too many between, and how
/// many there were in all.
///
/// Of a limit three quarters are for the beginning and one quarter for the end, where programs say
/// what went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    dropped_bytes: u64,
}

impl CapturedOutput {
    /// Adds `chunk`, keeping no more than `limit` bytes in all and counting the rest. The limit is
    /// the same for all chunks.
    pub fn push(&mut self, chunk: &[u8], limit: usize) {
        self.total_bytes += chunk.len() as u64;
        if self.tail.is_empty() && self.dropped_bytes == 0 && self.head.len() + chunk.len() <= limit
        {
            self.head.extend_from_slice(chunk);
            return;
        }
        let tail_limit = limit / 4;
        let head_limit = limit - tail_limit;
        let room = head_limit.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        // What the beginning holds too much of, from before it was known that there would be an
        // end.
        let surplus = self.head.split_off(self.head.len().min(head_limit));
        let last = &chunk[room..];
        let skipped = last.len().saturating_sub(tail_limit);
        self.dropped_bytes += skipped as u64;
        self.tail.extend(surplus);
        self.tail.extend(&last[skipped..]);
        let excess = self.tail.len().saturating_sub(tail_limit);
        self.tail.drain(..excess);
        self.dropped_bytes += excess as u64;
    }

    /// Puts other bytes in place of those that were kept; how many the program wrote and how many
    /// were thrown away stays.
    #[must_use]
    pub fn with_bytes(self, head: Vec<u8>, tail: Vec<u8>) -> Self {
        Self {
            head,
            tail: tail.into(),
            ..self
        }
    }

    /// Returns the first bytes; all of them, when none were thrown away.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the last bytes, when some between them and the first were thrown away; else nothing.
    #[must_use]
    pub fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// Returns how many bytes the program wrote.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns how many bytes were thrown away.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// Says whether bytes were thrown away.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped_bytes > 0
    }

    /// Returns the line that stands for what was thrown away.
    #[must_use]
    pub fn truncation_marker(&self) -> String {
        format!("\n[… {} bytes left out …]\n", self.dropped_bytes)
    }

    /// Returns the kept bytes as text, with a line between the first and the last when some were
    /// thrown away; bytes that are not UTF-8 become `U+FFFD`.
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
    fn keeps_the_beginning_and_the_end_and_counts_the_rest() {
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
            "abcdef\n[… 4 bytes left out …]\nkl"
        );
    }

    #[test]
    fn counts_add_up_however_output_comes() {
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
