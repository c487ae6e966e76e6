//! Writes to and reads from the streams of a process.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use skills_policy::ResourceLimits;
use skills_sandbox::{CapturedOutput, EventSender, EventsClosed, OutputStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Sender;

/// Bytes per read: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// The output captured so far; shared, so that partial output survives a deadline.
pub(super) type SharedOutput = Mutex<CapturedOutput>;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    Eof,
    LimitExceeded,
}

/// Where the bytes of an output stream go.
pub(super) struct OutputTarget<'a> {
    pub(super) stream: OutputStream,
    pub(super) captured: &'a SharedOutput,
    pub(super) events: Option<&'a EventSender>,
}

impl OutputTarget<'_> {
    async fn send(&self, bytes: &[u8]) -> Result<(), EventsClosed> {
        let Some(events) = self.events else {
            return Ok(());
        };
        events
            .output(self.stream, Bytes::copy_from_slice(bytes))
            .await
    }
}

/// Reads a pipe or terminal to its end; stops early if more bytes than the output limit arrive. If
/// the receiver of the events was dropped, it is closed, so that the next write of the program
/// fails.
pub(super) async fn capture(
    mut output: impl AsyncRead + Unpin,
    target: OutputTarget<'_>,
    limits: &ResourceLimits,
) -> io::Result<StreamEnd> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = output.read(&mut chunk).await?;
        if length == 0 {
            return Ok(StreamEnd::Eof);
        }
        // Kept first: it is complete even if the reader of the events is stopped.
        let total = {
            let mut captured = target
                .captured
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            captured.push(&chunk[..length], limits.captured_bytes);
            captured.total_bytes()
        };
        if target.send(&chunk[..length]).await.is_err() {
            return Ok(StreamEnd::Eof);
        }
        // Counted after it was kept, so that the output up to the limit is not lost.
        if total > limits.output_limit_bytes {
            return Ok(StreamEnd::LimitExceeded);
        }
    }
}

/// Passes an input stream on to the pipe until one of them ends, on a thread of its own: reading may
/// block for longer than the program runs, and the thread then stays until the input ends.
pub(super) fn forward_stdin(pipe: OwnedFd, mut input: Box<dyn Read + Send>) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&pipe, false)?;
    let mut pipe = File::from(pipe);
    // A program decides by itself how much input it reads; an error of the reader is known to its
    // owner.
    skills_threads::spawn("program-input", move || io::copy(&mut input, &mut pipe))?;
    Ok(())
}

/// Writes `input` and closes the pipe. A program that does not read its input is not an error.
pub(super) async fn write_stdin(pipe: OwnedFd, input: &[u8]) -> io::Result<()> {
    match Sender::from_owned_fd(pipe)?.write_all(input).await {
        // A program decides by itself how much input it reads.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
