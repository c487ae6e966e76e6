//! What is written to a client.

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

/// How many messages wait to be written that answer no open request; of these there are not many.
/// Whoever has more to say waits itself.
const MAX_QUEUED: usize = 32;
/// How long a client may take for one message; then it has gone.
const WRITE_TIMEOUT: Duration = Duration::from_mins(5);

/// A line that is to be written.
pub(super) struct OutgoingLine {
    line: Vec<u8>,
    /// The request that it answers.
    response_to: Option<RequestId>,
    /// The room that it takes when it answers none.
    permit: Option<OwnedSemaphorePermit>,
}

/// Writes one message after the other, each whole, until nobody has more to say.
pub(super) struct Writer(Option<LineSender>);

/// Says what is to be written.
#[derive(Clone)]
pub(super) struct LineSender {
    lines: UnboundedSender<OutgoingLine>,
    slots: Arc<Semaphore>,
}

/// What waits to be written.
struct WriteQueue {
    lines: UnboundedReceiver<OutgoingLine>,
    slots: Arc<Semaphore>,
}

impl OutgoingLine {
    /// A message of the server, which may answer a request.
    pub(super) fn from_message(message: &ServerJsonRpcMessage) -> Self {
        let answers = match message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        Self {
            response_to: answers,
            ..Self::rejection(message)
        }
    }

    /// What is said of a request that was never begun.
    pub(super) fn rejection(message: &ServerJsonRpcMessage) -> Self {
        // What the protocol's library has made is always JSON.
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
    /// Starts to write, in a task that ends when all is written. `gone` is cancelled when the
    /// client takes nothing any more.
    pub(super) fn start(
        output: impl AsyncWrite + Send + Unpin + 'static,
        open: Arc<InFlight>,
        gone: CancellationToken,
    ) -> (Self, JoinHandle<()>) {
        let (sender, lines) = unbounded_channel();
        let room = Arc::new(Semaphore::new(MAX_QUEUED));
        let waiting = WriteQueue {
            lines,
            slots: Arc::clone(&room),
        };
        (
            Self(Some(LineSender {
                lines: sender,
                slots: room,
            })),
            tokio::spawn(write_lines(output, waiting, open, gone)),
        )
    }

    pub(super) fn sender(&self) -> Option<LineSender> {
        self.0.clone()
    }

    /// Takes nothing more; what waits is written.
    pub(super) fn finish(&mut self) {
        self.0 = None;
    }
}

impl LineSender {
    /// Sends an answer at once, and anything else as soon as there is room. `false` when nothing is
    /// written any more.
    pub(super) async fn send(&self, mut out: OutgoingLine) -> bool {
        if out.response_to.is_none() {
            let Some(room) = self.reserve().await else {
                return false;
            };
            out.permit = Some(room);
        }
        self.lines.send(out).is_ok()
    }

    /// Waits until there is room for what answers no open request; for nothing when nothing is
    /// written any more.
    pub(super) async fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    pub(super) fn send_with_permit(&self, room: OwnedSemaphorePermit, out: OutgoingLine) {
        // Nobody is left to tell when it cannot be written.
        let _ = self.lines.send(OutgoingLine {
            permit: Some(room),
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
    mut waiting: WriteQueue,
    open: Arc<InFlight>,
    gone: CancellationToken,
) {
    while let Some(OutgoingLine {
        line,
        response_to: answers,
        permit: _room,
    }) = waiting.lines.recv().await
    {
        // Whoever has read an answer may use its id again.
        answers.iter().for_each(|id| open.end(id));
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = timeout(WRITE_TIMEOUT, written)
            .await
            .map_err(Into::into)
            .flatten()
        {
            tracing::debug!(%error, "the client takes nothing any more");
            gone.cancel();
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
    async fn what_was_said_is_written_though_nobody_says_more() {
        let (mut client, output) = tokio::io::duplex(8);
        let open = Arc::new(InFlight::new(2));
        open.begin(&RequestId::Number(1)).unwrap();
        let (writer, writing) = Writer::start(output, Arc::clone(&open), CancellationToken::new());
        let sender = writer.sender().unwrap();
        for id in [1, 2] {
            assert!(sender.send(answer(id)).await);
        }
        drop((writer, sender));
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        writing.await.unwrap();
        assert!(!open.contains(&RequestId::Number(1)));
    }

    #[tokio::test]
    async fn whoever_has_read_an_answer_may_use_its_id_again() {
        let (mut client, output) = tokio::io::duplex(8);
        let open = Arc::new(InFlight::new(2));
        open.begin(&RequestId::Number(1)).unwrap();
        let (writer, _writing) = Writer::start(output, Arc::clone(&open), CancellationToken::new());
        assert!(writer.sender().unwrap().send(answer(1)).await);
        client.read_u8().await.unwrap();
        assert!(open.begin(&RequestId::Number(1)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_wait_for_nobody_and_all_else_for_room() {
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
    async fn a_client_that_takes_nothing_has_gone() {
        let (_client, output) = tokio::io::duplex(8);
        let gone = CancellationToken::new();
        let (writer, writing) = Writer::start(output, Arc::new(InFlight::new(1)), gone.clone());
        assert!(writer.sender().unwrap().send(answer(1)).await);
        writing.await.unwrap();
        assert!(gone.is_cancelled());
        assert!(!writer.sender().unwrap().send(answer(2)).await);
    }
}
