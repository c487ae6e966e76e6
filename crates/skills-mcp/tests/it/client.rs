//! A client that writes messages itself, to test the wire format.

use std::time::Duration;

use serde_json::{Value, json};
use skills_mcp::Server;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Fails a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lifecycle of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Legacy,
    Stateless,
}

pub(crate) struct Client {
    lifecycle: Lifecycle,
    capabilities: Value,
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    next: u64,
    /// Messages other than responses.
    pub(crate) notifications: Vec<Value>,
    /// Responses to requests of the server.
    pub(crate) answer: Value,
    pub(crate) requests: Vec<Value>,
    /// The ids that were answered.
    pub(crate) answered: Vec<u64>,
    /// The result of `initialize` in the legacy lifecycle.
    pub(crate) initialized: Value,
}

impl Client {
    /// Connects a client with these capabilities, and initializes the connection.
    pub(crate) async fn connect(
        server: &Server,
        lifecycle: Lifecycle,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::open(server, lifecycle, capabilities);
        if lifecycle == Lifecycle::Legacy {
            client.initialize("2025-11-25").await;
        }
        client
    }

    /// Connects a legacy client with this protocol version, and initializes the connection.
    pub(crate) async fn connect_with_version(server: &Server, version: &str) -> Self {
        Self::connect_legacy(server, version, json!({})).await
    }

    /// Connects a legacy client with this protocol version and these capabilities.
    pub(crate) async fn connect_legacy(
        server: &Server,
        version: &str,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::open(server, Lifecycle::Legacy, capabilities);
        client.initialize(version).await;
        client
    }

    /// Connects a legacy client with this name, and initializes the connection.
    pub(crate) async fn connect_as(server: &Server, name: &str) -> Self {
        let mut client = Self::open(server, Lifecycle::Legacy, json!({}));
        client.initialize_as(name, "2025-11-25").await;
        client
    }

    /// Connects a legacy client that answers each request of the server in the same way.
    pub(crate) async fn connect_answering(
        server: &Server,
        capabilities: Value,
        answer: Value,
    ) -> Self {
        let mut client = Self::open(server, Lifecycle::Legacy, capabilities);
        client.answer = answer;
        client.initialize("2025-11-25").await;
        client
    }

    async fn initialize(&mut self, version: &str) {
        self.initialize_as("test", version).await;
    }

    async fn initialize_as(&mut self, name: &str, version: &str) {
        let capabilities = self.capabilities.clone();
        let greeting = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": name, "version": "1"}});
        self.initialized = self.ok("initialize", greeting).await;
        self.notify("notifications/initialized", json!({})).await;
    }

    fn open(server: &Server, lifecycle: Lifecycle, capabilities: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        tokio::spawn(async move {
            server
                .serve(reader, writer, std::future::pending())
                .await
                .unwrap()
        });
        let (reader, writer) = tokio::io::split(ours);
        let reader = BufReader::new(reader);
        let (notifications, requests, answered) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            lifecycle,
            capabilities,
            reader,
            writer: Some(writer),
            next: 0,
            notifications,
            answer: json!(null),
            requests,
            answered,
            initialized: json!(null),
        }
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.lifecycle == Lifecycle::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        }
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
            .await;
        self.next
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request and returns the response. Stores other messages, and responds to requests of
    /// the server.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer_to(id).await
    }

    /// Sends a request that must succeed, and returns the result.
    pub(crate) async fn ok(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ok("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    pub(crate) async fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().await;
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
        }
    }

    /// Waits for a notification.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        loop {
            if let Some(index) = self
                .notifications
                .iter()
                .position(|notification| notification["method"] == method)
            {
                return self.notifications.remove(index);
            }
            self.message().await;
        }
    }

    /// Reads one message.
    pub(crate) async fn message(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.reader.read_line(&mut line)).await;
        assert_ne!(
            read.unwrap().unwrap(),
            0,
            "the server closed the connection"
        );
        let message: Value = serde_json::from_str(&line).unwrap();
        match (message.get("method").is_some(), message.get("id").cloned()) {
            (true, Some(id)) => {
                self.requests.push(message.clone());
                if !self.answer.is_null() {
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": self.answer});
                    self.write(&answer).await;
                }
            }
            (true, None) => self.notifications.push(message.clone()),
            (false, id) => self.answered.extend(id.and_then(|id| id.as_u64())),
        }
        message
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        self.raw(&format!("{message}\n")).await;
    }

    pub(crate) async fn raw(&mut self, text: &str) {
        self.writer
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .await
            .unwrap();
    }
}
