//! Writing of messages to a client.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlight;

/// Queue capacity for messages that are not responses to requests in flight. Senders wait when it
/// is full.
const MAX_QUEUED: usize = 32;
/// How long a client may take to read one message before it is considered disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_mins(5);

/// A line to write.
pub(super) struct OutgoingLine {
    line: Vec<u8>,
    /// The request that it responds to.
    response_to: Option<RequestId>,
    /// Its queue slot, if it is not a response.
    permit: Option<OwnedSemaphorePermit>,
}

/// Writes messages one after the other until all senders are dropped.
pub(super) struct Writer(Option<LineSender>);

/// Enqueues messages.
#[derive(Clone)]
pub(super) struct LineSender {
    lines: UnboundedSender<OutgoingLine>,
    slots: Arc<Semaphore>,
}

/// The queue of messages to write.
struct WriteQueue {
    lines: UnboundedReceiver<OutgoingLine>,
    slots: Arc<Semaphore>,
}

impl OutgoingLine {
    /// A message of the server, which may be a response.
    pub(super) fn from_message(message: &ServerJsonRpcMessage) -> Self {
        let response_to = match message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        Self {
            response_to,
            ..Self::rejection(message)
        }
    }

    /// The rejection of a request that was not started.
    pub(super) fn rejection(message: &ServerJsonRpcMessage) -> Self {
        // Messages of rmcp always serialize.
        let mut line = serde_json::to_vec(message).unwrap_or_default();
        line.push(b'\n');
        Self {
            line,
            response_to: None,
            permit: None,
        }
    }
}

impl Writer {
    /// Starts the writer task, which ends when everything is written. `disconnected` is cancelled when the
    /// client does not read.
    pub(super) fn start(
        output: impl AsyncWrite + Send + Unpin + 'static,
        in_flight: Arc<InFlight>,
        disconnected: CancellationToken,
    ) -> (Self, JoinHandle<()>) {
        // Unbounded, since responses must never wait; their number is limited by the requests in
        // flight.
        let (sender, lines) = unbounded_channel();
        let slots = Arc::new(Semaphore::new(MAX_QUEUED));
        let queue = WriteQueue {
            lines,
            slots: Arc::clone(&slots),
        };
        (
            Self(Some(LineSender {
                lines: sender,
                slots,
            })),
            tokio::spawn(write_lines(output, queue, in_flight, disconnected)),
        )
    }

    pub(super) fn sender(&self) -> Option<LineSender> {
        self.0.clone()
    }

    /// Closes the queue; queued messages are still written.
    pub(super) fn finish(&mut self) {
        self.0 = None;
    }
}

impl LineSender {
    /// Sends a response immediately, and other messages when the queue has a slot. Returns `false`
    /// if the writer has ended.
    pub(super) async fn send(&self, mut out: OutgoingLine) -> bool {
        // Only messages that no request asked for can accumulate.
        if out.response_to.is_none() {
            let Some(permit) = self.reserve().await else {
                return false;
            };
            out.permit = Some(permit);
        }
        self.lines.send(out).is_ok()
    }

    /// Reserves a queue slot for a message that is not a response. Returns `None` if the writer has
    /// ended.
    pub(super) async fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    pub(super) fn send_with_permit(&self, permit: OwnedSemaphorePermit, out: OutgoingLine) {
        // If the writer has ended, there is no one to notify.
        let _ = self.lines.send(OutgoingLine {
            permit: Some(permit),
            ..out
        });
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        self.slots.close();
    }
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut queue: WriteQueue,
    in_flight: Arc<InFlight>,
    disconnected: CancellationToken,
) {
    while let Some(OutgoingLine {
        line,
        response_to,
        permit: _permit,
    }) = queue.lines.recv().await
    {
        // The client may reuse an id once it has read the response.
        response_to.iter().for_each(|id| in_flight.end(id));
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        // A client that does not read would otherwise hold its requests forever.
        if let Err(error) = timeout(WRITE_TIMEOUT, written)
            .await
            .map_err(Into::into)
            .flatten()
        {
            tracing::debug!(%error, "cannot write to the client");
            disconnected.cancel();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{EmptyResult, ServerResult};
    use tokio::io::AsyncReadExt;

    use super::*;

    fn answer(id: i64) -> OutgoingLine {
        OutgoingLine::from_message(&ServerJsonRpcMessage::response(
            ServerResult::EmptyResult(EmptyResult {}),
            RequestId::Number(id),
        ))
    }

    #[tokio::test]
    async fn queued_messages_are_written_after_the_senders_are_dropped() {
        let (mut client, output) = tokio::io::duplex(8);
        let in_flight = Arc::new(InFlight::new(2));
        in_flight.begin(&RequestId::Number(1)).unwrap();
        let (writer, writing) =
            Writer::start(output, Arc::clone(&in_flight), CancellationToken::new());
        let sender = writer.sender().unwrap();
        for id in [1, 2] {
            assert!(sender.send(answer(id)).await);
        }
        drop((writer, sender));
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        writing.await.unwrap();
        assert!(!in_flight.contains(&RequestId::Number(1)));
    }

    #[tokio::test]
    async fn an_id_can_be_reused_after_its_response_was_read() {
        let (mut client, output) = tokio::io::duplex(8);
        let in_flight = Arc::new(InFlight::new(2));
        in_flight.begin(&RequestId::Number(1)).unwrap();
        let (writer, _writing) =
            Writer::start(output, Arc::clone(&in_flight), CancellationToken::new());
        assert!(writer.sender().unwrap().send(answer(1)).await);
        client.read_u8().await.unwrap();
        assert!(in_flight.begin(&RequestId::Number(1)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn responses_are_sent_immediately_and_others_wait_for_a_slot() {
        let (_client, output) = tokio::io::duplex(8);
        let (writer, writing) =
            Writer::start(output, Arc::new(InFlight::new(1)), CancellationToken::new());
        let sender = writer.sender().unwrap();
        let message = || {
            OutgoingLine::rejection(&ServerJsonRpcMessage::error(
                rmcp::ErrorData::internal_error("no", None),
                None,
            ))
        };
        for _ in 0..MAX_QUEUED {
            assert!(sender.send(message()).await);
        }
        for id in 0..1_000 {
            assert!(sender.send(answer(id)).await);
        }
        let waiting = tokio::spawn(async move { sender.send(message()).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        writing.abort();
        assert!(!waiting.await.unwrap(), "nothing is written any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (_client, output) = tokio::io::duplex(8);
        let disconnected = CancellationToken::new();
        let (writer, writing) =
            Writer::start(output, Arc::new(InFlight::new(1)), disconnected.clone());
        assert!(writer.sender().unwrap().send(answer(1)).await);
        writing.await.unwrap();
        assert!(disconnected.is_cancelled());
        assert!(!writer.sender().unwrap().send(answer(2)).await);
    }
}
