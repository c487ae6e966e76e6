//! Puts a server together.

use std::sync::Arc;

use skills_tools::ToolSet;
use tokio_util::sync::CancellationToken;

use super::{Owners, Server, Shared};
use crate::changes::{Changes, Noted};
use crate::seal::{LIFETIME, Seal};
use crate::turns::Turns;
use crate::watch::LookOut;
use crate::{BuildError, Spent, SpentInMemory};

/// Puts a [`Server`] together.
///
/// Defaults: a new random key for what is sealed, which is right for one process; what was answered
/// is remembered in this process; callers are the owners of the approvals; at most 64 calls of one
/// caller at a time.
#[must_use]
pub struct Builder {
    tools: ToolSet,
    key: Option<Vec<u8>>,
    spent: Box<dyn Spent>,
    owners: Owners,
    calls: usize,
    version: String,
}

impl Builder {
    pub(super) fn new(tools: ToolSet) -> Self {
        Self {
            tools,
            key: None,
            spent: Box::<SpentInMemory>::default(),
            owners: Owners::Callers,
            calls: 64,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Sets the key that seals questions, at least 32 random bytes. Servers that stand for each
    /// other share one.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets where it is remembered which answers were used. Servers that stand for each other share
    /// one, or an answer could be used with each.
    pub fn spent(mut self, spent: impl Spent + 'static) -> Self {
        self.spent = Box::new(spent);
        self
    }

    /// Says that several may call, none of whom decides for the others: no answer of theirs holds
    /// for good.
    pub fn several_callers(mut self) -> Self {
        self.owners = Owners::Others;
        self
    }

    /// Sets how many calls of one caller are answered at a time, at least one; more are refused.
    pub fn calls_at_once(mut self, calls: usize) -> Self {
        self.calls = calls.max(1);
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
    pub fn build(self) -> Result<Server, BuildError> {
        let key = match self.key {
            Some(key) => key,
            None => {
                let mut key = vec![0; 32];
                getrandom::fill(&mut key).map_err(BuildError::no_randomness)?;
                key
            }
        };
        let shared = Shared {
            seal: Seal::new(&key, self.spent, LIFETIME)?,
            turns: Turns::new(self.calls),
            changes: Changes::default(),
            noted: Noted::default(),
            look_out: LookOut::default(),
            owners: self.owners,
            tools: self.tools,
            version: self.version,
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
        };
        Ok(Server {
            shared: Arc::new(shared),
        })
    }
}
