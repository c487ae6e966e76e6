//! Output that was kept, up to a limit.

/// One output stream: its first bytes, and how many there were in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    bytes: Vec<u8>,
    total: u64,
    dropped: u64,
}

impl Captured {
    /// Adds `chunk`, keeping no more than `limit` bytes in all and counting the rest.
    pub fn push(&mut self, chunk: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.bytes.len()).min(chunk.len());
        self.bytes.extend_from_slice(&chunk[..room]);
        self.total += chunk.len() as u64;
        self.dropped += (chunk.len() - room) as u64;
    }

    /// Puts other bytes in place of those that were kept; how many the program wrote and how many were thrown away stays.
    #[must_use]
    pub fn with_bytes(self, bytes: Vec<u8>) -> Self {
        Self { bytes, ..self }
    }

    /// Returns the bytes that were kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how many bytes the program wrote.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Returns how many bytes were thrown away.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped
    }

    /// Says whether bytes were thrown away.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped_bytes() > 0
    }

    /// Returns the kept bytes as text; bytes that are not UTF-8 become `U+FFFD`.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_head_and_counts_the_rest() {
        let mut captured = Captured::default();
        captured.push(b"abc", 4);
        assert!(!captured.is_truncated());
        captured.push(b"def", 4);
        assert_eq!((captured.bytes(), captured.total_bytes(), captured.dropped_bytes()), (b"abcd".as_slice(), 6, 2));
    }
}
