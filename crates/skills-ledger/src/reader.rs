//! Reads the lines of files into a summary.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::error::LedgerError;
use crate::line::{self, MAX_LINE_BYTES, Parsed};
use crate::summary::Summarizer;
use crate::{Summary, Timestamp};

/// Size of the buffer, in bytes. It holds at least one line.
const BUFFER_BYTES: usize = 256 * 1024;

/// Reads files of events, one after another, with one buffer.
pub(crate) struct Reader {
    summarizer: Summarizer,
    buffer: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            summarizer: Summarizer::new(now),
            buffer: vec![0; BUFFER_BYTES.max(2 * MAX_LINE_BYTES)],
        }
    }

    pub(crate) fn finish(self) -> Summary {
        self.summarizer.finish()
    }

    pub(crate) fn read_files(&mut self, files: &[(PathBuf, File)]) -> Result<(), LedgerError> {
        for (path, file) in files {
            self.read(file)
                .map_err(|error| LedgerError::io(path, error))?;
        }
        Ok(())
    }

    fn read(&mut self, mut file: impl Read) -> std::io::Result<()> {
        // The bytes of the buffer that are not consumed yet.
        let mut filled = 0;
        // Whether the rest of a line that is too long is skipped.
        let mut is_skipping = false;
        loop {
            let read = file.read(&mut self.buffer[filled..])?;
            if read == 0 {
                break;
            }
            filled += read;
            let consumed = self.consume_lines(filled, &mut is_skipping);
            self.buffer.copy_within(consumed..filled, 0);
            filled -= consumed;
            if filled > MAX_LINE_BYTES {
                if !is_skipping {
                    self.summarizer.add_malformed();
                }
                (is_skipping, filled) = (true, 0);
            }
        }
        // A line without its newline was torn by a crash, or is being written now.
        if filled > 0 && !is_skipping {
            self.add(0, filled);
        }
        Ok(())
    }

    /// Adds the whole lines at the start of the buffer, and returns their length.
    fn consume_lines(&mut self, filled: usize, is_skipping: &mut bool) -> usize {
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.buffer[start..filled]) {
            if !std::mem::take(is_skipping) && length > 0 {
                self.add(start, start + length);
            }
            start += length + 1;
        }
        start
    }

    fn add(&mut self, start: usize, end: usize) {
        match line::parse(&self.buffer[start..end]) {
            Parsed::Event(event) => self.summarizer.add(&event),
            Parsed::Unknown => self.summarizer.add_unknown(),
            Parsed::Malformed => self.summarizer.add_malformed(),
        }
    }
}
