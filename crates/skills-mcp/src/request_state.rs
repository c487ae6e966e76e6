//! Signed request state, which a client returns when it retries a call.

use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{Principal, ReplayCache, ServerBuildError};

/// Lifetime of request state.
pub(crate) const STATE_TTL: Duration = Duration::from_secs(300);
/// Separates these signatures from others with the same key.
const KEY_CONTEXT: &str = "skills-mcp/permission/1";

/// Signs request state, and verifies that it is used once.
pub(crate) struct RequestStateSigner {
    codec: RequestStateCodec,
    replay_cache: Box<dyn ReplayCache>,
    ttl: Duration,
}

/// Identifies a call: principal, tool and arguments. Request state of one call is invalid for any
/// other.
pub(crate) struct CallBinding {
    principal: Principal,
    digest: [u8; 32],
}

/// The signed content: the digest of the approval prompt. Not secret, clients can read it.
#[derive(Serialize, Deserialize)]
struct SealedState {
    question: String,
    nonce: String,
}

/// Error of verifying request state, with no more detail than a client may learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error("requestState is invalid or expired for this call; retry without it")]
    Invalid,
    #[error("requestState was already used; retry without it")]
    Replayed,
    #[error("cannot check whether requestState was already used; retry without it")]
    ReplayCheckFailed,
}

impl RequestStateSigner {
    pub(crate) fn new(
        key: &[u8],
        replay_cache: Box<dyn ReplayCache>,
        ttl: Duration,
    ) -> Result<Self, ServerBuildError> {
        let codec = RequestStateCodec::try_new(key).map_err(|_| {
            ServerBuildError::key_too_short(RequestStateCodec::MIN_KEY_LENGTH, key.len())
        })?;
        Ok(Self {
            codec,
            replay_cache,
            ttl,
        })
    }

    /// Signs the digest of an approval prompt for a call.
    ///
    /// # Errors
    /// If the system has no source of randomness.
    pub(crate) fn seal(&self, binding: &CallBinding, question: &str) -> Result<String, String> {
        let sealed = SealedState {
            question: question.to_owned(),
            nonce: random_nonce()?,
        };
        // The digest is authenticated and not stored, so the state stays small for large arguments.
        let options = SealOptions::new()
            .associated_data(&binding.digest)
            .ttl(self.ttl);
        self.codec
            .seal_json_with(&sealed, &options)
            .map_err(|error| error.to_string())
    }

    /// Verifies the state that came back with a call, and consumes it in any case. Performs
    /// blocking I/O if the replay cache uses files.
    ///
    /// # Errors
    /// If it was not signed for this call with this key, is expired, or was used before.
    pub(crate) fn open(&self, binding: &CallBinding, state: &str) -> Result<String, StateError> {
        let sealed: SealedState = self
            .codec
            .open_json_with(state, &binding.digest)
            .map_err(|_| StateError::Invalid)?;
        // Consumed whatever the call returns afterwards: an answer must not work twice.
        match self
            .replay_cache
            .use_once(binding.principal.as_str(), &sealed.nonce, self.ttl)
        {
            Ok(true) => Ok(sealed.question),
            Ok(false) => Err(StateError::Replayed),
            Err(error) => {
                tracing::error!(%error, "cannot access the replay cache");
                Err(StateError::ReplayCheckFailed)
            }
        }
    }
}

impl CallBinding {
    pub(crate) fn new(principal: &Principal, tool: &str, arguments: &Map<String, Value>) -> Self {
        let mut of_arguments = Sha256::new();
        hash_members(&mut of_arguments, arguments);
        let of_arguments = of_arguments.finalize();
        let mut hasher = Sha256::new();
        // Principal, tool and arguments are bound, so that an answer cannot be moved to another
        // call.
        for part in [
            KEY_CONTEXT.as_bytes(),
            principal.as_str().as_bytes(),
            tool.as_bytes(),
            &of_arguments,
        ] {
            hash_bytes(&mut hasher, part);
        }
        Self {
            principal: principal.clone(),
            digest: hasher.finalize().into(),
        }
    }
}

