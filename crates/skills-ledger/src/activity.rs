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

/// Defines the list of activities and their words by one table, which is exhaustive.
macro_rules! activities {
    ($($variant:ident $(($class_type:ident::$class_value:ident))? =>
        $kind:literal, $class:literal, $count_name:literal;)+) => {
        /// All activities.
        pub(crate) const ALL: &[Activity] =
            &[$(Activity::$variant $(($class_type::$class_value))?),+];

        impl Activity {
            /// Returns the kind as one lowercase word, as in the ledger, and the class of its
            /// outcome, which is empty for kinds without one.
            #[must_use]
            pub fn words(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant $(($class_type::$class_value))? => ($kind, $class),)+
                }
            }

            /// Returns the name of the number of such events.
            pub(crate) fn count_name(self) -> &'static str {
                match self {
                    $(Self::$variant $(($class_type::$class_value))? => $count_name,)+
                }
            }
        }
    };
}

// Kind and class are in ledgers, and the name of the number in the JSON of summaries.
activities! {
    Offered => "offered", "", "offered";
    Searched => "searched", "", "searched";
    Mentioned => "mentioned", "", "mentioned";
    Activated(ActivatedBy::User) => "activated", "user", "activated_by_user";
    Activated(ActivatedBy::Model) => "activated", "model", "activated_by_model";
    Activated(ActivatedBy::Implicit) => "activated", "implicit", "activated_implicitly";
    ReferenceRead => "reference_read", "", "references_read";
    ScriptRun(RunOutcome::Succeeded) => "script_run", "succeeded", "runs_succeeded";
    ScriptRun(RunOutcome::Failed) => "script_run", "failed", "runs_failed";
    ScriptRun(RunOutcome::TimedOut) => "script_run", "timed_out", "runs_timed_out";
    ScriptRun(RunOutcome::LimitExceeded) => "script_run", "limit_exceeded", "runs_over_limit";
    ScriptRun(RunOutcome::Denied) => "script_run", "denied", "runs_denied";
    ScriptRun(RunOutcome::Cancelled) => "script_run", "cancelled", "runs_cancelled";
    ScriptRun(RunOutcome::RequirementMissing) =>
        "script_run", "requirement_missing", "runs_without_requirement";
    ScriptRun(RunOutcome::NotStarted) => "script_run", "not_started", "runs_not_started";
    ScriptRun(RunOutcome::NotObserved) => "script_run", "not_observed", "runs_not_observed";
    TurnEnded(TurnOutcome::Accepted) => "outcome", "accepted", "turns_accepted";
    TurnEnded(TurnOutcome::Retried) => "outcome", "retried", "turns_retried";
    TurnEnded(TurnOutcome::Abandoned) => "outcome", "abandoned", "turns_abandoned";
}

impl Activity {
    /// Returns all activities.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ALL.iter().copied()
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
