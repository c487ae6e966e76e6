//! Puts a server together.

use std::sync::Arc;

use skills_tools::ToolSet;
use tokio_util::sync::CancellationToken;

use super::{Inner, Server, Tenancy};
use crate::call_limiter::CallLimiter;
use crate::list_changes::{ListTracker, LogOnce};
use crate::list_watcher::ListWatcher;
use crate::request_state::{RequestStateSigner, STATE_TTL};
use crate::{MemoryReplayCache, ReplayCache, ServerBuildError};

/// Puts a [`Server`] together.
///
/// Defaults: a new random key for what is sealed, which is right for one process; what was answered
/// is remembered in this process; callers are the owners of the approvals; at most 64 calls of one
/// caller at a time.
#[must_use]
pub struct ServerBuilder {
    tools: ToolSet,
    request_state_key: Option<Vec<u8>>,
    replay_cache: Box<dyn ReplayCache>,
    tenancy: Tenancy,
    max_concurrent_calls: usize,
    version: String,
}

impl ServerBuilder {
    pub(super) fn new(tools: ToolSet) -> Self {
        Self {
            tools,
            request_state_key: None,
            replay_cache: Box::<MemoryReplayCache>::default(),
            tenancy: Tenancy::SingleUser,
            max_concurrent_calls: 64,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Sets the key that seals questions, at least 32 random bytes. Servers that stand for each
    /// other share one.
    pub fn request_state_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.request_state_key = Some(key.into());
        self
    }

    /// Sets where it is remembered which answers were used. Servers that stand for each other share
    /// one, or an answer could be used with each.
    pub fn replay_cache(mut self, spent: impl ReplayCache + 'static) -> Self {
        self.replay_cache = Box::new(spent);
        self
    }

    /// Says that several may call, none of whom decides for the others: no answer of theirs holds
    /// for good.
    pub fn multi_user(mut self) -> Self {
        self.tenancy = Tenancy::MultiUser;
        self
    }

    /// Sets how many calls of one caller are answered at a time, at least one; more are refused.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls.max(1);
        self
    }

    /// Sets the version that the server says it has. Default: that of this crate.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Finishes. Reads nothing of any skill.
    ///
    /// # Errors
    /// When the key is too short, or none was given and the system has no random numbers.
    pub fn build(self) -> Result<Server, ServerBuildError> {
        let key = match self.request_state_key {
            Some(key) => key,
            None => {
                let mut key = vec![0; 32];
                getrandom::fill(&mut key).map_err(ServerBuildError::no_randomness)?;
                key
            }
        };
        let shared = Inner {
            state_signer: RequestStateSigner::new(&key, self.replay_cache, STATE_TTL)?,
            call_limiter: CallLimiter::new(self.max_concurrent_calls),
            list_tracker: ListTracker::default(),
            log_once: LogOnce::default(),
            list_watcher: ListWatcher::default(),
            tenancy: self.tenancy,
            tools: self.tools,
            version: self.version,
            stop: CancellationToken::new(),
            cancel_calls: CancellationToken::new(),
        };
        Ok(Server {
            inner: Arc::new(shared),
        })
    }
}