/// Hashes a value injectively and without copying it, since it may be large. Object members are
/// hashed in a canonical order, since clients may reorder them.
fn hash_value(hasher: &mut Sha256, json: &Value) {
    match json {
        Value::Null => hasher.update(b"n"),
        Value::Bool(bool) => hasher.update(if *bool { b"t" } else { b"f" }),
        Value::Number(number) => {
            hasher.update(b"d");
            hash_bytes(hasher, number.to_string().as_bytes());
        }
        Value::String(string) => {
            hasher.update(b"s");
            hash_bytes(hasher, string.as_bytes());
        }
        Value::Array(items) => {
            hasher.update(b"a");
            hasher.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| hash_value(hasher, item));
        }
        Value::Object(object) => hash_members(hasher, object),
    }
}

fn hash_members(hasher: &mut Sha256, object: &Map<String, Value>) {
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    hasher.update(b"o");
    hasher.update((members.len() as u64).to_be_bytes());
    for (name, member) in members {
        hash_bytes(hasher, name.as_bytes());
        hash_value(hasher, member);
    }
}

/// The length prefix separates adjacent parts.
fn hash_bytes(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

fn random_nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no source of randomness: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::MemoryReplayCache;

    fn signer(key: u8) -> RequestStateSigner {
        RequestStateSigner::new(
            &[key; 32],
            Box::new(MemoryReplayCache::default()),
            STATE_TTL,
        )
        .unwrap()
    }

    fn binding(principal: &str, tool: &str, arguments: &Value) -> CallBinding {
        CallBinding::new(
            &Principal::new(principal),
            tool,
            arguments.as_object().unwrap(),
        )
    }

    #[test]
    fn state_is_valid_once_and_for_the_same_call_only() {
        let arguments =
            json!({"name": "a", "command": "x", "more": {"z": 1, "a": [1, {"y": 2, "b": 3}]}});
        let call = || binding("alice", "skills_run", &arguments);
        let (first, second) = (signer(1), signer(2));
        let state = first.seal(&call(), "question").unwrap();
        let others = [
            binding("bob", "skills_run", &arguments),
            binding("alice", "skills_bash", &arguments),
            binding("alice", "skills_run", &json!({"name": "a", "command": "x"})),
            binding("alice", "skills_run", &json!({})),
            // Adjacent parts are separated.
            binding("aliceskills", "_run", &arguments),
        ];
        for other in others {
            assert_eq!(first.open(&other, &state), Err(StateError::Invalid));
        }
        assert_eq!(second.open(&call(), &state), Err(StateError::Invalid));
        for broken in [
            "",
            "rs1",
            "rs1.a.b",
            &state[1..],
            &state[..state.len() - 1],
            &format!("{state}A"),
            &state.to_uppercase(),
        ] {
            assert_eq!(
                first.open(&call(), broken),
                Err(StateError::Invalid),
                "{broken}"
            );
        }
        let reordered =
            json!({"more": {"a": [1, {"b": 3, "y": 2}], "z": 1}, "command": "x", "name": "a"});
        assert_eq!(
            first
                .open(&binding("alice", "skills_run", &reordered), &state)
                .as_deref(),
            Ok("question")
        );
        assert_eq!(first.open(&call(), &state), Err(StateError::Replayed));
    }

    #[test]
    fn expired_state_is_rejected() {
        let signer = RequestStateSigner::new(
            &[1; 32],
            Box::new(MemoryReplayCache::default()),
            Duration::from_millis(1),
        )
        .unwrap();
        let call = binding("alice", "skills_run", &json!({}));
        let state = signer.seal(&call, "question").unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        assert_eq!(signer.open(&call, &state), Err(StateError::Invalid));
    }

    #[test]
    fn a_short_key_is_rejected() {
        assert!(
            RequestStateSigner::new(&[1; 31], Box::new(MemoryReplayCache::default()), STATE_TTL)
                .is_err()
        );
    }
}
