//! Decoding of lines.

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion, RequestId,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// A line that is answered with an error, with the id if it is a request with a readable one.
#[derive(Debug)]
pub(super) struct InvalidLine {
    pub(super) id: Option<RequestId>,
    pub(super) error: Box<ErrorData>,
}

impl InvalidLine {
    pub(super) fn too_long(max_bytes: usize) -> Self {
        // The id is somewhere in the skipped line.
        Self::new(None, format!("message exceeds {max_bytes} bytes"))
    }

    fn new(id: Option<RequestId>, message: impl Into<Cow<'static, str>>) -> Self {
        let error = ErrorData::invalid_request(message, None).into();
        Self { id, error }
    }
}

/// A message for the server, or `None` if nothing expects a response.
type Decoded = Result<Option<ClientJsonRpcMessage>, InvalidLine>;

/// The readable part of a message that is invalid otherwise. The rest is skipped, so that its
/// nesting needs no memory.
#[derive(Deserialize)]
struct MessageHead {
    #[serde(default, deserialize_with = "deserialize_present")]
    id: Option<Option<RequestId>>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, deserialize_with = "deserialize_present")]
    result: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "deserialize_present")]
    error: Option<IgnoredAny>,
}

impl MessageHead {
    /// Decides how an invalid message is answered: requests get an error, responses fail the
    /// request of the server, and notifications are ignored.
    fn into_decoded(self) -> Decoded {
        let is_response = self.result.is_some() || self.error.is_some();
        match (self.method, self.id) {
            (Some(_), Some(id)) => Err(InvalidLine::new(
                id,
                "invalid request: nested too deeply, invalid Unicode, or invalid fields",
            )),
            (Some(_), None) => Ok(None),
            // A request of the server is waiting for this response.
            (None, Some(Some(id))) if is_response => {
                let error = ErrorData::invalid_request("invalid response", None);
                Ok(Some(ClientJsonRpcMessage::error(error, Some(id))))
            }
            (None, _) if is_response => Ok(None),
            // The id may belong to another request.
            (None, _) => Err(InvalidLine::new(None, "invalid JSON-RPC message")),
        }
    }
}

/// Distinguishes `null` from a missing field.
fn deserialize_present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Decodes a line without its terminator.
pub(super) fn decode_line(line: &[u8]) -> Decoded {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if line.starts_with(b"[") {
        let message = "batches are not supported; send one message per line";
        return Err(InvalidLine::new(None, message));
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    // A second attempt with less: the id is needed to answer the request.
    if let Ok(head) = serde_json::from_slice::<MessageHead>(line) {
        return head.into_decoded();
    }
    let mut invalid = InvalidLine::new(None, "invalid JSON-RPC message");
    if !error.is_data() {
        invalid.error.code = ErrorCode::PARSE_ERROR;
    }
    Err(invalid)
}

/// Returns true if rmcp completes negotiation with this request. Before, it accepts requests only,
/// and closes the connection on anything else.
pub(super) fn completes_negotiation(request: &ClientRequest, versions: &[ProtocolVersion]) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            // As rmcp checks it: a request of the stateless lifecycle negotiates by its metadata.
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| versions.contains(&version))
        }
    }
}

