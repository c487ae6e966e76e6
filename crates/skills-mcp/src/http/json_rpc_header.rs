//! The routing information of a JSON-RPC message.

use rmcp::model::RequestId;
use serde::Deserialize;

use super::rejection::Rejection;

/// The parts of a message that are needed before it is parsed completely.
///
/// Parsing skips everything else without storing it, so that deep nesting needs no memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct JsonRpcHeader {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    id: Option<RequestId>,
    /// The protocol version in the metadata, if the message is an `initialize` request.
    #[serde(skip)]
    meta_version: Option<String>,
}

/// The kind of a message, as far as limits depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Starts a session.
    Initialize,
    /// Opens a stream without a fixed end.
    Subscribe,
    /// Calls a tool, which may take minutes.
    Call,
    /// Expects one response, soon.
    Request,
    /// Is a response or expects none.
    Notification,
}

impl JsonRpcHeader {
    /// Parses a message.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Rejection> {
        let mut header: Self = serde_json::from_slice(body).map_err(|error| {
            // Valid JSON that is not a message has another error code than invalid JSON.
            if error.is_data() {
                Rejection::InvalidMessage
            } else {
                Rejection::InvalidJson
            }
        })?;
        if header.kind() == MessageKind::Initialize {
            header.meta_version = parse_meta_version(body);
        }
        Ok(header)
    }

    pub(super) fn kind(&self) -> MessageKind {
        match self.request_id().and(self.method.as_deref()) {
            None => MessageKind::Notification,
            Some("initialize") => MessageKind::Initialize,
            Some("subscriptions/listen") => MessageKind::Subscribe,
            Some("tools/call") => MessageKind::Call,
            Some(_) => MessageKind::Request,
        }
    }

    /// Returns the id if the message is a request. The id of a response belongs to the server.
    pub(super) fn request_id(&self) -> Option<&RequestId> {
        self.method.as_ref().and(self.id.as_ref())
    }

    pub(super) fn initialize_id(&self) -> Option<&RequestId> {
        let is_initialize = self.kind() == MessageKind::Initialize;
        self.id.as_ref().filter(|_| is_initialize)
    }

    /// Returns the protocol version in the metadata of an `initialize` request.
    pub(super) fn meta_version(&self) -> Option<&str> {
        self.meta_version.as_deref()
    }
}

/// Returns the protocol version in the metadata of an `initialize` request. Invalid parameters are
/// ignored, since the protocol handler rejects the request.
fn parse_meta_version(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        params: Params,
    }
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
        protocol_version: String,
    }
    let message: Message = serde_json::from_slice(body).ok()?;
    Some(message.params.meta.protocol_version)
}

/// Rejects a body with more than `limit` values. Checked before parsing, which would allocate them.
pub(super) fn check_values(body: &[u8], limit: usize) -> Result<(), Rejection> {
    if count_values(body) > limit {
        return Err(Rejection::TooManyValues { limit });
    }
    Ok(())
}

/// Estimates the number of values in JSON text.
///
/// Parsed values are stored individually, for a short time twice. A body of many `[]` would need a
/// hundred times its size.
fn count_values(text: &[u8]) -> usize {
    // One pass without recursion, since nesting can be as deep as the body is long.
    let (mut values, mut quoted, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'[' | b'{' | b',' if !quoted => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8]) -> Result<JsonRpcHeader, Rejection> {
        JsonRpcHeader::parse(body)
    }

    #[test]
    fn json_values_are_counted() {
        for (text, number) in [
            ("1", 1),
            ("[]", 2),
            (r#"{"a":[1,2],"b":3}"#, 5),
            (r#""[[,\"{{,""#, 1),
            (r#"["\\",1]"#, 3),
        ] {
            assert_eq!(count_values(text.as_bytes()), number, "{text}");
        }
        assert_eq!(
            check_values(br#"{"id":[1,2]}"#, 3),
            Err(Rejection::TooManyValues { limit: 3 })
        );
        assert_eq!(check_values(br#"{"id":[1,2]}"#, 4), Ok(()));
    }

    #[test]
    fn messages_are_classified() {
        let purpose = |method: &str| {
            read(format!(r#"{{"method":"{method}","id":1}}"#).as_bytes())
                .unwrap()
                .kind()
        };
        assert_eq!(purpose("initialize"), MessageKind::Initialize);
        assert_eq!(purpose("subscriptions/listen"), MessageKind::Subscribe);
        assert_eq!(purpose("tools/call"), MessageKind::Call);
        assert_eq!(purpose("tools/list"), MessageKind::Request);
        let kind_of = |text: &str| read(text.as_bytes()).unwrap().kind();
        assert_eq!(
            kind_of(r#"{"id":1,"result":{}}"#),
            MessageKind::Notification
        );
        assert_eq!(
            kind_of(r#"{"method":"subscriptions/listen"}"#),
            MessageKind::Notification,
            "without an id it is no request"
        );
        let id = |text: &str| read(text.as_bytes()).unwrap().request_id().cloned();
        assert_eq!(
            id(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            Some(RequestId::String("a".into()))
        );
        assert_eq!(
            id(r#"{"id":-7,"params":{"id":[1,{}]},"method":"ping"}"#),
            Some(RequestId::Number(-7))
        );
        assert_eq!(id(r#"{"id":7,"result":{}}"#), None, "an answer");
        assert_eq!(id(r#"{"method":"notifications/initialized"}"#), None);
    }

    #[test]
    fn invalid_messages_are_rejected() {
        for syntax in ["", "x", "{", r#"{"id":1"#, "{}{}", "{'id':1}"] {
            assert_eq!(
                read(syntax.as_bytes()),
                Err(Rejection::InvalidJson),
                "{syntax}"
            );
        }
        for message in [
            "1",
            "null",
            r#""x""#,
            r#"{"id":1.5,"method":"ping"}"#,
            r#"{"id":1,"id":2}"#,
            r#"{"method":7}"#,
        ] {
            assert_eq!(
                read(message.as_bytes()),
                Err(Rejection::InvalidMessage),
                "{message}"
            );
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = format!(
            r#"{{"method":"ping","id":1,"params":{}{}}}"#,
            "[".repeat(1_000_000),
            "]".repeat(1_000_000)
        );
        assert_eq!(
            read(deep.as_bytes()).unwrap().request_id(),
            Some(&RequestId::Number(1))
        );
    }
}
