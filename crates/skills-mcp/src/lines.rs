//! Messages over a stream, a line each.
//!
//! Every request is answered, whatever is in it, and a client that does not read what it asked for gets no more: what is kept for it is bounded.

mod message;
mod open;
mod reader;
mod writer;

use std::borrow::Cow;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use message::Read;
use open::Open;
use reader::{Line, Lines};
use writer::{Out, Writer};

/// The most requests of a client that are answered at a time.
const MAX_OPEN: usize = 128;
/// How long one more waits for a place; then it is refused, since behind it may stand an answer or a cancellation that others wait for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stream of one client.
pub(crate) struct Stream<R> {
    lines: Lines<R>,
    writer: Writer,
    open: Arc<Open>,
    /// What has to be said before more is read.
    reply: Option<Out>,
    /// A request that waits for a place, and until when.
    held: Option<(ClientJsonRpcMessage, Instant)>,
    /// Whether a request came: before, there is nothing that anything else could be about.
    has_begun: bool,
    gone: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> Stream<R> {
    /// `gone` is cancelled when the client has closed its end, or does not take what is written.
    pub(crate) fn new(input: R, output: impl AsyncWrite + Send + Unpin + 'static, gone: CancellationToken) -> Self {
        let open = Arc::new(Open::new(MAX_OPEN));
        let writer = Writer::start(output, Arc::clone(&open), gone.clone());
        Self { lines: Lines::new(input), writer, open, reply: None, held: None, has_begun: false, gone }
    }

    /// Looks at a line: a message for the server, or nothing and perhaps a reply.
    fn look(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let message = match message::read(line) {
            Read::Message(message) => *message,
            Read::Nothing => return None,
            Read::Wrong { id, error } => return self.refuse(error, id),
        };
        match &message {
            ClientJsonRpcMessage::Request(_) => {
                self.held = Some((message, Instant::now() + PATIENCE));
                return None;
            }
            ClientJsonRpcMessage::Notification(notification) => {
                message::cancelled(&notification.notification).into_iter().for_each(|id| self.open.end(id));
            }
            _ => {}
        }
        self.has_begun.then_some(message)
    }

    /// Begins a request.
    fn begin(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let ClientJsonRpcMessage::Request(request) = &message else { return Some(message) };
        if let Err(error) = self.open.begin(&request.id) {
            // An id that is in use is that of another request, which still gets its answer.
            let id = if self.open.has(&request.id) { None } else { Some(request.id.clone()) };
            return self.refuse(error, id);
        }
        self.has_begun = true;
        Some(message)
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) -> Option<ClientJsonRpcMessage> {
        self.reply = Some(Out::of(&ServerJsonRpcMessage::error(error, id)));
        None
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Stream<R> {
    type Error = Error;

    fn name() -> Cow<'static, str> {
        "stream".into()
    }

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<()>> + Send + 'static {
        let sending = self.writer.sender();
        async move {
            let gone = |_| Error::from(ErrorKind::BrokenPipe);
            sending.ok_or_else(|| Error::from(ErrorKind::NotConnected))?.send(Out::of(&message)).await.map_err(gone)
        }
    }

    /// May be dropped at any time: a line that came in part is read on, and a reply that was not sent is sent by the next call.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.reply.is_some() {
                let sender = self.writer.sender()?;
                let place = sender.reserve().await.ok()?;
                if let Some(reply) = self.reply.take() {
                    place.send(reply);
                }
            }
            if let Some((_, until)) = &self.held {
                // Without a place in time it is refused where it begins.
                let _ = tokio::time::timeout_at(*until, self.open.room()).await;
                let begun = self.held.take().and_then(|(message, _)| self.begin(message));
                match begun {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let message = match self.lines.next().await {
                Line::Whole(line) => self.look(&line),
                Line::TooLong => self.refuse(message::too_long(reader::MAX_LINE), None),
                Line::End => {
                    self.gone.cancel();
                    return None;
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        self.writer.finish().await;
        Ok(())
    }
}
