//! Connects the input of a caller to a run, and records it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use skills_audit::ContentHash;
use skills_sandbox::{EventSender, InputStream, ProgramStreams, ProgramTerminal};
use tokio::sync::oneshot;

use crate::error::{Repr, RuntimeError};
use crate::plan::Planned;

/// Maximum number of bytes that are read before a program in a container starts.
const MAX_CONTAINER_INPUT_BYTES: u64 = 16 << 20;
/// The number of bytes of an input stream that are hashed for the record.
const RECORDED_BYTES: usize = 64 << 10;

/// The streams of a run.
pub(crate) struct RunStreams {
    stdin: Bytes,
    input: Option<InputStream>,
    terminal: Option<ProgramTerminal>,
    recorded: Arc<Mutex<RecordedInput>>,
}

impl RunStreams {
    /// Opens the streams of a run. All input of a program in a container is read before it starts.
    ///
    /// # Errors
    /// Fails if input for a container is too long, cannot be read, or does not end within the time
    /// limit of the run.
    pub(crate) async fn open(planned: &Planned, wall_time: Duration) -> Result<Self, RuntimeError> {
        let mut input = planned.options().input_stream.clone();
        let mut stdin = planned.stdin().clone();
        if !planned.uses_programs_of_host()
            && let Some(input) = input.take()
        {
            let unreadable = |source| Repr::ProgramInput { source };
            if let Some(reader) = input.take().map_err(unreadable)? {
                let read = read_to_end(reader, wall_time).await;
                stdin = read.map_err(unreadable)?.into();
            }
        }
        let terminal = planned.options().terminal.clone();
        Ok(Self {
            stdin,
            input,
            terminal: terminal.filter(|_| planned.uses_programs_of_host()),
            recorded: Arc::default(),
        })
    }

    /// Returns the standard input of a program whose input is no stream.
    pub(crate) fn stdin(&self) -> Bytes {
        self.stdin.clone()
    }

    /// Returns the streams for the backend, which sends the output to `events`.
    ///
    /// # Errors
    /// Fails if the input of the caller cannot be opened.
    pub(crate) fn for_job(
        &self,
        events: Option<&EventSender>,
    ) -> Result<ProgramStreams, RuntimeError> {
        let input = self.input.as_ref().map(InputStream::take).transpose();
        let input = input.map_err(|source| Repr::ProgramInput { source })?;
        let mut streams = ProgramStreams::default();
        streams.input = input.flatten().map(|inner| {
            InputStream::new(RecordingReader {
                inner,
                recorded: Arc::clone(&self.recorded),
                hashed_bytes: self.hashed_bytes(),
            })
        });
        streams.events = events.cloned();
        streams.terminal = self.terminal.clone();
        Ok(streams)
    }

    /// Returns how many bytes of the input are hashed for the record. Keys are not: the hash of a
    /// password that is typed could be guessed.
    fn hashed_bytes(&self) -> usize {
        let mut terminal = self.terminal.iter();
        if terminal.any(|terminal| terminal.program_streams().input) {
            0
        } else {
            RECORDED_BYTES
        }
    }

    /// Returns size and hash of the input that was read; `None` without an input stream.
    pub(crate) fn input_hash(&self) -> Option<ContentHash> {
        self.input.as_ref()?;
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        Some(ContentHash::from_prefix(&recorded.first, recorded.bytes))
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
    hashed_bytes: usize,
}

impl Read for RecordingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.bytes += length as u64;
        let kept = self
            .hashed_bytes
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

#[cfg(test)]
mod tests {
    use skills_sandbox::{TerminalSize, TerminalStreams};

    use super::*;

    fn recorded(terminal: Option<ProgramTerminal>) -> Option<ContentHash> {
        let streams = RunStreams {
            stdin: Bytes::new(),
            input: Some(InputStream::new(&b"password"[..])),
            terminal,
            recorded: Arc::default(),
        };
        let input = streams.for_job(None).unwrap().input.unwrap();
        let mut text = String::new();
        let mut reader = input.take().unwrap().unwrap();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "password");
        streams.input_hash()
    }

    #[test]
    fn the_record_has_no_hash_of_keys() {
        let of_pipe = Some(ContentHash::from_prefix(b"password", 8));
        assert_eq!(recorded(None), of_pipe);
        let terminal = |input| {
            let errors = true;
            ProgramTerminal::new(TerminalSize::default()).streams(TerminalStreams { input, errors })
        };
        assert_eq!(recorded(Some(terminal(false))), of_pipe);
        let of_keys = Some(ContentHash::from_prefix(b"", 8));
        assert_eq!(recorded(Some(terminal(true))), of_keys);
    }
}
