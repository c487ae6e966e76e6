//! Prints the output of a program while it runs.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bytes::Bytes;
use skills_runtime::OutputStream;
use tokio::sync::mpsc;

use crate::output::{END_OF_OUTPUT, escape_terminal, has_one_stream, set_printed_result};

/// The number of pieces, of at most 64 KiB each, that wait to be printed. Then the program waits.
const MAX_WAITING_PIECES: usize = 4;

/// Prints the output of a program as it comes: unchanged to a pipe or file, escaped on a terminal. A
/// thread writes, since nothing else of the run may wait for a slow reader.
pub(super) struct LiveOutput {
    pieces: mpsc::Sender<(OutputStream, Bytes)>,
    closed: Arc<[AtomicBool; 2]>,
    printer: JoinHandle<Printer>,
}

impl LiveOutput {
    pub(super) fn start() -> io::Result<Self> {
        let (pieces, receiver) = mpsc::channel(MAX_WAITING_PIECES);
        let closed = Arc::<[AtomicBool; 2]>::default();
        let mut printer = Printer::new(Arc::clone(&closed));
        let printer = skills_threads::spawn("program-output", move || {
            printer.print_all(receiver);
            printer
        })?;
        Ok(Self {
            pieces,
            closed,
            printer,
        })
    }

    /// Prints a piece. Returns false if nobody reads the stream any more.
    pub(super) async fn print(&self, stream: OutputStream, bytes: Bytes) -> bool {
        let is_closed = self.closed[stream as usize].load(Ordering::Relaxed);
        !is_closed && self.pieces.send((stream, bytes)).await.is_ok()
    }

    /// Waits until everything is printed, and ends the output with a line if messages of this command
    /// follow on the same stream.
    ///
    /// A program can print that line too. Only what follows the last one is from this command, so
    /// it is also printed if there are no messages.
    ///
    /// # Errors
    /// Fails if a part could not be printed, except since its reader went away.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.pieces);
        match self.printer.join() {
            Ok(printer) => printer.end(),
            Err(panic) => std::panic::resume_unwind(panic),
        }
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
            self.write(stream, String::from_utf8_lossy(&rest).as_bytes());
        }
    }

    fn print(&mut self, stream: OutputStream, bytes: &[u8]) {
        let printed = &mut self.streams[stream as usize];
        if !printed.is_terminal {
            return self.write(stream, bytes);
        }
        // A terminal would interpret what a program prints.
        printed.pending.extend_from_slice(bytes);
        let complete = printed.pending.len() - incomplete_bytes(&printed.pending);
        let complete: Vec<u8> = printed.pending.drain(..complete).collect();
        let text = escape_terminal(&String::from_utf8_lossy(&complete));
        self.write(stream, text.as_bytes());
    }

    fn write(&mut self, stream: OutputStream, bytes: &[u8]) {
        let Some(last) = bytes.last() else {
            return;
        };
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

/// Returns the length of the start of a character at the end of bytes.
fn incomplete_bytes(bytes: &[u8]) -> usize {
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
            (b"", 0),
        ] {
            assert_eq!(incomplete_bytes(bytes), expected, "{bytes:?}");
        }
    }
}