/// Returns true for an `initialize` request whose metadata names a protocol version without this
/// method.
pub(super) fn is_stateless_initialize(request: &ClientRequest) -> bool {
    let version = request.get_meta().protocol_version();
    request.method() == "initialize" && version.is_some_and(|version| !version.has_initialize())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// A JSON value with few levels.
    fn any_json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            // Never an integer, which rmcp reads as an id.
            any::<i32>().prop_map(|number| Value::from(f64::from(number) + 0.5)),
            "[ -~é\u{0}]{0,8}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(
                    (
                        "(_meta|name|cursor|protocolVersion|requestId|[a-z]{0,4})",
                        inner
                    ),
                    0..4
                )
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    fn any_id() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            "[ -~]{0,6}".prop_map(Value::from)
        ]
    }

    /// Members of a message, some of them invalid or missing.
    fn any_message() -> impl Strategy<Value = Value> {
        let method = prop_oneof![
            "(initialize|ping|tools/call|tools/list|notifications/cancelled|[a-z/]{0,8})"
                .prop_map(Value::from),
            any_json()
        ];
        let version = prop_oneof![4 => Just(json!("2.0")), 1 => any_json()];
        let part = |strategy: BoxedStrategy<Value>| proptest::option::of(strategy);
        let id = prop_oneof![3 => any_id(), 1 => any_json()];
        (
            part(version.boxed()),
            part(id.boxed()),
            part(method.boxed()),
            part(any_json().boxed()),
            part(any_json().boxed()),
        )
            .prop_map(|(version, id, method, params, result)| {
                let parts = [
                    ("jsonrpc", version),
                    ("id", id),
                    ("method", method),
                    ("params", params),
                    ("result", result),
                ];
                parts
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                    .collect()
            })
    }

    /// The id of a request or response that was decoded, or of a rejected one.
    fn id_of(read: &Decoded) -> Option<Value> {
        let id = match read {
            Ok(Some(ClientJsonRpcMessage::Request(request))) => Some(request.id.clone()),
            Ok(Some(ClientJsonRpcMessage::Response(response))) => Some(response.id.clone()),
            Ok(Some(ClientJsonRpcMessage::Error(error))) => error.id.clone(),
            Ok(_) => None,
            Err(invalid) => invalid.id.clone(),
        };
        id.map(|id| serde_json::to_value(id).unwrap())
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_line(&line);
        }

        /// A request with a readable id is decoded or rejected with this id, whatever else it
        /// contains, and surrounding white space does not matter.
        #[test]
        fn requests_are_decoded_or_rejected_with_their_ids(message in any_message(), id in any_id(), method in "[a-z/]{1,12}", indent in "[ \t\r]{0,3}") {
            let mut message = message;
            message["id"] = id.clone();
            message["method"] = Value::from(method);
            let line = format!("{indent}{message}{indent}");
            let read = decode_line(line.as_bytes());
            prop_assert!(!matches!(read, Ok(None)), "{}", line);
            prop_assert_eq!(id_of(&read), Some(id), "{}", line);
        }

        /// No id is invented: responses and messages have the id of the line.
        #[test]
        fn decoded_ids_match_the_line(message in any_message()) {
            if let Some(id) = id_of(&decode_line(message.to_string().as_bytes())) {
                prop_assert_eq!(Some(&id), message.get("id"), "{}", message);
            }
        }

        /// A part of a line is never another request.
        #[test]
        fn a_truncated_line_is_not_a_message(message in any_message(), cut in 0usize..200) {
            let line = message.to_string();
            let cut = &line.as_bytes()[..cut.min(line.len() - 1)];
            prop_assert!(matches!(decode_line(cut), Ok(None) | Err(InvalidLine { id: None, .. })), "{:?}", cut);
        }
    }

    fn check(line: &str, expected: &str) {
        let read = match decode_line(line.as_bytes()) {
            Ok(Some(_)) => "message".to_owned(),
            Ok(None) => "nothing".to_owned(),
            Err(InvalidLine { id, error }) => format!(
                "{} {}",
                error.code.0,
                id.map_or_else(|| "-".to_owned(), |id| id.to_string())
            ),
        };
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn every_request_can_be_answered() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message");
        check(
            r#" {"jsonrpc":"2.0","method":"notifications/initialized"} "#,
            "message",
        );
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"a":"\ud800"}}}"#,
            "-32600 a",
        );
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{deep}}}}}"#),
            "-32600 7",
        );
        check(r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, "-32600 3");
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 -");
    }

    #[test]
    fn invalid_messages_without_a_request_get_no_id() {
        check("", "nothing");
        check("\r", "nothing");
        for broken in ["{", "x", "\u{0}", r#"{"id":1,"method":"ping""#] {
            check(broken, "-32700 -");
        }
        check("[]", "-32600 -");
        check("1", "-32600 -");
        check(r#"{"id":1.5,"method":"ping"}"#, "-32600 -");
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":"\ud800"}"#,
            "nothing",
        );
        check(r#"{"jsonrpc":"2.0","result":{"a":"\ud800"}}"#, "nothing");
        check(r#"{"jsonrpc":"2.0","id":null,"error":"no"}"#, "nothing");
        // The id may belong to a request of the server, or to another request.
        check(r#"{"id":3}"#, "-32600 -");
    }

    #[test]
    fn an_invalid_response_fails_the_request_of_the_server() {
        for parts in [
            r#""error":"no""#,
            r#""error":{"message":"no code"}"#,
            r#""error":null"#,
            r#""result":{"a":"\ud800"}"#,
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":4,{parts}}}"#);
            let Ok(Some(ClientJsonRpcMessage::Error(error))) = decode_line(line.as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(
                (error.id, error.error.code),
                (Some(RequestId::Number(4)), ErrorCode::INVALID_REQUEST)
            );
        }
    }

    #[test]
    fn some_requests_complete_negotiation() {
        let check = |method: &str, meta: &str, expected: bool| {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{meta}}}}}"#
            );
            let Ok(Some(ClientJsonRpcMessage::Request(request))) = decode_line(line.as_bytes())
            else {
                panic!("{line}")
            };
            assert_eq!(
                completes_negotiation(&request.request, ProtocolVersion::KNOWN_VERSIONS),
                expected,
                "{line}"
            );
        };
        let meta = |version: &str| {
            format!(
                r#"{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
            )
        };
        for (method, settles) in [
            ("server/discover", false),
            ("ping", false),
            ("tools/list", true),
            ("no/such", true),
        ] {
            check(method, &meta("2026-07-28"), settles);
        }
        check("tools/list", &meta("2099-01-01"), false);
        check("tools/list", "{}", false);
        // Without its parameters, `initialize` does not count.
        check("initialize", "{}", false);
    }
}
