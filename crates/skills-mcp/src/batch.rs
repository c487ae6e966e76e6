//! JSON-RPC batches: several messages in an array, which only protocol version 2025-03-26 has.

use std::collections::HashSet;
use std::fmt;

use rmcp::model::{ErrorCode, ProtocolVersion, RequestId};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Maximum number of messages in a batch.
const MAX_MESSAGES: usize = 64;

/// The reason why a batch is rejected as a whole; none of its messages is processed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BatchError {
    #[error("invalid JSON")]
    InvalidJson,
    #[error("empty batch")]
    Empty,
    #[error("batch exceeds {MAX_MESSAGES} messages")]
    TooManyMessages,
    /// Responses could not be attributed.
    #[error("duplicate request id in a batch")]
    DuplicateId,
    /// The version of the other messages would not be known.
    #[error("`initialize` cannot be part of a batch")]
    Initialize,
}

impl BatchError {
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidJson => ErrorCode::PARSE_ERROR,
            _ => ErrorCode::INVALID_REQUEST,
        }
    }
}

/// Returns true if a text is a batch, if it is JSON at all.
pub(crate) fn is_batch(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&b'[')
}

/// Returns true if a protocol version has batches.
pub(crate) fn has_batches(version: &str) -> bool {
    version == ProtocolVersion::V_2025_03_26.as_str()
}

/// Splits a batch into its messages, some of which may be invalid.
///
/// # Errors
/// Fails if the batch as a whole is invalid.
pub(crate) fn split(text: &[u8]) -> Result<Vec<&RawValue>, BatchError> {
    let Messages(messages) = serde_json::from_slice(text).map_err(|_| BatchError::InvalidJson)?;
    match messages.len() {
        0 => return Err(BatchError::Empty),
        1..=MAX_MESSAGES => {}
        _ => return Err(BatchError::TooManyMessages),
    }
    let mut ids = HashSet::new();
    for message in &messages {
        let Ok(RequestHead { id, method }) = serde_json::from_str(message.get()) else {
            // Answered individually.
            continue;
        };
        if method == "initialize" {
            return Err(BatchError::Initialize);
        }
        if id.is_some_and(|id| !ids.insert(id)) {
            return Err(BatchError::DuplicateId);
        }
    }
    Ok(messages)
}

/// The messages of a batch, and one more if there are too many.
struct Messages<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Messages<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MessagesVisitor).map(Self)
    }
}

struct MessagesVisitor;

impl<'de> Visitor<'de> for MessagesVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while messages.len() <= MAX_MESSAGES {
            match array.next_element()? {
                Some(message) => messages.push(message),
                None => return Ok(messages),
            }
        }
        // Not stored, since a batch can have millions.
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(messages)
    }
}

/// The parts of a request or notification by which a batch is checked.
#[derive(Deserialize)]
struct RequestHead {
    #[serde(default)]
    id: Option<RequestId>,
    method: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Result<&[&str], BatchError>) {
        let messages = split(text.as_bytes());
        let messages = messages
            .as_ref()
            .map(|messages| messages.iter().map(|m| m.get()).collect::<Vec<_>>());
        assert_eq!(
            messages,
            expected.as_ref().map(|all| all.to_vec()),
            "{text}"
        );
    }

    #[test]
    fn a_batch_is_split_into_its_messages() {
        check(
            r#" [{"id":1,"method":"ping"} , {"method":"x","a":[1]},7] "#,
            Ok(&[
                r#"{"id":1,"method":"ping"}"#,
                r#"{"method":"x","a":[1]}"#,
                "7",
            ]),
        );
        // The id of a response belongs to the server.
        check(
            r#"[{"id":1,"result":{}},{"id":1,"method":"ping"}]"#,
            Ok(&[r#"{"id":1,"result":{}}"#, r#"{"id":1,"method":"ping"}"#]),
        );
        let lone_surrogate = r#"{"id":1,"method":"x","params":"\ud800"}"#;
        check(&format!("[{lone_surrogate}]"), Ok(&[lone_surrogate]));
    }

    #[test]
    fn invalid_batches_are_rejected_as_a_whole() {
        check("[]", Err(BatchError::Empty));
        for broken in ["[", "[1", "[1,]", "[1]2", r#"[{"id":1]"#] {
            check(broken, Err(BatchError::InvalidJson));
        }
        check(
            r#"[{"id":"a","method":"x"},{"id":"a","method":"y"}]"#,
            Err(BatchError::DuplicateId),
        );
        check(
            r#"[{"id":1,"method":"ping"},{"id":2,"method":"initialize"}]"#,
            Err(BatchError::Initialize),
        );
        let batch = |number| format!("[{}]", vec!["1"; number].join(","));
        check(&batch(MAX_MESSAGES), Ok(&["1"; MAX_MESSAGES]));
        check(&batch(MAX_MESSAGES + 1), Err(BatchError::TooManyMessages));
        check(&batch(1_000_000), Err(BatchError::TooManyMessages));
        let deep = format!("[{}", "[".repeat(1_000_000));
        check(&deep, Err(BatchError::InvalidJson));
    }

    proptest! {
        #[test]
        fn any_bytes_are_split(text in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = split(&text);
        }
    }
}
