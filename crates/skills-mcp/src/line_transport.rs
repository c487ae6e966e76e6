//! Messages over a stream, a line each.
//!
//! Every request is answered, whatever is in it, and a client that does not read what it asked for
//! gets no more: what is kept for it is bounded.

mod decode;
mod in_flight;
mod in_flight_service;
mod line_reader;
mod line_writer;

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

use decode::Decoded;
use in_flight::InFlight;
use in_flight_service::InFlightService;
use line_reader::{Line, LineReader};
use line_writer::{OutgoingLine, Writer};

/// The most requests of a client that are answered at a time.
const MAX_IN_FLIGHT: usize = 128;
/// How long more of them wait for a place; then they are refused until there is one, since behind
/// them may stand an answer or a cancellation that others wait for.
const SLOT_TIMEOUT: Duration = Duration::from_secs(2);

/// A stream of one client.
pub(crate) struct LineTransport<R> {
    reader: LineReader<R>,
    writer: Writer,
    in_flight: Arc<InFlight>,
    versions: Cow<'static, [ProtocolVersion]>,
    /// What has to be said before more is read.
    reply: Option<OutgoingLine>,
    /// A request that waits for a place.
    pending_request: Option<ClientJsonRpcMessage>,
    /// Until when requests wait for a place, as long as there is none.
    slot_deadline: Option<Instant>,
    /// Whether a request settled how it goes on: before, there is nothing that anything else could
    /// be about.
    is_negotiated: bool,
    disconnected: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    /// Makes a stream, what serves it, and the task that writes to it, which ends when the stream
    /// has and all is written.
    ///
    /// `gone` is cancelled when the client has closed its end, or does not take what is written.
    pub(crate) fn start<S: Service<RoleServer>>(
        service: S,
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        gone: CancellationToken,
    ) -> (Self, InFlightService<S>, JoinHandle<()>) {
        let open = Arc::new(InFlight::new(MAX_IN_FLIGHT));
        let (writer, writing) = Writer::start(output, Arc::clone(&open), gone.clone());
        let (lines, versions) = (
            LineReader::new(input),
            service.supported_protocol_versions(),
        );
        let service = InFlightService::new(service, Arc::clone(&open));
        let stream = Self {
            reader: lines,
            writer,
            in_flight: open,
            versions,
            reply: None,
            pending_request: None,
            slot_deadline: None,
            is_negotiated: false,
            disconnected: gone,
        };
        (stream, service, writing)
    }

    /// Looks at a line: a message for the server, or nothing and perhaps a reply.
    fn decode(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let message = match decode::decode_line(line) {
            Decoded::Message(message) => *message,
            Decoded::Ignored => return None,
            Decoded::Invalid { id, error } => return self.reject(error, id),
        };
        match &message {
            ClientJsonRpcMessage::Request(_) => {
                self.pending_request = Some(message);
                None
            }
            _ if !self.is_negotiated => None,
            ClientJsonRpcMessage::Notification(notification) => {
                let cancelled = decode::cancelled_request_id(&notification.notification);
                cancelled
                    .is_none_or(|id| self.in_flight.cancel(id))
                    .then_some(message)
            }
            _ => Some(message),
        }
    }

    /// Begins the request that waits, as soon as there is a place. Without one in time it is
    /// refused.
    async fn begin_pending(&mut self) -> Option<ClientJsonRpcMessage> {
        let until = *self
            .slot_deadline
            .get_or_insert_with(|| Instant::now() + SLOT_TIMEOUT);
        if timeout_at(until, self.in_flight.slot()).await.is_ok() {
            self.slot_deadline = None;
        }
        self.pending_request
            .take()
            .and_then(|message| self.begin(message))
    }

    /// Begins a request.
    fn begin(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let ClientJsonRpcMessage::Request(request) = &message else {
            return Some(message);
        };
        if let Err(error) = self.in_flight.begin(&request.id) {
            return self.reject(error, Some(request.id.clone()));
        }
        self.is_negotiated |= decode::completes_negotiation(&request.request, &self.versions);
        Some(message)
    }

    fn reject(&mut self, error: ErrorData, id: Option<RequestId>) -> Option<ClientJsonRpcMessage> {
        // An id that somebody waits for an answer to is that of another request.
        let id = id.filter(|id| !self.in_flight.is_awaited(id));
        self.reply = Some(OutgoingLine::rejection(&ServerJsonRpcMessage::error(
            error, id,
        )));
        None
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
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
                .send(OutgoingLine::from_message(&message))
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
                let room = sender.reserve().await?;
                if let Some(reply) = self.reply.take() {
                    sender.send_with_permit(room, reply);
                }
            }
            if self.pending_request.is_some() {
                match self.begin_pending().await {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let message = match self.reader.next_line().await {
                Line::Complete(line) => self.decode(&line),
                Line::TooLong => self.reject(
                    decode::line_too_long_error(line_reader::MAX_LINE_BYTES),
                    None,
                ),
                Line::Eof => {
                    self.disconnected.cancel();
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
