//! A client that can send invalid requests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Fails a test that hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A request to send.
#[derive(Clone)]
pub(super) struct Call {
    line: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Call {
    pub(super) fn new(method: &str, path: &str) -> Self {
        let line = format!("{method} {path} HTTP/1.1");
        Self {
            line,
            headers: vec![],
            body: None,
        }
        .with("host", "localhost")
        .with("connection", "close")
    }

    pub(super) fn get() -> Self {
        Self::new("GET", "/mcp").with("accept", "text/event-stream")
    }

    pub(super) fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut call = Self::new("POST", "/mcp").with("content-type", "application/json");
        call.body = Some(body.into());
        call.with("accept", "application/json, text/event-stream")
    }

    /// Calls a tool in the stateless lifecycle.
    pub(super) fn tool(name: &str) -> Self {
        Self::modern("tools/call", json!({ "name": name, "arguments": {} })).with("mcp-name", name)
    }

    /// Subscribes to changes of the tools in the stateless lifecycle.
    pub(super) fn subscribe() -> Self {
        Self::modern(
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true } }),
        )
    }

    fn modern(method: &str, mut params: Value) -> Self {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": 1,
        });
        Self::post(
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string(),
        )
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", method)
    }

    /// Starts a session in the legacy lifecycle.
    pub(super) fn initialize() -> Self {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        Self::post(
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
                .to_string(),
        )
    }

    /// Calls a tool in the legacy lifecycle.
    pub(super) fn old_tool(name: &str, id: u32) -> Self {
        let params = json!({ "name": name, "arguments": {} });
        Self::post(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
                .to_string(),
        )
        .with("mcp-protocol-version", "2025-11-25")
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.also(name, value)
    }

    pub(super) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(super) fn line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    /// Serializes the request, with the length of its body unless it is chunked.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        let body = self.body.clone().unwrap_or_default();
        let chunked = self
            .headers
            .iter()
            .any(|(name, _)| name == "transfer-encoding");
        if chunked {
            let chunks = body.chunks(64 << 10).flat_map(|chunk| {
                [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat()
            });
            return [
                format!("{text}\r\n").into_bytes(),
                chunks.collect(),
                b"0\r\n\r\n".to_vec(),
            ]
            .concat();
        }
        if self.body.is_some() {
            text += &format!("content-length: {}\r\n", body.len());
        }
        [format!("{text}\r\n").into_bytes(), body].concat()
    }

    /// Sends the request and waits for the complete response.
    pub(super) async fn send(&self, address: SocketAddr) -> Reply {
        Open::send(address, &self.bytes()).await.rest().await
    }
}

/// A connection on which bytes were sent.
pub(super) struct Open(TcpStream);

impl Open {
    pub(super) async fn send(address: SocketAddr, bytes: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // A server that rejects a request may close the connection early; its response counts.
        _ = stream.write_all(bytes).await;
        Self(stream)
    }

    /// Waits until the text and the end of its line were received.
    pub(super) async fn until(&mut self, text: &str) -> String {
        let mut seen = vec![];
        let is_complete = |seen: &[u8]| {
            let seen = String::from_utf8_lossy(seen);
            seen.find(text)
                .is_some_and(|start| seen[start..].contains('\n'))
        };
        while !is_complete(&seen) {
            let read = timeout(PATIENCE, self.0.read_buf(&mut seen))
                .await
                .expect("in time")
                .unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
        }
        String::from_utf8(seen).unwrap()
    }

    /// Waits until the server closes the connection, and returns everything that was received.
    pub(super) async fn rest(mut self) -> Reply {
        let mut seen = vec![];
        while let Ok(1..) = timeout(PATIENCE, self.0.read_buf(&mut seen))
            .await
            .expect("in time")
        {}
        Reply(String::from_utf8(seen).unwrap())
    }
}

/// Everything that a server sent on a connection.
#[derive(Debug)]
pub(super) struct Reply(pub(super) String);

impl Reply {
    #[track_caller]
    pub(super) fn status(&self) -> u16 {
        let status = self
            .0
            .strip_prefix("HTTP/1.1 ")
            .and_then(|text| text.get(..3))
            .and_then(|text| text.parse().ok());
        status.unwrap_or_else(|| panic!("no answer: {:?}", self.0))
    }

    /// Returns the status of a response to HTTP/1.0, which has that version.
    pub(super) fn status_of_any_version(&self) -> u16 {
        self.0
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        head.lines()
            .find_map(|line| line.split_once(": ").filter(|(other, _)| *other == name))
            .map(|(_, value)| value)
    }

    /// Returns the only message in the body, as JSON or as the last event of a stream.
    #[track_caller]
    pub(super) fn message(&self) -> Value {
        let mut lines = self
            .0
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        let last = lines
            .rfind(|line| line.starts_with('{'))
            .unwrap_or_else(|| panic!("no message: {:?}", self.0));
        serde_json::from_str(last).unwrap()
    }

    /// Returns the text of a tool result.
    #[track_caller]
    pub(super) fn text(&self) -> String {
        let message = self.message();
        message["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text: {message}"))
            .to_owned()
    }

    #[track_caller]
    pub(super) fn code(&self) -> i64 {
        self.message()["error"]["code"].as_i64().unwrap()
    }
}
