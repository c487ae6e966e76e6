//! Streams of the caller of a run.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

use crate::kept_input::KeptInput;
use crate::{EventSender, ProgramTerminal};

/// The number of pieces of input that wait for their reader.
const MAX_WAITING_PIECES: usize = 16;

/// Streams of the caller of a run, in addition to the bytes of a job and of its result. Default: none.
///
/// All bytes are passed on by this process. The program never holds a descriptor of the caller, whose
/// position and flags it could change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProgramStreams {
    /// Standard input, read while the program runs.
    pub input: Option<InputStream>,
    /// What gets all output while the program runs, up to the output limit of the run. A
    /// [`CapturedOutput`](crate::CapturedOutput) keeps a limited number of bytes for messages and
    /// models.
    pub events: Option<EventSender>,
    /// The terminal of the program.
    pub terminal: Option<ProgramTerminal>,
}

/// Input that is read while a program runs, by the first that [takes](Self::take) it.
#[derive(Clone)]
pub struct InputStream(Arc<Mutex<Source>>);

/// Where the reader of an input stream comes from.
enum Source {
    /// Read once; `None` after that.
    Once(Option<BoxedReader>),
    /// Opened for each program.
    Opened(Box<dyn Fn() -> io::Result<BoxedReader> + Send>),
    /// Kept from its start on, for further programs.
    Kept(Arc<KeptInput>),
}

type BoxedReader = Box<dyn Read + Send>;

impl InputStream {
    /// Creates an input stream. Reading may block for any time, also after the end of the program.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        Self::of(Source::Once(Some(Box::new(reader))))
    }

    /// Creates an input stream that is opened again for each attempt of a run, such as the keys of a
    /// terminal: an attempt does not get what was read before.
    pub fn opened<R: Read + Send + 'static>(
        open: impl Fn() -> io::Result<R> + Send + 'static,
    ) -> Self {
        let open = move || Ok(Box::new(open()?) as BoxedReader);
        Self::of(Source::Opened(Box::new(open)))
    }

    fn of(source: Source) -> Self {
        Self(Arc::new(Mutex::new(source)))
    }

    /// Keeps what is read, so that a further attempt of a run reads the same from its start on. Input
    /// of more than 1 MiB is not kept.
    pub fn keep(&self) {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Source::Once(reader) = &mut *source
            && let Some(reader) = reader.take()
        {
            *source = Source::Kept(Arc::new(KeptInput::new(reader)));
        }
    }

    /// Returns true if the next program reads all input that the first one could read.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Once(reader) => reader.is_some(),
            Source::Opened(_) => true,
            Source::Kept(kept) => kept.is_complete(),
        }
    }

    /// Returns the reader; `None` if it was taken before and is not [repeatable](Self::is_repeatable).
    ///
    /// # Errors
    /// Fails if the input cannot be opened, and if it was [kept](Self::keep) and is too long.
    pub fn take(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *source {
            Source::Once(reader) => Ok(reader.take()),
            Source::Opened(open) => open().map(Some),
            Source::Kept(kept) => Ok(Some(Box::new(kept.reader()?))),
        }
    }
}

impl fmt::Debug for InputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputStream")
    }
}

/// The other end of an [`InputStream`]: what is sent here is read by the program. Dropping it ends the
/// stream.
#[derive(Debug)]
pub struct InputSink(mpsc::Sender<Bytes>);

impl InputSink {
    /// Creates a sink and the stream that reads from it. At most 16 sent pieces wait to be read.
    #[must_use]
    pub fn new() -> (Self, InputStream) {
        let (sender, pieces) = mpsc::channel(MAX_WAITING_PIECES);
        let reader = SinkReader {
            pieces,
            rest: Bytes::new(),
        };
        (Self(sender), InputStream::new(reader))
    }

    /// Sends bytes to the program, once there is room for them.
    ///
    /// # Errors
    /// Fails if the reader was dropped. That can be one piece after the end of the program.
    pub async fn send(&self, bytes: impl Into<Bytes>) -> io::Result<()> {
        let sent = self.0.send(bytes.into()).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads what a sink was sent, on a thread without a runtime.
struct SinkReader {
    pieces: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl Read for SinkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An empty piece is not the end of the stream.
        while self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = piece,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.rest.len());
        self.rest
            .split_to(length)
            .copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_stream_is_taken_once() {
        let stream = InputStream::new(io::empty());
        assert!(stream.is_repeatable());
        assert!(stream.clone().take().unwrap().is_some());
        assert!(stream.take().unwrap().is_none() && !stream.is_repeatable());
    }

    #[test]
    fn input_is_opened_or_kept_for_each_attempt() {
        let read = |stream: &InputStream| {
            let mut text = String::new();
            let mut reader = stream.take().unwrap().unwrap();
            reader.read_to_string(&mut text).unwrap();
            text
        };
        let opened = InputStream::opened(|| Ok(&b"keys"[..]));
        let kept = InputStream::new(&b"pipe"[..]);
        kept.keep();
        for (stream, expected) in [(opened, "keys"), (kept, "pipe")] {
            for _ in 0..2 {
                assert!(stream.is_repeatable());
                assert_eq!(read(&stream), expected);
            }
        }
    }

    #[tokio::test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test may panic without a thread"
    )]
    async fn a_stream_ends_with_its_sink_and_a_sink_with_its_stream() {
        let (sink, stream) = InputSink::new();
        let reader = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            let mut reader = stream.take().unwrap().unwrap();
            reader.read_to_string(&mut text).map(|_| text)
        });
        for piece in ["one ", "", "two"] {
            sink.send(piece).await.unwrap();
        }
        drop(sink);
        assert_eq!(reader.await.unwrap().unwrap(), "one two");

        let (sink, stream) = InputSink::new();
        drop(stream);
        let error = sink.send("nobody reads it").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
