//! One HTTP request to a server and its response.

use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::body_framing::BodyFraming;
use crate::buffered::{BufferedStream, CHUNK_BYTES, ParseResult};
use crate::close_reason::{CloseReason, ExceededLimit, RejectReason, malformed};
use crate::http_head::{Fields, MAX_FIELDS, head_length};
use crate::proxy_log::Direction;
use crate::request::{ForwardedRequest, ResponseBody, ResponseSender};
use crate::tunnel::TrafficMeter;
use crate::upstream_tunnel::PROXY_AUTHENTICATION_REQUIRED;

/// Forwards a request and relays the response. Bytes that the client sends after the request are
/// not forwarded.
///
/// If the server sends nothing that can be relayed, the client gets `no_answer`.
pub(crate) async fn exchange(
    client: &mut BufferedStream<TcpStream>,
    server: &mut TcpStream,
    onward: ForwardedRequest,
    no_answer: &[u8],
    traffic: &TrafficMeter<'_>,
) -> Result<(), CloseReason> {
    let ForwardedRequest {
        head,
        body,
        response_body: answer,
        sender,
    } = onward;
    let BufferedStream { stream, buffer, .. } = client;
    let (from_client, mut to_client) = stream.split();
    let (from_server, mut to_server) = server.split();
    let mut upload = pin!(async {
        // A server may respond and close before it has read everything; its response counts.
        match traffic
            .write(Direction::Outbound, &mut to_server, &head)
            .await
        {
            Err(CloseReason::Disconnected) => Ok(()),
            Err(stop) => Err(stop),
            Ok(()) => send_body(body, buffer, from_client, &mut to_server, traffic).await,
        }
    });
    let mut download = pin!(async {
        let mut server = BufferedStream::new(from_server, traffic.limits.max_head_bytes);
        let head = receive_head(&mut server, &mut to_client, answer, sender, traffic).await?;
        match head {
            ReceivedHead::Relayed(body) => {
                receive_body(body, server, &mut to_client, traffic).await
            }
            ReceivedHead::Unusable(reason) => {
                to_client.write_all(no_answer).await?;
                Err(reason.into())
            }
        }
    });
    let mut is_sent = false;
    loop {
        tokio::select! {
            // The response ends the exchange, even if the request was not sent completely.
            result = &mut download => return result,
            result = &mut upload, if !is_sent => {
                result?;
                is_sent = true;
            }
            stop = traffic.wait_idle() => return Err(stop),
        }
    }
}

async fn send_body(
    mut body: BodyFraming,
    first: &[u8],
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &TrafficMeter<'_>,
) -> Result<(), CloseReason> {
    let mut chunk = first.to_vec();
    let mut length = chunk.len();
    loop {
        let own = body.consume(&chunk[..length])?;
        match traffic.write(Direction::Outbound, to, &chunk[..own]).await {
            // The server may have responded without reading the whole body.
            Err(CloseReason::Disconnected) => return Ok(()),
            result => result?,
        }
        if body.is_done() {
            return Ok(());
        }
        chunk.resize(CHUNK_BYTES, 0);
        length = from.read(&mut chunk).await?;
        if length == 0 {
            return Err(CloseReason::Disconnected);
        }
    }
}

/// Where a response ends: framed like a request body, or when the server closes.
type ResponseFraming = Option<BodyFraming>;

/// What became of the head of a response.
enum ReceivedHead {
    Relayed(ResponseFraming),
    /// There is no response that can be relayed.
    Unusable(RejectReason),
}

/// Relays the heads of a response.
async fn receive_head(
    server: &mut BufferedStream<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    answer: ResponseBody,
    sender: ResponseSender,
    traffic: &TrafficMeter<'_>,
) -> Result<ReceivedHead, CloseReason> {
    let unreachable = ReceivedHead::Unusable(RejectReason::Unreachable);
    loop {
        let head = match server.parse_head(ResponseHead::parse).await {
            Ok(head) => head,
            Err(
                CloseReason::Disconnected
                | CloseReason::Rejected(_)
                | CloseReason::LimitExceeded(ExceededLimit::HeadBytes),
            ) => return Ok(unreachable),
            Err(stop) => return Err(stop),
        };
        // No protocol switch was requested.
        if head.status == 101 {
            return Ok(unreachable);
        }
        // The user has the credentials, and the program must not be asked for them.
        if sender == ResponseSender::Proxy && head.status == PROXY_AUTHENTICATION_REQUIRED {
            return Ok(ReceivedHead::Unusable(RejectReason::ProxyAuthentication));
        }
        // Written from the parsed head, so that the client sees the same message as the proxy.
        let mut bytes = format!("{}\r\n", head.status_line).into_bytes();
        head.fields.write_to(&[], &mut bytes);
        let is_final = head.status >= 200;
        bytes.extend_from_slice(if is_final {
            // A connection carries one request, since the next one could name another host.
            b"Connection: close\r\n\r\n"
        } else {
            b"\r\n"
        });
        traffic.write(Direction::Inbound, to, &bytes).await?;
        if is_final {
            // These responses have no body, whatever length they declare (RFC 9110).
            let is_empty = answer == ResponseBody::Omitted || matches!(head.status, 204 | 304);
            // Servers may send an unclear length; such a response ends when the server closes.
            return Ok(ReceivedHead::Relayed(if is_empty {
                Some(BodyFraming::EMPTY)
            } else {
                BodyFraming::from_fields(&head.fields).unwrap_or(None)
            }));
        }
    }
}

pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    status_line: String,
    fields: Fields,
}

impl ResponseHead {
    /// Parses a head and returns its length too; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> ParseResult<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(bytes);
        let Some(length) = head_length(bytes, parsed)? else {
            return Ok(None);
        };
        let (Some(minor_version), Some(status @ 100..), Some(reason)) =
            (response.version, response.code, response.reason)
        else {
            return Err(malformed("invalid status line"));
        };
        let head = Self {
            status,
            status_line: format!("HTTP/1.{minor_version} {status} {reason}"),
            fields: Fields::new(response.headers),
        };
        Ok(Some((head, length)))
    }
}

async fn receive_body(
    mut body: ResponseFraming,
    server: BufferedStream<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &TrafficMeter<'_>,
) -> Result<(), CloseReason> {
    let BufferedStream {
        mut stream,
        buffer: mut chunk,
        ..
    } = server;
    let mut length = chunk.len();
    loop {
        let own = match body.as_mut().map(|body| body.consume(&chunk[..length])) {
            Some(Ok(own)) => own,
            // Chunks with extensions or a trailer: the client parses them itself until the server
            // closes.
            Some(Err(_)) | None => {
                body = None;
                length
            }
        };
        traffic.write(Direction::Inbound, to, &chunk[..own]).await?;
        if body.is_some_and(BodyFraming::is_done) {
            return Ok(());
        }
        chunk.resize(CHUNK_BYTES, 0);
        length = stream.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
    }
}
