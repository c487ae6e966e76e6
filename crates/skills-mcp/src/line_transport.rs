//! Transport of messages over a stream, one per line.
//!
//! Every request is answered, whatever it contains. Memory for a client that does not read its
//! responses is limited.

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

/// Maximum number of concurrent requests of a client.
const MAX_IN_FLIGHT: usize = 128;
/// How long a request waits for a slot before it is rejected. Later messages, such as responses and
/// cancellations, are not read in the meantime, but may be necessary to free a slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(2);

/// The transport of one client.
pub(crate) struct LineTransport<R> {
    reader: LineReader<R>,
    writer: Writer,
    in_flight: Arc<InFlight>,
    versions: Cow<'static, [ProtocolVersion]>,
    /// A line to send before the next message is read.
    reply: Option<OutgoingLine>,
    /// A request that waits for a slot.
    pending_request: Option<ClientJsonRpcMessage>,
    /// The time until which requests wait for a slot, while there is none.
    slot_deadline: Option<Instant>,
    /// Whether negotiation is complete; before, only requests are accepted.
    is_negotiated: bool,
    disconnected: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    /// Creates a transport, the service for it, and the task that writes to the stream, which ends
    /// after the transport was closed and everything was written.
    ///
    /// `disconnected` is cancelled when the client has closed its end or does not read.
    pub(crate) fn start<S: Service<RoleServer>>(
        service: S,
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        disconnected: CancellationToken,
    ) -> (Self, InFlightService<S>, JoinHandle<()>) {
        let in_flight = Arc::new(InFlight::new(MAX_IN_FLIGHT));
        let (writer, writing) = Writer::start(output, Arc::clone(&in_flight), disconnected.clone());
        let (reader, versions) = (
            LineReader::new(input),
            service.supported_protocol_versions(),
        );
        let service = InFlightService::new(service, Arc::clone(&in_flight));
        let transport = Self {
            reader,
            writer,
            in_flight,
            versions,
            reply: None,
            pending_request: None,
            slot_deadline: None,
            is_negotiated: false,
            disconnected,
        };
        (transport, service, writing)
    }

    /// Decodes a line: returns a message for the server, or `None`, possibly with a reply to send.
    fn decode(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let message = match decode::decode_line(line) {
            Decoded::Message(message) => *message,
            Decoded::Ignored => return None,
            Decoded::Invalid { id, error } => return self.reject(error, id),
        };
        match &message {
            // Requests wait for a slot; everything else is passed on at once, since it may free
            // one.
            ClientJsonRpcMessage::Request(_) => {
                self.pending_request = Some(message);
                None
            }
            // rmcp closes the connection on these before negotiation; dropping them is more
            // tolerant.
            _ if !self.is_negotiated => None,
            ClientJsonRpcMessage::Notification(notification) => {
                let cancelled = decode::cancelled_request_id(&notification.notification);
                cancelled
                    // A cancellation that comes too late is dropped, since rmcp would suppress the
                    // response.
                    .is_none_or(|id| self.in_flight.cancel(id))
                    .then_some(message)
            }
            _ => Some(message),
        }
    }

    /// Starts the waiting request when a slot is free, or rejects it after the timeout.
    async fn begin_pending(&mut self) -> Option<ClientJsonRpcMessage> {
        // One deadline for all requests while there is no slot, so that a burst does not wait two
        // seconds for each of them.
        let deadline = *self
            .slot_deadline
            .get_or_insert_with(|| Instant::now() + SLOT_TIMEOUT);
        if timeout_at(deadline, self.in_flight.slot()).await.is_ok() {
            self.slot_deadline = None;
        }
        self.pending_request
            .take()
            .and_then(|message| self.begin(message))
    }

    /// Starts a request.
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
        // A response to an id that is in flight would be attributed to another request.
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
        let sender = self.writer.sender();
        async move {
            let sender = sender.ok_or_else(|| Error::from(ErrorKind::NotConnected))?;
            sender
                .send(OutgoingLine::from_message(&message))
                .await
                .then_some(())
                .ok_or_else(|| Error::from(ErrorKind::BrokenPipe))
        }
    }

    /// Cancel safe: a partial line and an unsent reply are kept for the next call.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.reply.is_some() {
                let sender = self.writer.sender()?;
                // The reply is taken only after the permit, so that a cancelled call does not lose
                // it.
                let permit = sender.reserve().await?;
                if let Some(reply) = self.reply.take() {
                    sender.send_with_permit(permit, reply);
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
                // The id is somewhere in the skipped line, so the error has none.
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
