//! What is written to a client.

use std::sync::Arc;

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::open::Open;

/// How many messages wait to be written. Whoever has more to say waits itself.
const MAX_WAITING: usize = 32;

/// A line that is to be written.
pub(super) struct Out {
    line: Vec<u8>,
    /// The request that it answers.
    answers: Option<RequestId>,
}

/// Writes one message after the other, each whole.
pub(super) struct Writer {
    sender: Option<Sender<Out>>,
    writing: JoinHandle<()>,
}

impl Out {
    pub(super) fn of(message: &ServerJsonRpcMessage) -> Self {
        let answers = match message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        // What the protocol's library has made is always JSON.
        let mut line = serde_json::to_vec(message).unwrap_or_default();
        line.push(b'\n');
        Self { line, answers }
    }
}

impl Writer {
    /// Starts to write. `gone` is cancelled when the client takes nothing any more.
    pub(super) fn start(output: impl AsyncWrite + Send + Unpin + 'static, open: Arc<Open>, gone: CancellationToken) -> Self {
        let (sender, waiting) = channel(MAX_WAITING);
        Self { sender: Some(sender), writing: tokio::spawn(write(output, waiting, open, gone)) }
    }

    pub(super) fn sender(&self) -> Option<Sender<Out>> {
        self.sender.clone()
    }

    /// Writes what waits, and ends.
    pub(super) async fn finish(&mut self) {
        self.sender = None;
        // One that failed has said so.
        let _ = (&mut self.writing).await;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut waiting: Receiver<Out>, open: Arc<Open>, gone: CancellationToken) {
    while let Some(Out { line, answers }) = waiting.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client takes nothing any more");
            gone.cancel();
            return;
        }
        answers.iter().for_each(|id| open.end(id));
    }
}
