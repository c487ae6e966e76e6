//! Transport of messages over a stream, one per line.
//!
//! Every request is answered, whatever it contains: rmcp's transport drops lines that are too long
//! or not JSON, and answers invalid requests without their ids. Memory for a client that does not
//! read its responses is limited.

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
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcNotification, JsonRpcRequest,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, Service};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use decode::InvalidLine;
use in_flight::InFlight;
use in_flight_service::InFlightService;
use line_reader::{Line, LineReader, MAX_LINE_BYTES};
use line_writer::{LineWriter, Origin};

use crate::server_info;

/// Maximum number of concurrent requests of a client.
const MAX_IN_FLIGHT: usize = 128;
/// How long a request waits for a permit before it is rejected. Later messages, such as responses
/// and cancellations, are not read in the meantime, but may be necessary to free a permit.
const SLOT_TIMEOUT: Duration = Duration::from_secs(2);

/// The transport of one client.
pub(crate) struct LineTransport<R> {
    reader: LineReader<R>,
    /// `None` after the transport was closed.
    writer: Option<LineWriter>,
    in_flight: Arc<InFlight>,
    versions: Cow<'static, [ProtocolVersion]>,
    /// A rejection to send before the next message is read.
    rejection: Option<Box<ServerJsonRpcMessage>>,
    /// A request that waits for a permit.
    pending_request: Option<JsonRpcRequest<ClientRequest>>,
    /// The time until which requests wait for a permit, while there is none.
    permit_deadline: Option<Instant>,
    /// Whether negotiation is complete; before, only requests are accepted.
    is_negotiated: bool,
    disconnected: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    /// Creates a transport, the service for it, and the task that writes to the stream, which ends
    /// after the transport was closed and everything was written.
    ///
    /// `stop` cancels the running requests; `disconnected` is cancelled when the client has closed
    /// its end or does not read.
    pub(crate) fn start<S: Service<RoleServer>>(
        service: S,
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        stop: CancellationToken,
        disconnected: CancellationToken,
    ) -> (Self, InFlightService<S>, JoinHandle<()>) {
        let in_flight = Arc::new(InFlight::new(MAX_IN_FLIGHT, stop));
        let (writer, writing) =
            LineWriter::start(output, Arc::clone(&in_flight), disconnected.clone());
        let transport = Self {
            reader: LineReader::new(input),
            writer: Some(writer),
            in_flight: Arc::clone(&in_flight),
            versions: service.supported_protocol_versions(),
            rejection: None,
            pending_request: None,
            permit_deadline: None,
            is_negotiated: false,
            disconnected,
        };
        (transport, InFlightService::new(service, in_flight), writing)
    }

    /// Decodes a message: returns it for the server, or `None`, possibly with a rejection to send.
    fn decode(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let message = match decode::decode_line(line) {
            Ok(message) => message?,
            Err(invalid) => return self.reject(invalid),
        };
        match message {
            // rmcp would negotiate another version.
            ClientJsonRpcMessage::Request(request)
                if decode::is_stateless_initialize(&request.request) =>
            {
                let error = server_info::method_not_found("initialize").into();
                self.reject(InvalidLine {
                    id: Some(request.id),
                    error,
                })
            }
            // Requests wait for a permit; everything else is passed on at once, since it may free
            // one.
            ClientJsonRpcMessage::Request(request) => {
                self.pending_request = Some(request);
                None
            }
            // rmcp closes the connection on these before negotiation; dropping them is more
            // tolerant.
            _ if !self.is_negotiated => None,
            ClientJsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => {
                let id = cancelled.params.request_id?;
                self.in_flight.cancel(&id);
                None
            }
            message => Some(message),
        }
    }

    /// Starts the waiting request when a permit is free, or rejects it after the timeout.
    async fn begin_pending(&mut self) -> Option<ClientJsonRpcMessage> {
        // One deadline for all requests while all permits are in use, so that a burst does not wait
        // two seconds for each of them.
        let deadline = *self
            .permit_deadline
            .get_or_insert_with(|| Instant::now() + SLOT_TIMEOUT);
        let permit = timeout_at(deadline, self.in_flight.permit()).await;
        let permit = permit.ok().flatten();
        if permit.is_some() {
            self.permit_deadline = None;
        }
        let request = self.pending_request.take()?;
        if let Err(error) = self.in_flight.begin(&request.id, permit) {
            let (id, error) = (Some(request.id), error.into());
            return self.reject(InvalidLine { id, error });
        }
        self.is_negotiated |= decode::completes_negotiation(&request.request, &self.versions);
        Some(ClientJsonRpcMessage::Request(request))
    }

    fn reject(&mut self, invalid: InvalidLine) -> Option<ClientJsonRpcMessage> {
        // A response to an id that is in flight would be attributed to another request.
        let id = invalid.id.filter(|id| !self.in_flight.is_awaited(id));
        let message = ServerJsonRpcMessage::error(*invalid.error, id);
        self.rejection = Some(message.into());
        None
    }

    /// Sends the rejection, if there is one. Cancel safe: it is taken once it has its place.
    async fn send_rejection(&mut self) -> Result<()> {
        if self.rejection.is_none() {
            return Ok(());
        }
        let writer = self.writer.as_ref().ok_or(ErrorKind::NotConnected)?;
        let place = writer.reserve().await?;
        match self.rejection.take() {
            Some(message) => writer.send(&message, place),
            None => Ok(()),
        }
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
        let writer = self.writer.clone();
        let in_flight = Arc::clone(&self.in_flight);
        async move {
            let writer = writer.ok_or(ErrorKind::NotConnected)?;
            match response_id(&message) {
                Some(id) if in_flight.answer(id) => {
                    writer.send(&message, Origin::Response(id.clone()))
                }
                Some(_) => Ok(()),
                None => writer.send(&message, writer.reserve().await?),
            }
        }
    }

    /// Cancel safe: a partial line, a request without a permit and a rejection are kept for the
    /// next call.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_rejection().await.ok()?;
            let message = if self.pending_request.is_some() {
                self.begin_pending().await
            } else {
                match self.reader.next_line().await {
                    Line::Complete(line) => self.decode(&line),
                    Line::TooLong => self.reject(InvalidLine::too_long(MAX_LINE_BYTES)),
                    Line::Eof => {
                        self.disconnected.cancel();
                        return None;
                    }
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        // The writer task ends when everything is written.
        self.writer = None;
        Ok(())
    }
}

/// Returns the id of the request that a message responds to.
fn response_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}
