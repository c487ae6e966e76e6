//! How a skill was used.

/// How a skill was used, or could have been.
///
/// The first two say that a model could have used the skill; the others say that it was used or
/// asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// A model saw its name and description in a list.
    Offered,
    /// It was among the first results of a search.
    Searched,
    /// A user named it.
    Mentioned,
    /// Its instructions were put into a conversation.
    Activated(ActivatedBy),
    /// A file that it refers to was read.
    ReferenceRead,
    /// One of its programs ran, or was about to.
    ScriptRun(RunOutcome),
    /// The host application judged the turn in which it was used.
    TurnEnded(TurnOutcome),
}

/// Who put the instructions of a skill into a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ActivatedBy {
    /// The user, or the host application for its user.
    User,
    /// The model, with a tool.
    Model,
    /// The model, by reading the `SKILL.md` as a file.
    Implicit,
}

/// How a run of a program ended.
///
/// Only the first four are evidence for or against the skill: the others depend on the host, its
/// user or its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RunOutcome {
    /// It exited with code 0.
    Succeeded,
    /// It exited with another code, or by a signal or a trap.
    Failed,
    /// It was stopped at its deadline.
    TimedOut,
    /// It was stopped at another limit, such as that of its memory.
    LimitExceeded,
    /// Policy or an approver denied it, and nothing ran.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// Nothing ran, because a declared program or variable or another system is missing.
    RequirementMissing,
    /// Nothing ran for another reason, such as a sandbox that is not available.
    NotStarted,
    /// A model started it with a tool of its own, so that its end was not seen.
    NotObserved,
}

/// How a turn ended, in the judgement of the host application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TurnOutcome {
    /// The user accepted the result.
    Accepted,
    /// The user asked for the same again.
    Retried,
    /// The user gave up.
    Abandoned,
}

/// Whether an event is evidence for or against the content of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    Success,
    Failure,
    None,
}

/// All activities.
const ALL: [Activity; 19] = [
    Activity::Offered,
    Activity::Searched,
    Activity::Mentioned,
    Activity::Activated(ActivatedBy::User),
    Activity::Activated(ActivatedBy::Model),
    Activity::Activated(ActivatedBy::Implicit),
    Activity::ReferenceRead,
    Activity::ScriptRun(RunOutcome::Succeeded),
    Activity::ScriptRun(RunOutcome::Failed),
    Activity::ScriptRun(RunOutcome::TimedOut),
    Activity::ScriptRun(RunOutcome::LimitExceeded),
    Activity::ScriptRun(RunOutcome::Denied),
    Activity::ScriptRun(RunOutcome::Cancelled),
    Activity::ScriptRun(RunOutcome::RequirementMissing),
    Activity::ScriptRun(RunOutcome::NotStarted),
    Activity::ScriptRun(RunOutcome::NotObserved),
    Activity::TurnEnded(TurnOutcome::Accepted),
    Activity::TurnEnded(TurnOutcome::Retried),
    Activity::TurnEnded(TurnOutcome::Abandoned),
];

impl Activity {
    /// Returns all activities.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ALL.into_iter()
    }

    /// Returns the kind as one lowercase word, as in the ledger, and the class of its outcome, which
    /// is empty for kinds without one.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Offered => ("offered", ""),
            Self::Searched => ("searched", ""),
            Self::Mentioned => ("mentioned", ""),
            Self::Activated(ActivatedBy::User) => ("activated", "user"),
            Self::Activated(ActivatedBy::Model) => ("activated", "model"),
            Self::Activated(ActivatedBy::Implicit) => ("activated", "implicit"),
            Self::ReferenceRead => ("reference_read", ""),
            Self::ScriptRun(RunOutcome::Succeeded) => ("script_run", "succeeded"),
            Self::ScriptRun(RunOutcome::Failed) => ("script_run", "failed"),
            Self::ScriptRun(RunOutcome::TimedOut) => ("script_run", "timed_out"),
            Self::ScriptRun(RunOutcome::LimitExceeded) => ("script_run", "limit_exceeded"),
            Self::ScriptRun(RunOutcome::Denied) => ("script_run", "denied"),
            Self::ScriptRun(RunOutcome::Cancelled) => ("script_run", "cancelled"),
            Self::ScriptRun(RunOutcome::RequirementMissing) => {
                ("script_run", "requirement_missing")
            }
            Self::ScriptRun(RunOutcome::NotStarted) => ("script_run", "not_started"),
            Self::ScriptRun(RunOutcome::NotObserved) => ("script_run", "not_observed"),
            Self::TurnEnded(TurnOutcome::Accepted) => ("outcome", "accepted"),
            Self::TurnEnded(TurnOutcome::Retried) => ("outcome", "retried"),
            Self::TurnEnded(TurnOutcome::Abandoned) => ("outcome", "abandoned"),
        }
    }

    /// Returns the activity with these words; `None` for those of a later version.
    #[must_use]
    pub fn from_words(kind: &str, class: &str) -> Option<Self> {
        Self::all().find(|activity| activity.words() == (kind, class))
    }

    /// Returns true if the skill was only shown: lists and searches are far more frequent than
    /// everything else.
    #[must_use]
    pub fn is_exposure(self) -> bool {
        matches!(self, Self::Offered | Self::Searched)
    }

    /// Returns true if something of the skill was used: its instructions, a file or a program.
    #[must_use]
    pub fn is_use(self) -> bool {
        matches!(
            self,
            Self::Activated(_) | Self::ReferenceRead | Self::ScriptRun(_)
        )
    }

    /// Returns the position in [`all`](Self::all).
    pub(crate) fn position(self) -> usize {
        Self::all().take_while(|activity| *activity != self).count()
    }

    pub(crate) fn evidence(self) -> Evidence {
        use RunOutcome::{Failed, LimitExceeded, Succeeded, TimedOut};
        match self {
            Self::ScriptRun(Succeeded) | Self::TurnEnded(TurnOutcome::Accepted) => {
                Evidence::Success
            }
            Self::ScriptRun(Failed | TimedOut | LimitExceeded)
            | Self::TurnEnded(TurnOutcome::Retried | TurnOutcome::Abandoned) => Evidence::Failure,
            _ => Evidence::None,
        }
    }
}
