//! An attempt of a run that a further one continues.

use std::path::PathBuf;
use std::time::Duration;

use crate::question::{RaisedLimit, RunEffects};
use crate::{Decision, Permission, PermissionDecision, Request, ResourceLimits, Target};

/// An attempt of a run that ended, for a [further one](crate::Request::after) of the same run.
/// [`Grants::attempt`](crate::Grants::attempt) creates it.
///
/// What an approver allowed stays allowed. What the attempt was refused is asked, unless a rule denies
/// it: a refusal asks for no more than an option of the user could allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlierAttempt {
    pub(crate) content: AttemptContent,
    pub(crate) decisions: Vec<PermissionDecision>,
    pub(crate) limits: ResourceLimits,
    /// The number of attempts, with this one.
    pub(crate) attempts: u32,
    /// How long their programs ran together.
    pub(crate) ran: Duration,
    /// The refused permissions. Only those that an enforcing layer observed belong here: output of a
    /// program must not choose what a user is asked.
    pub refused: Vec<Target>,
    /// The limit that it reached, with a higher value.
    pub raised: Option<RaisedLimit>,
    /// Its effects.
    pub done: RunEffects,
}

/// The content that an attempt ran. An answer of an approver is valid for this content only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptContent {
    pub(crate) directory: PathBuf,
    pub(crate) digest: Option<String>,
    pub(crate) command_digest: Option<String>,
}

impl EarlierAttempt {
    /// Adds the time that its program ran. All attempts together have the wall-clock time of one.
    pub fn add_time(&mut self, ran: Duration) {
        self.ran = self.ran.saturating_add(ran);
    }

    /// Returns how long its program and those of earlier attempts ran together.
    #[must_use]
    pub fn ran(&self) -> Duration {
        self.ran
    }

    /// Returns true if it was granted a permission.
    #[must_use]
    pub fn had(&self, permission: &Permission) -> bool {
        let granted = self.decisions.iter();
        granted
            .filter(|known| known.decision == Decision::Allow)
            .any(|known| known.permission.covers(permission))
    }
}

impl AttemptContent {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            directory: request.directory.clone(),
            digest: request.digest.clone(),
            command_digest: request.ad_hoc_digest.clone(),
        }
    }

    /// Returns true for the same content, which is known only by its digest.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.digest.is_some() && self == other
    }
}
