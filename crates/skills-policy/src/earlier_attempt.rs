//! What a further attempt of a run takes over from the one before.

use std::path::PathBuf;

use crate::question::{RaisedLimit, RunEffects};
use crate::{PermissionDecision, ResourceLimits, Target};

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
    /// What it was refused. Only what an enforcing layer observed belongs here: what a program prints
    /// must not choose what a user is asked.
    pub refused: Vec<Target>,
    /// The limit that it reached, with a higher value.
    pub raised: Option<RaisedLimit>,
    /// What it has done.
    pub done: RunEffects,
}

/// What an attempt ran: an answer of an approver holds for the same alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptContent {
    pub(crate) directory: PathBuf,
    pub(crate) digest: Option<String>,
    pub(crate) command_digest: Option<String>,
}
