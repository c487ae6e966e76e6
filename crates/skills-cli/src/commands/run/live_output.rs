//! Prints the output of a program while it runs.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use skills_runtime::{CancellationToken, OutputStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::output::{END_OF_OUTPUT, escape_terminal, has_one_stream, set_printed_result};

/// The number of pieces, of at most 64 KiB each, that wait to be printed. Then the program waits.
const MAX_WAITING_PIECES: usize = 4;
/// How long a reader is waited for after an interrupt.
const MAX_STALL: Duration = Duration::from_millis(500);

/// Prints the output of a program as it comes: unchanged to a pipe or file, escaped on a terminal. A
/// thread writes, since nothing else of the run may wait for a slow reader.
pub(super) struct LiveOutput {
    pieces: mpsc::Sender<(OutputStream, Bytes)>,
    closed: Arc<[AtomicBool; 2]>,
    printed: oneshot::Receiver<io::Result<()>>,
    cancellation: CancellationToken,
}

impl LiveOutput {
    /// Starts the thread. Once `cancellation` is cancelled, a reader that stalls is not waited for.
    pub(super) fn start(cancellation: CancellationToken) -> io::Result<Self> {
        let (pieces, receiver) = mpsc::channel(MAX_WAITING_PIECES);
        let (is_printed, printed) = oneshot::channel();
        let closed = Arc::<[AtomicBool; 2]>::default();
        let mut printer = Printer::new(Arc::clone(&closed));
        skills_threads::spawn("program-output", move || {
            printer.print_all(receiver);
            // The receiver is dropped after an interrupt.
            let _ = is_printed.send(printer.end());
        })?;
        Ok(Self {
            pieces,
            closed,
            printed,
            cancellation,
        })
    }

    /// Prints a piece. Returns false if the stream is closed, or its reader stalls after an interrupt.
    pub(super) async fn print(&self, stream: OutputStream, bytes: Bytes) -> bool {
        let is_closed = self.closed[stream as usize].load(Ordering::Relaxed);
        let sent = unless_stalled(&self.cancellation, self.pieces.send((stream, bytes)));
        !is_closed && matches!(sent.await, Some(Ok(())))
    }

    /// Waits until everything is printed, and ends the output with a line if messages of this command
    /// follow on the same stream.
    ///
    /// A program can print that line too. Only what follows the last one is from this command, so
    /// it is also printed if there are no messages.
    ///
    /// # Errors
    /// Fails if a part could not be printed, except since its reader went away.
    pub(super) async fn finish(self) -> io::Result<()> {
        drop(self.pieces);
        match unless_stalled(&self.cancellation, self.printed).await {
            Some(Ok(printed)) => printed,
            Some(Err(_)) => Err(io::Error::other("the thread that prints failed")),
            None => Ok(()),
        }
    }
}

/// Waits for a reader, after an interrupt only for a moment.
async fn unless_stalled<F: Future>(
    cancellation: &CancellationToken,
    future: F,
) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    tokio::select! {
        biased;
        output = &mut future => Some(output),
        () = cancellation.cancelled() => timeout(MAX_STALL, future).await.ok(),
    }
}

/// Writes pieces to the streams of this command.
struct Printer {
    streams: [PrintedStream; 2],
    closed: Arc<[AtomicBool; 2]>,
    /// Whether both streams have one reader.
    is_shared: bool,
    /// The last byte before a message of this command.
    last: Option<u8>,
    error: Option<io::Error>,
}

struct PrintedStream {
    is_terminal: bool,
    /// The start of a character of which the rest has not come yet.
    pending: Vec<u8>,
}

impl Printer {
    fn new(closed: Arc<[AtomicBool; 2]>) -> Self {
        let terminals = [io::stdout().is_terminal(), io::stderr().is_terminal()];
        Self {
            streams: terminals.map(|is_terminal| PrintedStream {
                is_terminal,
                pending: Vec::new(),
            }),
            closed,
            is_shared: has_one_stream(),
            last: None,
            error: None,
        }
    }

    fn print_all(&mut self, mut pieces: mpsc::Receiver<(OutputStream, Bytes)>) {
        while let Some((stream, bytes)) = pieces.blocking_recv() {
            self.print(stream, &bytes);
        }
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let rest = std::mem::take(&mut self.streams[stream as usize].pending);
            self.write_escaped(stream, &rest);
        }
    }

    fn print(&mut self, stream: OutputStream, bytes: &[u8]) {
        let printed = &mut self.streams[stream as usize];
        if !printed.is_terminal {
            return self.write(stream, bytes);
        }
        printed.pending.extend_from_slice(bytes);
        let complete = printed.pending.len() - incomplete_bytes(&printed.pending);
        let complete: Vec<u8> = printed.pending.drain(..complete).collect();
        self.write_escaped(stream, &complete);
    }

    /// A terminal would interpret what a program prints.
    fn write_escaped(&mut self, stream: OutputStream, bytes: &[u8]) {
        let text = escape_terminal(&String::from_utf8_lossy(bytes));
        self.write(stream, text.as_bytes());
    }

    fn write(&mut self, stream: OutputStream, bytes: &[u8]) {
        let Some(last) = bytes.last() else {
            return;
        };
        // Later bytes would look as if they followed those before the error.
        if self.closed[stream as usize].load(Ordering::Relaxed) {
            return;
        }
        let written = match stream {
            OutputStream::Stdout => {
                set_printed_result();
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            OutputStream::Stderr => io::stderr().write_all(bytes),
        };
        if stream == OutputStream::Stderr || self.is_shared {
            self.last = Some(*last);
        }
        if let Err(error) = written {
            self.closed[stream as usize].store(true, Ordering::Relaxed);
            // A closed standard error is ignored, as is a reader that had enough.
            if stream == OutputStream::Stdout && error.kind() != io::ErrorKind::BrokenPipe {
                self.error.get_or_insert(error);
            }
        }
    }

    fn end(self) -> io::Result<()> {
        if let Some(last) = self.last {
            let start = if last == b'\n' { "" } else { "\n" };
            let _ = io::stderr().write_all(format!("{start}{END_OF_OUTPUT}\n").as_bytes());
        }
        self.error.map_or(Ok(()), Err)
    }
}

/// Returns the length of the start of a character or of a line end (`\r\n`) at the end of bytes.
fn incomplete_bytes(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\r") {
        return 1;
    }
    let last = bytes.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(invalid) {
        Err(error) if error.error_len().is_none() => invalid.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_start_of_a_character_is_kept_back() {
        for (bytes, expected) in [
            (&b"abc"[..], 0),
            ("abc é".as_bytes(), 0),
            (&"é".as_bytes()[..1], 1),
            (&"a\u{1f600}".as_bytes()[..4], 3),
            (b"a\xff", 0),
            (b"\xff\xe2\x82", 2),
            (b"line\r", 1),
            (b"line\r\n", 0),
            (b"", 0),
        ] {
            assert_eq!(incomplete_bytes(bytes), expected, "{bytes:?}");
        }
    }
}
