//! One request to a server of HTTP and its answer.

use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::body::Body;
use super::buffered::{Buffered, CHUNK_BYTES, Parsed};
use super::head::{Head, may_end};
use super::request::{Answer, Onward};
use super::stop::{Limit, Reason, Stop, malformed};
use super::summary::Way;
use super::tunnel::Traffic;

/// Sends a request and passes the answer back. Nothing that the client sends behind the request
/// goes anywhere.
///
/// When the server says nothing that can be passed on, the client gets `no_answer`.
pub(super) async fn exchange(
    client: &mut Buffered<TcpStream>,
    server: &mut TcpStream,
    onward: Onward,
    no_answer: &[u8],
    most_head_bytes: usize,
    traffic: &Traffic<'_>,
) -> Result<(), Stop> {
    let Onward { head, body, answer } = onward;
    let Buffered { stream, buffer } = client;
    let (from_client, mut to_client) = stream.split();
    let (from_server, mut to_server) = server.split();
    let mut upload = pin!(async {
        // A server may answer and close before it has read everything; then its answer counts.
        match traffic.write(Way::Out, &mut to_server, &head).await {
            Err(Stop::Gone) => Ok(()),
            Err(stop) => Err(stop),
            Ok(()) => send(body, buffer, from_client, &mut to_server, traffic).await,
        }
    });
    let mut download = pin!(async {
        let mut server = Buffered::new(from_server);
        let Some(body) = receive_head(
            &mut server,
            &mut to_client,
            answer,
            most_head_bytes,
            traffic,
        )
        .await?
        else {
            to_client.write_all(no_answer).await?;
            return Err(Reason::NotReached.into());
        };
        receive_body(body, server, &mut to_client, traffic).await
    });
    let mut is_sent = false;
    loop {
        tokio::select! {
            result = &mut download => return result,
            result = &mut upload, if !is_sent => {
                result?;
                is_sent = true;
            }
            stop = traffic.idle() => return Err(stop),
        }
    }
}

async fn send(
    mut body: Body,
    first: &[u8],
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &Traffic<'_>,
) -> Result<(), Stop> {
    let mut chunk = first.to_vec();
    let mut length = chunk.len();
    loop {
        let own = body.take(&chunk[..length])?;
        match traffic.write(Way::Out, to, &chunk[..own]).await {
            Err(Stop::Gone) => return Ok(()),
            result => result?,
        }
        if body.is_done() {
            return Ok(());
        }
        chunk.resize(CHUNK_BYTES, 0);
        length = from.read(&mut chunk).await?;
        if length == 0 {
            return Err(Stop::Gone);
        }
    }
}

/// Where an answer ends: as a request's body does, or when the server closes.
type AnswerBody = Option<Body>;

/// Passes back the heads of an answer. Returns where it ends; nothing when there is no answer that
/// can be passed back.
async fn receive_head(
    server: &mut Buffered<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    answer: Answer,
    most_bytes: usize,
    traffic: &Traffic<'_>,
) -> Result<Option<AnswerBody>, Stop> {
    loop {
        let (head, status) = match server.parse_when(most_bytes, may_end, response).await {
            Ok(response) => response,
            Err(Stop::Gone | Stop::Refused(_) | Stop::Limit(Limit::HeadBytes)) => return Ok(None),
            Err(stop) => return Err(stop),
        };
        // Nothing was asked that would switch protocols.
        if status == 101 {
            return Ok(None);
        }
        let mut bytes = format!("{}\r\n", head.first_line).into_bytes();
        head.write_fields(&[], &mut bytes);
        let is_final = status >= 200;
        bytes.extend_from_slice(if is_final {
            b"Connection: close\r\n\r\n"
        } else {
            b"\r\n"
        });
        traffic.write(Way::In, to, &bytes).await?;
        if is_final {
            let is_empty = answer == Answer::HeadOnly || matches!(status, 204 | 304);
            // A server may be sloppy about lengths: then its answer ends when it says so by
            // closing.
            return Ok(Some(if is_empty {
                Some(Body::NONE)
            } else {
                Body::of(&head).unwrap_or(None)
            }));
        }
    }
}

/// Reads the head of an answer and its status.
fn response(bytes: &[u8]) -> Parsed<(Head, u16)> {
    let Some((head, length)) = Head::parse(bytes)? else {
        return Ok(None);
    };
    let version = head
        .first_line
        .get(..9)
        .filter(|version| matches!(*version, "HTTP/1.1 " | "HTTP/1.0 "));
    let status = version
        .and_then(|version| head.first_line.get(version.len()..version.len() + 3))
        .and_then(|digits| digits.parse().ok());
    let status = status
        .filter(|status: &u16| *status >= 100)
        .ok_or(malformed("the first line of an answer"))?;
    Ok(Some(((head, status), length)))
}

async fn receive_body(
    mut body: AnswerBody,
    server: Buffered<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &Traffic<'_>,
) -> Result<(), Stop> {
    let Buffered {
        mut stream,
        buffer: mut chunk,
    } = server;
    let mut length = chunk.len();
    loop {
        let own = match body.as_mut().map(|body| body.take(&chunk[..length])) {
            Some(Ok(own)) => own,
            // Chunks with extensions or a trailer: the client reads them itself, up to where the
            // server closes.
            Some(Err(_)) | None => {
                body = None;
                length
            }
        };
        traffic.write(Way::In, to, &chunk[..own]).await?;
        if body.is_some_and(Body::is_done) {
            return Ok(());
        }
        chunk.resize(CHUNK_BYTES, 0);
        length = stream.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
    }
}
