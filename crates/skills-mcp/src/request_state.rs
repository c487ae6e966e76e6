//! Signed request state, which a client returns when it retries a call.

use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use skills_tools::runtime::policy::BoxError;

use crate::error::Repr;
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
#[derive(Clone)]
pub(crate) struct CallBinding {
    principal: Principal,
    digest: [u8; 32],
}

/// Error of verifying request state. It is logged; the client is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error("requestState is invalid or expired for this call")]
    Invalid,
    #[error("requestState was already used")]
    Replayed,
    #[error("cannot check whether requestState was already used")]
    ReplayCheckFailed,
}

impl RequestStateSigner {
    pub(crate) fn new(
        key: &[u8],
        replay_cache: Box<dyn ReplayCache>,
        ttl: Duration,
    ) -> Result<Self, ServerBuildError> {
        let codec = RequestStateCodec::try_new(key).map_err(|_| Repr::KeyTooShort {
            min: RequestStateCodec::MIN_KEY_LENGTH,
            actual: key.len(),
        })?;
        Ok(Self {
            codec,
            replay_cache,
            ttl,
        })
    }

    /// Signs the digest of an approval prompt for a call, with a nonce. Clients can read both.
    ///
    /// # Errors
    /// Fails if the system has no source of randomness.
    pub(crate) fn sign(
        &self,
        binding: &CallBinding,
        request_digest: &str,
    ) -> Result<String, BoxError> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| format!("no source of randomness: {error}"))?;
        let nonce = format!("{:032x}", u128::from_be_bytes(nonce));
        // The digest is authenticated and not stored, so the state stays small for large arguments.
        let options = SealOptions::new()
            .associated_data(&binding.digest)
            .ttl(self.ttl);
        Ok(self
            .codec
            .seal_json_with(&(request_digest, nonce), &options)?)
    }

    /// Verifies the state that came back with a call, and consumes it in any case. Performs
    /// blocking I/O if the replay cache uses files.
    ///
    /// # Errors
    /// Fails if it was not signed for this call with this key, is expired, or was used before.
    pub(crate) fn verify(&self, binding: &CallBinding, state: &str) -> Result<String, StateError> {
        let (request_digest, nonce): (String, String) = self
            .codec
            .open_json_with(state, &binding.digest)
            .map_err(|_| StateError::Invalid)?;
        // Consumed whatever the call returns afterwards: a response must not work twice.
        let principal = binding.principal.as_str();
        match self.replay_cache.use_once(principal, &nonce, self.ttl) {
            Ok(true) => Ok(request_digest),
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
        // In canonical order, since clients may reorder members.
        let mut arguments = Value::Object(arguments.clone());
        arguments.sort_all_objects();
        // Principal, tool and arguments are bound, so that a response cannot be moved to another
        // call. As JSON, so that adjacent parts are separated.
        let call = json!([KEY_CONTEXT, principal.as_str(), tool, arguments]);
        Self {
            principal: principal.clone(),
            digest: Sha256::digest(call.to_string()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
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
        let state = first.sign(&call(), "request_digest").unwrap();
        let others = [
            binding("bob", "skills_run", &arguments),
            binding("alice", "skills_bash", &arguments),
            binding("alice", "skills_run", &json!({"name": "a", "command": "x"})),
            binding("alice", "skills_run", &json!({})),
            // Adjacent parts are separated.
            binding("aliceskills", "_run", &arguments),
        ];
        for other in others {
            assert_eq!(first.verify(&other, &state), Err(StateError::Invalid));
        }
        assert_eq!(second.verify(&call(), &state), Err(StateError::Invalid));
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
                first.verify(&call(), broken),
                Err(StateError::Invalid),
                "{broken}"
            );
        }
        let reordered =
            json!({"more": {"a": [1, {"b": 3, "y": 2}], "z": 1}, "command": "x", "name": "a"});
        assert_eq!(
            first
                .verify(&binding("alice", "skills_run", &reordered), &state)
                .as_deref(),
            Ok("request_digest")
        );
        assert_eq!(first.verify(&call(), &state), Err(StateError::Replayed));
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
        let state = signer.sign(&call, "request_digest").unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        assert_eq!(signer.verify(&call, &state), Err(StateError::Invalid));
    }

    #[test]
    fn a_short_key_is_rejected() {
        assert!(
            RequestStateSigner::new(&[1; 31], Box::new(MemoryReplayCache::default()), STATE_TTL)
                .is_err()
        );
    }
}
