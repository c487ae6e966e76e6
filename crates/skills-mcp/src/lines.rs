//! Messages over a stream, a line each.
//!
//! Every request is answered, whatever is in it, and a client that does not read what it asked for
//! gets no more: what is kept for it is bounded.

mod counting;
mod message;
mod open;
mod reader;
mod writer;

use std::borrow::Cow;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, Service};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use counting::Counting;
use message::Read;
use open::Open;
use reader::{Line, Lines};
use writer::{Out, Writer};

/// The most requests of a client that are answered at a time.
const MAX_OPEN: usize = 128;
/// How long more of them wait for a place; then they are refused until there is one, since behind
/// them may stand an answer or a cancellation that others wait for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stream of one client.
pub(crate) struct Stream<R> {
    lines: Lines<R>,
    writer: Writer,
    open: Arc<Open>,
    versions: Cow<'static, [ProtocolVersion]>,
    /// What has to be said before more is read.
    reply: Option<Out>,
    /// A request that waits for a place.
    held: Option<ClientJsonRpcMessage>,
    /// Until when requests wait for a place, as long as there is none.
    until: Option<Instant>,
    /// Whether a request settled how it goes on: before, there is nothing that anything else could
    /// be about.
    is_settled: bool,
    gone: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> Stream<R> {
    /// Makes a stream, what serves it, and the task that writes to it, which ends when the stream
    /// has and all is written.
    ///
    /// `gone` is cancelled when the client has closed its end, or does not take what is written.
    pub(crate) fn open<S: Service<RoleServer>>(
        service: S,
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        gone: CancellationToken,
    ) -> (Self, Counting<S>, JoinHandle<()>) {
        let open = Arc::new(Open::new(MAX_OPEN));
        let (writer, writing) = Writer::start(output, Arc::clone(&open), gone.clone());
        let (lines, versions) = (Lines::new(input), service.supported_protocol_versions());
        let service = Counting::new(service, Arc::clone(&open));
        let stream = Self {
            lines,
            writer,
            open,
            versions,
            reply: None,
            held: None,
            until: None,
            is_settled: false,
            gone,
        };
        (stream, service, writing)
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
                self.held = Some(message);
                None
            }
            _ if !self.is_settled => None,
            ClientJsonRpcMessage::Notification(notification) => {
                let cancelled = message::cancelled(&notification.notification);
                cancelled
                    .is_none_or(|id| self.open.give_up(id))
                    .then_some(message)
            }
            _ => Some(message),
        }
    }

    /// Begins the request that waits, as soon as there is a place. Without one in time it is
    /// refused.
    async fn begin_held(&mut self) -> Option<ClientJsonRpcMessage> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + PATIENCE);
        if timeout_at(until, self.open.room()).await.is_ok() {
            self.until = None;
        }
        self.held.take().and_then(|message| self.begin(message))
    }

    /// Begins a request.
    fn begin(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let ClientJsonRpcMessage::Request(request) = &message else {
            return Some(message);
        };
        if let Err(error) = self.open.begin(&request.id) {
            return self.refuse(error, Some(request.id.clone()));
        }
        self.is_settled |= message::settles(&request.request, &self.versions);
        Some(message)
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) -> Option<ClientJsonRpcMessage> {
        // An id that somebody waits for an answer to is that of another request.
        let id = id.filter(|id| !self.open.is_awaited(id));
        self.reply = Some(Out::refusal(&ServerJsonRpcMessage::error(error, id)));
        None
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Stream<R> {
    type Error = Error;

    fn name() -> Cow<'static, str> {
        "stream".into()
    }

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        let sending = self.writer.sender();
        async move {
            let sending = sending.ok_or_else(|| Error::from(ErrorKind::NotConnected))?;
            sending
                .send(Out::of(&message))
                .await
                .then_some(())
                .ok_or_else(|| Error::from(ErrorKind::BrokenPipe))
        }
    }

    /// May be dropped at any time: a line that came in part is read on, and a reply that was not
    /// sent is sent by the next call.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.reply.is_some() {
                let sender = self.writer.sender()?;
                let room = sender.room().await?;
                if let Some(reply) = self.reply.take() {
                    sender.send_into(room, reply);
                }
            }
            if self.held.is_some() {
                match self.begin_held().await {
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
        self.writer.finish();
        Ok(())
    }
}
