//! What a line says.

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a line says.
pub(super) enum Read {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that anybody waits for an answer to.
    Nothing,
    /// Something wrong; with an id, a request that waits for an answer.
    Wrong {
        id: Option<RequestId>,
        error: ErrorData,
    },
}

/// What of a message can be read though the rest cannot. The rest is passed over, so that its depth costs nothing.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// Reads a line without its end.
pub(super) fn read(line: &[u8]) -> Read {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    if line.first() == Some(&b'[') {
        return Read::Wrong { id: None, error: ErrorData::invalid_request("one message at a time", None) };
    }
    let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return Read::Message(Box::new(message)),
        Err(error) => error,
    };
    let Ok(head) = serde_json::from_slice::<Head>(line) else {
        let code = if error.is_data() { ErrorCode::INVALID_REQUEST } else { ErrorCode::PARSE_ERROR };
        return Read::Wrong { id: None, error: ErrorData::new(code, "this is no message", None) };
    };
    match head {
        Head { method: Some(_), id: Some(id), .. } => Read::Wrong {
            id: Some(id),
            error: ErrorData::invalid_request(
                "the request cannot be read: it is nested too deeply, or its text is no Unicode, or its parts are no request's",
                None,
            ),
        },
        Head { method: Some(_), .. } => Read::Nothing,
        Head { result, error, .. } if result.is_some() || error.is_some() => Read::Nothing,
        Head { id, .. } => Read::Wrong { id, error: ErrorData::invalid_request("this is no message of the protocol", None) },
    }
}

/// Returns the request that a notification gives up.
pub(super) fn cancelled(notification: &ClientNotification) -> Option<&RequestId> {
    match notification {
        ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_ref(),
        _ => None,
    }
}

pub(super) fn too_long(limit: usize) -> ErrorData {
    ErrorData::invalid_request(format!("a message has at most {limit} bytes"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let read = match read(line.as_bytes()) {
            Read::Message(_) => "message".to_owned(),
            Read::Nothing => "nothing".to_owned(),
            Read::Wrong { id, error } => format!("{} {}", error.code.0, id.map_or_else(|| "-".to_owned(), |id| id.to_string())),
        };
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn every_request_can_be_answered() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message");
        check(r#" {"jsonrpc":"2.0","method":"notifications/initialized"} "#, "message");
        check(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"a":"\ud800"}}}"#, "-32600 a");
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        check(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{deep}}}}}"#), "-32600 7");
        check(r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, "-32600 3");
        check(r#"{"id":3}"#, "-32600 3");
    }

    #[test]
    fn what_is_no_request_is_answered_to_nobody() {
        check("", "nothing");
        check("\r", "nothing");
        for broken in ["{", "x", "\u{0}", r#"{"id":1,"method":"ping""#] {
            check(broken, "-32700 -");
        }
        check("[]", "-32600 -");
        check("1", "-32600 -");
        check(r#"{"id":1.5,"method":"ping"}"#, "-32600 -");
        check(r#"{"jsonrpc":"2.0","method":"notifications/x","params":"\ud800"}"#, "nothing");
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}"#, "nothing");
    }
}
