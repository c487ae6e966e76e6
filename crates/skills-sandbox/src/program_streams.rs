//! Streams of the caller of a run.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Streams of the caller of a run, in addition to the bytes of a job and of its result. Default: none.
///
/// All bytes are passed on by this process. The program never holds a descriptor of the caller, whose
/// position and flags it could change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProgramStreams {
    /// Standard input, read while the program runs.
    pub input: Option<InputStream>,
    /// A complete copy of standard output.
    pub stdout: OutputCopy,
    /// A complete copy of standard error.
    pub stderr: OutputCopy,
}

/// Input that is read while a program runs, by the first that [takes](Self::take) it.
#[derive(Clone)]
pub struct InputStream(Arc<Mutex<Option<Box<dyn Read + Send>>>>);

impl InputStream {
    /// Creates an input stream. Reading may block for any time, also after the end of the program.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(reader)))))
    }

    /// Returns the reader, or `None` if it was taken before.
    #[must_use]
    pub fn take(&self) -> Option<Box<dyn Read + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for InputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputStream")
    }
}

/// A writer that gets all bytes of an output stream, in their order, up to the output limit of the
/// run. Default: no writer.
///
/// [`CapturedOutput`](crate::CapturedOutput) keeps a limited number of bytes for messages and
/// models; this is for a caller that wants all of them.
#[derive(Clone, Default)]
pub struct OutputCopy(Option<Arc<Mutex<dyn Write + Send>>>);

impl OutputCopy {
    /// Creates a copy. After an error the writer gets no more bytes of that chunk; it must remember
    /// by itself that it failed.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Some(Arc::new(Mutex::new(writer))))
    }

    /// Returns true if there is a writer.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a chunk. Errors are ignored: a program does not fail because its caller cannot keep
    /// its output.
    pub fn push(&self, chunk: &[u8]) {
        let _ = self.write_chunk(chunk);
    }

    fn write_chunk(&self, chunk: &[u8]) -> io::Result<()> {
        match &self.0 {
            Some(writer) => writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write_all(chunk),
            None => Ok(()),
        }
    }
}

impl Write for OutputCopy {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.write_chunk(chunk)?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &self.0 {
            Some(writer) => writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush(),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for OutputCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "OutputCopy({})",
            if self.is_some() { "writer" } else { "none" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_gets_all_chunks_in_order() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut copy = OutputCopy::new(writer);
        copy.push(b"one ");
        copy.clone().write_all(b"two").unwrap();
        copy.flush().unwrap();
        drop(copy);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }

    #[test]
    fn an_input_stream_is_taken_once() {
        let stream = InputStream::new(io::empty());
        assert!(stream.clone().take().is_some());
        assert!(stream.take().is_none());
    }
}
