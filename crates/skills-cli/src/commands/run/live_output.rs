//! Prints the output of a program while it runs.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use skills_runtime::policy::{AnswerFuture, Question};
use skills_runtime::{Approver, CancellationToken, OutputStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::run_terminal::RunTerminal;
use crate::output::{END_OF_OUTPUT, has_one_stream, set_printed_result};
use crate::terminal::{TerminalFilter, leave_program_modes};

/// The number of pieces, of at most 64 KiB each, that wait to be printed. Then the program waits.
const MAX_WAITING_PIECES: usize = 4;
/// How long a reader is waited for after an interrupt.
const MAX_STALL: Duration = Duration::from_millis(500);

/// Prints the output of a program as it comes: unchanged to a pipe or file,
/// [filtered](TerminalFilter) on a terminal. A thread writes, since nothing else of the run may
/// wait for a slow reader.
pub(super) struct LiveOutput {
    pieces: mpsc::Sender<Piece>,
    closed: Arc<[AtomicBool; 2]>,
    printed: oneshot::Receiver<io::Result<()>>,
    cancellation: CancellationToken,
    /// The terminal of the program.
    terminal: Option<RunTerminal>,
    attempts: PrintedAttempts,
}

/// What the thread prints.
enum Piece {
    Output(OutputStream, Bytes),
    /// The program ended. What follows is from this command, or from a further attempt.
    EndOfAttempt,
}

/// How many attempts of the run have all their output printed.
#[derive(Clone, Default)]
pub(super) struct PrintedAttempts(Arc<watch::Sender<u32>>);

/// Asks once the output of all earlier attempts is printed: no text of a program may follow a
/// question.
struct AskAfter {
    inner: Arc<dyn Approver>,
    printed: watch::Receiver<u32>,
}

impl PrintedAttempts {
    /// Returns an approver that is asked after the output that came before its question.
    pub(super) fn ask_after(&self, inner: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(AskAfter {
            inner,
            printed: self.0.subscribe(),
        })
    }
}

impl Approver for AskAfter {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let mut printed = self.printed.clone();
        Box::pin(async move {
            printed
                .wait_for(|count| *count >= question.attempts)
                .await?;
            self.inner.ask(question).await
        })
    }

    fn can_respond(&self) -> bool {
        self.inner.can_respond()
    }

    fn can_respond_to_refusals(&self) -> bool {
        self.inner.can_respond_to_refusals()
    }
}

impl LiveOutput {
    /// Starts the thread. Once `cancellation` is cancelled, a reader that stalls is not waited for.
    pub(super) fn start(
        cancellation: CancellationToken,
        terminal: Option<RunTerminal>,
        attempts: PrintedAttempts,
    ) -> io::Result<Self> {
        let (pieces, receiver) = mpsc::channel(MAX_WAITING_PIECES);
        let (is_printed, printed) = oneshot::channel();
        let closed = Arc::<[AtomicBool; 2]>::default();
        let mut printer = Printer::new(Arc::clone(&closed));
        let of_thread = attempts.clone();
        skills_threads::spawn("program-output", move || {
            printer.print_all(receiver, &of_thread);
            // The receiver is dropped after an interrupt.
            let _ = is_printed.send(printer.end());
        })?;
        Ok(Self {
            pieces,
            closed,
            printed,
            cancellation,
            terminal,
            attempts,
        })
    }

    /// Ends the output of an attempt, and the keys that its program gets. Waits until it is
    /// printed.
    pub(super) async fn end_attempt(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.stop_keys();
        }
        let mut printed = self.attempts.0.subscribe();
        let before = *printed.borrow_and_update();
        let sent = unless_stalled(&self.cancellation, self.pieces.send(Piece::EndOfAttempt));
        if matches!(sent.await, Some(Ok(()))) {
            // The thread counts once, or it failed, which the end of the output reports.
            let _ = unless_stalled(
                &self.cancellation,
                printed.wait_for(|count| *count > before),
            )
            .await;
        }
    }

    /// Prints a piece. Returns false if the stream is closed, or its reader stalls after an interrupt.
    pub(super) async fn print(&self, stream: OutputStream, bytes: Bytes) -> bool {
        let is_closed = self.closed[stream as usize].load(Ordering::Relaxed);
        let sent = unless_stalled(
            &self.cancellation,
            self.pieces.send(Piece::Output(stream, bytes)),
        );
        !is_closed && matches!(sent.await, Some(Ok(())))
    }

    /// Waits until everything is printed, and ends the output with a line if messages of this command
    /// follow on the same stream.
    ///
    /// The program has ended, and the terminal has the modes and colors of the user again. Keys
    /// that are typed from now on do not get to the program.
    ///
    /// A program can print that line too. Only what follows the last one is from this command, so
    /// it is also printed if there are no messages.
    ///
    /// # Errors
    /// Fails if a part could not be printed, except since its reader went away.
    pub(super) async fn finish(self) -> io::Result<()> {
        drop(self.terminal);
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
    terminals: [bool; 2],
    filter: TerminalFilter,
    closed: Arc<[AtomicBool; 2]>,
    /// Whether both streams have one reader.
    is_shared: bool,
    /// The last byte before a message of this command.
    last: Option<u8>,
    error: Option<io::Error>,
}

impl Printer {
    fn new(closed: Arc<[AtomicBool; 2]>) -> Self {
        Self {
            terminals: [io::stdout().is_terminal(), io::stderr().is_terminal()],
            filter: TerminalFilter::default(),
            closed,
            is_shared: has_one_stream(),
            last: None,
            error: None,
        }
    }

    fn print_all(&mut self, mut pieces: mpsc::Receiver<Piece>, attempts: &PrintedAttempts) {
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Output(stream, bytes) => self.print(stream, &bytes),
                Piece::EndOfAttempt => {
                    self.end_attempt();
                    attempts.0.send_modify(|count| *count += 1);
                }
            }
        }
    }

    fn print(&mut self, stream: OutputStream, bytes: &[u8]) {
        if !self.terminals[stream as usize] {
            return self.write(stream, bytes);
        }
        let allowed = self.filter.filter(stream, bytes);
        self.write(stream, &allowed);
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

    fn end(mut self) -> io::Result<()> {
        self.end_attempt();
        self.error.map_or(Ok(()), Err)
    }

    /// Ends what was printed since the last end with a line.
    fn end_attempt(&mut self) {
        leave_program_modes();
        let end = self.filter.end();
        let [is_stdout_terminal, is_stderr_terminal] = self.terminals;
        if is_stdout_terminal {
            self.write(OutputStream::Stdout, &end);
        } else if is_stderr_terminal {
            self.write(OutputStream::Stderr, &end);
        }
        if let Some(last) = self.last.take() {
            // The filter ended the line of a terminal.
            let is_ended = is_stderr_terminal || last == b'\n';
            let start = if is_ended { "" } else { "\n" };
            let _ = io::stderr().write_all(format!("{start}{END_OF_OUTPUT}\n").as_bytes());
        }
    }
}
