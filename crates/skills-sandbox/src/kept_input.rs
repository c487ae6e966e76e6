//! Input that is kept while it is read, for a further attempt of a run.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of bytes that are kept.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// Input that is read from one source and kept from its start on.
///
/// A reader of an attempt that ended can still wait for the source. What it gets then is kept as well, and
/// read by the next one.
pub(crate) struct KeptInput {
    source: Mutex<Box<dyn Read + Send>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// All that was read, unless it was too much: then nothing.
    bytes: Vec<u8>,
    read_bytes: usize,
    is_ended: bool,
}

/// Reads kept input from its start on.
pub(crate) struct KeptReader {
    input: Arc<KeptInput>,
    position: usize,
}

impl KeptInput {
    pub(crate) fn new(source: Box<dyn Read + Send>) -> Self {
        Self {
            source: Mutex::new(source),
            kept: Mutex::default(),
        }
    }

    /// Returns true if a new reader reads all of it.
    pub(crate) fn is_complete(&self) -> bool {
        self.kept().is_complete()
    }

    /// Returns a reader.
    ///
    /// # Errors
    /// Fails if the start of the input was not kept.
    pub(crate) fn reader(self: &Arc<Self>) -> io::Result<KeptReader> {
        if !self.is_complete() {
            return Err(not_kept());
        }
        Ok(KeptReader {
            input: Arc::clone(self),
            position: 0,
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_complete(&self) -> bool {
        self.bytes.len() == self.read_bytes
    }

    fn add(&mut self, read: &[u8]) {
        self.is_ended = read.is_empty();
        let is_kept = self.is_complete() && self.read_bytes + read.len() <= MAX_KEPT_BYTES;
        self.read_bytes += read.len();
        if is_kept {
            self.bytes.extend_from_slice(read);
        } else {
            self.bytes = Vec::new();
        }
    }
}

impl KeptReader {
    /// Reads what was read before; `None` if that is less than the position.
    ///
    /// # Errors
    /// Fails if an earlier reader read so much meanwhile that it was not kept.
    fn read_kept(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let kept = self.input.kept();
        if self.position >= kept.read_bytes {
            return Ok(kept.is_ended.then_some(0));
        }
        let rest = kept.bytes.get(self.position..).unwrap_or_default();
        if rest.is_empty() {
            return Err(not_kept());
        }
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.position += length;
        Ok(Some(length))
    }
}

fn not_kept() -> io::Error {
    io::Error::other("too much input was read before this attempt")
}

impl Read for KeptReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(length) = self.read_kept(buffer)? {
            return Ok(length);
        }
        let input = Arc::clone(&self.input);
        let source = input.source.lock();
        let mut source = source.unwrap_or_else(PoisonError::into_inner);
        // A reader of an earlier attempt may have had the source until now.
        if let Some(length) = self.read_kept(buffer)? {
            return Ok(length);
        }
        let length = source.read(buffer)?;
        input.kept().add(&buffer[..length]);
        self.position += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut reader: KeptReader) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn each_reader_reads_all_from_the_start() {
        let input = Arc::new(KeptInput::new(Box::new(&b"one two"[..])));
        let mut first = input.reader().unwrap();
        assert_eq!(first.read(&mut [0; 3]).unwrap(), 3);
        assert_eq!(read_all(input.reader().unwrap()), b"one two");
        assert_eq!(read_all(first), b" two");
        assert_eq!(read_all(input.reader().unwrap()), b"one two");
    }

    #[test]
    fn long_input_is_read_once_and_completely() {
        let long = vec![7; MAX_KEPT_BYTES + 1];
        let input = Arc::new(KeptInput::new(Box::new(io::Cursor::new(long.clone()))));
        let first = input.reader().unwrap();
        assert_eq!(read_all(first), long);
        assert!(!input.is_complete() && input.reader().is_err());
    }

    /// What a reader gets that belongs to an attempt that ended is not lost.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test fails if the system refuses a thread"
    )]
    fn a_reader_that_still_waits_loses_nothing() {
        let (source, mut sink) = io::pipe().unwrap();
        let input = Arc::new(KeptInput::new(Box::new(source)));
        let mut old = input.reader().unwrap();
        let waiting = std::thread::scope(|scope| {
            let waits = scope.spawn(move || old.read(&mut [0; 16]).unwrap());
            let next = input.reader().unwrap();
            io::Write::write_all(&mut sink, b"late").unwrap();
            let length = waits.join().unwrap();
            drop(sink);
            assert_eq!(read_all(next), b"late");
            length
        });
        assert_eq!(waiting, 4);
    }
}
