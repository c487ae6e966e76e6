//! Requests of MCP over HTTP, in the stateless lifecycle: no handshake, no session.

use std::cell::Cell;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::error::InstallError;
use crate::web::{Client, check_status, failed};

/// The protocol version, the first one in which requests are independent.
const PROTOCOL_VERSION: &str = "2026-07-28";
/// The error code of an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

pub(super) struct JsonRpc {
    client: Client,
    url: Url,
    next_id: Cell<u64>,
}

#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    result: Option<Value>,
    error: Option<AnswerError>,
}

#[derive(Deserialize)]
struct AnswerError {
    code: i64,
    #[serde(default)]
    message: String,
}

impl JsonRpc {
    pub(super) fn new(client: Client, url: Url) -> Self {
        Self {
            client,
            url,
            next_id: Cell::new(1),
        }
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the size of all answers, in bytes.
    pub(super) fn received(&self) -> u64 {
        self.client.received()
    }

    /// Calls a method and returns its result. `name` is the value of the header `mcp-name`, which
    /// the protocol requires for some methods.
    pub(super) fn call(
        &self,
        method: &str,
        mut params: Value,
        name: Option<&str>,
        max_bytes: u64,
    ) -> Result<Value, InstallError> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
            "io.modelcontextprotocol/clientInfo": {
                "name": "skills", "version": env!("CARGO_PKG_VERSION"),
            },
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": {"io.modelcontextprotocol/skills": {}},
            },
        });
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", PROTOCOL_VERSION),
            ("mcp-method", method),
        ];
        headers.extend(name.map(|name| ("mcp-name", name)));
        let body = request.to_string();
        let response = self.client.post(&self.url, &headers, body.as_bytes())?;
        let response = if response.is_denied() {
            check_status(response)?
        } else {
            response
        };
        let media_type = response.header("content-type").unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        let answer = match media_type {
            "text/event-stream" => {
                let response = check_status(response)?;
                let mut events = EventReader::new(id);
                self.client.read_parts(response, max_bytes, &mut |part| {
                    events.read(part);
                    Ok(events.found.is_none())
                })?;
                events.found
            }
            // An error has another status, and its cause in the body.
            "application/json" => {
                let bytes = self.client.read(response, max_bytes)?;
                serde_json::from_slice(&bytes).ok()
            }
            _ => {
                check_status(response)?;
                None
            }
        };
        self.result(method, id, answer)
    }

    fn result(&self, method: &str, id: u64, answer: Option<Answer>) -> Result<Value, InstallError> {
        let answer = answer.ok_or_else(|| failed(&self.url, "it does not answer in JSON-RPC"))?;
        match (answer.result, answer.error) {
            (Some(result), None) if answer.id == Some(id) => Ok(result),
            (_, Some(error)) if error.code == METHOD_NOT_FOUND => {
                Err(InstallError::fetch_with_help(
                    self.url.as_str(),
                    format!("the server has no `{method}`"),
                    "the server must support MCP 2026-07-28 with the Skills extension",
                ))
            }
            (_, Some(error)) => Err(failed(
                &self.url,
                format!(
                    "`{method}` fails: {} ({})",
                    self.client.redact(&error.message),
                    error.code
                ),
            )),
            _ => Err(failed(&self.url, "it does not answer in JSON-RPC")),
        }
    }
}

/// Finds the answer with an id among the events of a stream. Each byte is searched once.
struct EventReader {
    id: u64,
    /// The start of an event.
    buffer: Vec<u8>,
    found: Option<Answer>,
}

impl EventReader {
    fn new(id: u64) -> Self {
        Self {
            id,
            buffer: Vec::new(),
            found: None,
        }
    }

    fn read(&mut self, part: &[u8]) {
        let searched = self.buffer.len().saturating_sub(1);
        // JSON has no carriage return outside of an escape.
        self.buffer.extend(part.iter().filter(|b| **b != b'\r'));
        let mut start = 0;
        let mut at = searched;
        while let Some(end) = self.buffer[at..].windows(2).position(|two| two == b"\n\n") {
            let end = at + end;
            let answer = parse_event(&self.buffer[start..end]);
            self.found = answer.filter(|answer| answer.id == Some(self.id));
            if self.found.is_some() {
                return;
            }
            start = end + 2;
            at = start;
        }
        self.buffer.drain(..start);
    }
}

/// Reads bytes as a stream of events, in two parts.
pub(super) fn parse_events(bytes: &[u8]) {
    let mut reader = EventReader::new(1);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    reader.read(first);
    if reader.found.is_none() {
        reader.read(second);
    }
}

fn parse_event(event: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(event).ok()?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let data: Vec<&str> = lines
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    serde_json::from_str(&data.join("\n")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_among_other_events_however_it_is_divided() {
        let id = |stream: &str, size: usize| {
            let mut reader = EventReader::new(2);
            for part in stream.as_bytes().chunks(size) {
                if reader.found.is_none() {
                    reader.read(part);
                }
            }
            reader.found.and_then(|answer| answer.id)
        };
        let other = r#"data: {"jsonrpc":"2.0","method":"notifications/progress"}"#;
        let answer = "event: message\ndata: {\"id\":2,\ndata: \"result\":{}}";
        let stream = format!("{other}\n\n: comment\n\n{answer}\n\n");
        for size in 1..=stream.len() {
            assert_eq!(id(&stream, size), Some(2), "{size}");
            assert_eq!(id(&stream.replace('\n', "\r\n"), size), Some(2), "{size}");
        }
        assert_eq!(id(&format!("{other}\n\n{answer}"), 7), None);
        assert_eq!(id("data: {\"id\":1,\"result\":{}}\n\n", 7), None);
        assert_eq!(id("", 7), None);
    }
}
