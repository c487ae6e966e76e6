//! Connects the streams of a caller to a run: input is recorded, copies of output are redacted.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use skills_audit::ContentHash;
use skills_sandbox::{InputStream, OutputCopy, ProgramStreams, Termination};
use tokio::sync::oneshot;

use super::plan::Planned;
use crate::error::{Repr, RuntimeError};
use crate::redaction::RedactingWriter;

/// Maximum number of bytes that are read before a program in a container starts.
const MAX_CONTAINER_INPUT_BYTES: u64 = 16 << 20;
/// The number of bytes of an input stream that are hashed for the record.
const RECORDED_BYTES: usize = 64 << 10;

/// The streams of a run.
pub(super) struct RunStreams {
    stdin: Bytes,
    input: Option<InputStream>,
    recorded: Arc<Mutex<RecordedInput>>,
    stdout: Option<RedactedCopy>,
    stderr: Option<RedactedCopy>,
}

/// A copy with a writer that is finished after the run.
type RedactedCopy = Arc<Mutex<RedactingWriter<OutputCopy>>>;

impl RunStreams {
    /// Opens the streams of a run. All input of a program in a container is read before it starts.
    ///
    /// # Errors
    /// Fails if input for a container is too long, cannot be read, or does not end within the time
    /// limit of the run.
    pub(super) async fn open(planned: &Planned, wall_time: Duration) -> Result<Self, RuntimeError> {
        let streams = planned.options().streams.clone();
        let mut input = streams.input;
        let mut stdin = planned.stdin().clone();
        if !planned.uses_programs_of_host()
            && let Some(reader) = input.take().as_ref().and_then(InputStream::take)
        {
            let read = read_to_end(reader, wall_time).await;
            stdin = read.map_err(|source| Repr::ProgramInput { source })?.into();
        }
        let redacted = |copy: OutputCopy| {
            let is_some = copy.is_some();
            is_some.then(|| Arc::new(Mutex::new(RedactingWriter::new(planned.redactor(), copy))))
        };
        Ok(Self {
            stdin,
            input,
            recorded: Arc::default(),
            stdout: redacted(streams.stdout),
            stderr: redacted(streams.stderr),
        })
    }

    /// Returns the standard input of a program whose input is no stream.
    pub(super) fn stdin(&self) -> Bytes {
        self.stdin.clone()
    }

    /// Returns the streams for the backend.
    pub(super) fn for_job(&self) -> ProgramStreams {
        let mut streams = ProgramStreams::default();
        streams.input = self
            .input
            .as_ref()
            .and_then(InputStream::take)
            .map(|inner| {
                InputStream::new(RecordingReader {
                    inner,
                    recorded: Arc::clone(&self.recorded),
                })
            });
        streams.stdout = shared(self.stdout.as_ref());
        streams.stderr = shared(self.stderr.as_ref());
        streams
    }

    /// Writes what the copies still keep back.
    pub(super) fn finish(&self, termination: &Termination) {
        // A program that was stopped may have been about to write the rest of a secret.
        let is_complete = matches!(termination, Termination::Exited { .. });
        for copy in self.stdout.iter().chain(&self.stderr) {
            let mut writer = copy.lock().unwrap_or_else(PoisonError::into_inner);
            // The owner of the writer knows that it failed.
            let _ = writer.finish(is_complete);
        }
    }

    /// Returns size and hash of the input that was read; `None` without an input stream.
    pub(super) fn input_hash(&self) -> Option<ContentHash> {
        self.input.as_ref()?;
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        Some(ContentHash::from_prefix(&recorded.first, recorded.bytes))
    }
}

/// Returns a copy that writes through a shared writer.
fn shared(copy: Option<&RedactedCopy>) -> OutputCopy {
    let writer = copy.map(|copy| SharedWriter(Arc::clone(copy)));
    writer.map_or_else(OutputCopy::default, OutputCopy::new)
}

struct SharedWriter(RedactedCopy);

impl io::Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the program was given of the input of its caller.
#[derive(Default)]
struct RecordedInput {
    first: Vec<u8>,
    bytes: u64,
}

struct RecordingReader {
    inner: Box<dyn Read + Send>,
    recorded: Arc<Mutex<RecordedInput>>,
}

impl Read for RecordingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.bytes += length as u64;
        let kept = RECORDED_BYTES
            .saturating_sub(recorded.first.len())
            .min(length);
        recorded.first.extend_from_slice(&buffer[..kept]);
        Ok(length)
    }
}

/// Reads all input on a thread of its own, since a read may block for longer than the limit.
async fn read_to_end(reader: Box<dyn Read + Send>, limit: Duration) -> io::Result<Vec<u8>> {
    let (sender, receiver) = oneshot::channel();
    skills_threads::spawn("container-input", move || {
        let mut bytes = Vec::new();
        let mut reader = reader.take(MAX_CONTAINER_INPUT_BYTES + 1);
        let read = reader.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody waits any more after the limit.
        let _ = sender.send(read);
    })?;
    let not_ended = || {
        io::Error::new(
            io::ErrorKind::TimedOut,
            "it did not end, and a container gets all of it before its program starts",
        )
    };
    let bytes = tokio::time::timeout(limit, receiver)
        .await
        .map_err(|_| not_ended())?
        .map_err(io::Error::other)??;
    if bytes.len() as u64 > MAX_CONTAINER_INPUT_BYTES {
        let message = format!("it is larger than {MAX_CONTAINER_INPUT_BYTES} bytes");
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}
