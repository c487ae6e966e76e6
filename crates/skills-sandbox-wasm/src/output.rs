//! An output stream that keeps its beginning and its end.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use skills_policy::ResourceLimits;
use skills_sandbox::{CapturedOutput, EventSender, OutputStream as OutputStreamKind};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use crate::stop_reason::{StopFlag, StopReason};

/// The maximum number of bytes per write.
const MAX_WRITE_BYTES: usize = 64 * 1024;

/// Keeps the first and the last bytes, counts the rest, and stops the program when the output limit
/// is exceeded.
#[derive(Clone)]
pub(crate) struct OutputSink {
    captured: Arc<Mutex<CapturedOutput>>,
    events: Option<(OutputStreamKind, EventSender)>,
    keep_bytes: usize,
    output_limit_bytes: u64,
    stop: Arc<StopFlag>,
}

impl OutputSink {
    pub(crate) fn new(
        limits: &ResourceLimits,
        events: Option<(OutputStreamKind, EventSender)>,
        stop: Arc<StopFlag>,
    ) -> Self {
        Self {
            captured: Arc::default(),
            events,
            keep_bytes: limits.captured_bytes,
            output_limit_bytes: limits.output_limit_bytes,
            stop,
        }
    }

    pub(crate) fn take_output(&self) -> CapturedOutput {
        std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, bytes: &[u8]) -> Result<(), StopReason> {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        if captured.total_bytes() > self.output_limit_bytes {
            // The program is being stopped.
            return Err(StopReason::OutputLimit);
        }
        // Not awaited: WebAssembly cannot wait here.
        let sent = self
            .events
            .as_ref()
            .map(|(stream, events)| events.output_now(*stream, Bytes::copy_from_slice(bytes)));
        captured.push(bytes, self.keep_bytes);
        // A reader that went away is not the fault of the program.
        let is_kept = !matches!(sent, Some(Ok(false)));
        if is_kept && captured.total_bytes() <= self.output_limit_bytes {
            return Ok(());
        }
        // A WASI 0.3 program could continue after the error.
        self.stop.set(StopReason::OutputLimit);
        Err(StopReason::OutputLimit)
    }
}

#[async_trait]
impl Pollable for OutputSink {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for OutputSink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes)
            .map_err(|flooded| StreamError::Trap(flooded.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE_BYTES)
    }
}

impl AsyncWrite for OutputSink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(
            self.push(bytes)
                .map(|()| bytes.len())
                .map_err(std::io::Error::other),
        )
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for OutputSink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for OutputSink {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}
