//! Writing of messages to a client.

use std::io::{Error, ErrorKind, Result};
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
struct Line {
    bytes: Vec<u8>,
    origin: Origin,
}

/// Why a message is sent.
pub(super) enum Origin {
    /// It is the response to a request in flight.
    Response(RequestId),
    /// Anything else, with its place in the queue.
    Other { _place: OwnedSemaphorePermit },
}

/// Writes messages one after the other, until all clones are dropped.
#[derive(Clone)]
pub(super) struct LineWriter {
    // Unbounded, since responses must never wait; their number is limited by the requests in
    // flight.
    lines: UnboundedSender<Line>,
    places: Arc<Semaphore>,
}

impl LineWriter {
    /// Starts the writer task, which ends when everything is written. `disconnected` is cancelled
    /// when the client does not read.
    pub(super) fn start(
        output: impl AsyncWrite + Send + Unpin + 'static,
        in_flight: Arc<InFlight>,
        disconnected: CancellationToken,
    ) -> (Self, JoinHandle<()>) {
        let (lines, queue) = unbounded_channel();
        let places = Arc::new(Semaphore::new(MAX_QUEUED));
        let writing = tokio::spawn(write_lines(output, queue, in_flight, disconnected));
        (Self { lines, places }, writing)
    }

    /// Waits for a place in the queue for a message that no request asked for, since only those can
    /// accumulate. Cancel safe.
    ///
    /// # Errors
    /// Fails if the writer has ended.
    pub(super) async fn reserve(&self) -> Result<Origin> {
        tokio::select! {
            // Its queue is dropped when it ends, which makes places free.
            biased;
            () = self.lines.closed() => Err(ErrorKind::BrokenPipe.into()),
            place = Arc::clone(&self.places).acquire_owned() => {
                place.map(|_place| Origin::Other { _place }).map_err(Error::other)
            }
        }
    }

    /// Enqueues a message.
    ///
    /// # Errors
    /// Fails if the writer has ended.
    pub(super) fn send(&self, message: &ServerJsonRpcMessage, origin: Origin) -> Result<()> {
        let mut bytes = escape_line_separators(serde_json::to_vec(message)?);
        bytes.push(b'\n');
        let sent = self.lines.send(Line { bytes, origin });
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

/// Escapes U+2028 and U+2029, at which some clients end a line. In JSON they occur only in strings.
fn escape_line_separators(json: Vec<u8>) -> Vec<u8> {
    const START: [u8; 2] = [0xE2, 0x80];
    let is_separator =
        |rest: &[u8]| rest.starts_with(&START) && matches!(rest.get(2), Some(0xA8 | 0xA9));
    if !json.windows(3).any(is_separator) {
        return json;
    }
    let mut escaped = Vec::with_capacity(json.len() + 64);
    let mut rest = json.as_slice();
    while let Some((first, after)) = rest.split_first() {
        if is_separator(rest) {
            let name: &[u8] = if rest[2] == 0xA8 {
                b"\\u2028"
            } else {
                b"\\u2029"
            };
            escaped.extend_from_slice(name);
            rest = &rest[3..];
        } else {
            escaped.push(*first);
            rest = after;
        }
    }
    escaped
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: UnboundedReceiver<Line>,
    in_flight: Arc<InFlight>,
    disconnected: CancellationToken,
) {
    while let Some(line) = lines.recv().await {
        if let Origin::Response(id) = &line.origin {
            // The client may reuse an id once it has read the response.
            in_flight.end(id);
        }
        let written = async {
            output.write_all(&line.bytes).await?;
            output.flush().await
        };
        // A client that does not read would otherwise hold its requests forever.
        let written = timeout(WRITE_TIMEOUT, written).await;
        if let Err(error) = written.map_err(Error::from).flatten() {
            tracing::debug!(%error, "cannot write to the client");
            disconnected.cancel();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{EmptyResult, ServerResult};
    use tokio::io::{AsyncReadExt, DuplexStream};

    use super::*;

    /// A writer to a client that reads little, with one request in flight.
    struct Fixture {
        client: DuplexStream,
        writer: LineWriter,
        writing: JoinHandle<()>,
        in_flight: Arc<InFlight>,
        disconnected: CancellationToken,
    }

    const ID: RequestId = RequestId::Number(1);

    impl Fixture {
        async fn new() -> Self {
            let (client, output) = tokio::io::duplex(8);
            let in_flight = Arc::new(InFlight::new(2, CancellationToken::new()));
            in_flight.begin(&ID, in_flight.permit().await).unwrap();
            let disconnected = CancellationToken::new();
            let (writer, writing) =
                LineWriter::start(output, Arc::clone(&in_flight), disconnected.clone());
            Self {
                client,
                writer,
                writing,
                in_flight,
                disconnected,
            }
        }

        fn answer(&self, id: i64) -> Result<()> {
            let id = RequestId::Number(id);
            let result = ServerResult::EmptyResult(EmptyResult {});
            let message = ServerJsonRpcMessage::response(result, id.clone());
            self.writer.send(&message, Origin::Response(id))
        }
    }

    #[test]
    fn no_line_ends_at_a_line_separator() {
        for text in [
            "a\u{2028}b\u{2029}",
            "\u{2028}",
            "\u{2027}\u{202a}\u{20a8}",
            "\\u2028",
            "",
        ] {
            let json = serde_json::to_vec(text).unwrap();
            let escaped = String::from_utf8(escape_line_separators(json)).unwrap();
            assert!(!escaped.contains(['\u{2028}', '\u{2029}']), "{escaped}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
    }

    #[tokio::test]
    async fn queued_messages_are_written_after_the_writer_is_dropped() {
        let mut fixture = Fixture::new().await;
        for id in [1, 2] {
            fixture.answer(id).unwrap();
        }
        drop(fixture.writer);
        let mut text = String::new();
        fixture.client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        fixture.writing.await.unwrap();
        assert!(!fixture.in_flight.contains(&ID));
    }

    #[tokio::test]
    async fn an_id_can_be_reused_after_its_response_was_read() {
        let mut fixture = Fixture::new().await;
        fixture.answer(1).unwrap();
        fixture.client.read_u8().await.unwrap();
        let permit = fixture.in_flight.permit().await;
        assert!(fixture.in_flight.begin(&ID, permit).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn responses_are_sent_immediately_and_others_wait_for_a_place() {
        let fixture = Fixture::new().await;
        let error = rmcp::ErrorData::internal_error("no", None);
        let message = ServerJsonRpcMessage::error(error, None);
        for _ in 0..MAX_QUEUED {
            let place = fixture.writer.reserve().await.unwrap();
            fixture.writer.send(&message, place).unwrap();
        }
        for id in 0..1_000 {
            fixture.answer(id).unwrap();
        }
        let writer = fixture.writer.clone();
        let waiting = tokio::spawn(async move { writer.reserve().await.is_ok() });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        fixture.writing.abort();
        assert!(!waiting.await.unwrap(), "nothing is written any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_disconnected() {
        let mut fixture = Fixture::new().await;
        fixture.answer(1).unwrap();
        (&mut fixture.writing).await.unwrap();
        assert!(fixture.disconnected.is_cancelled());
        assert!(fixture.answer(2).is_err());
    }
}
