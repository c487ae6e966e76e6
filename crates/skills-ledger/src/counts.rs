//! How often something was done with a skill.

use crate::{ActivatedBy, Activity, RunOutcome, TurnOutcome};

/// Numbers of events, one for each kind and outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// [`Activity::Offered`].
    pub offered: u64,
    /// [`Activity::Searched`].
    pub searched: u64,
    /// [`Activity::Mentioned`].
    pub mentioned: u64,
    /// [`ActivatedBy::User`].
    pub activated_by_user: u64,
    /// [`ActivatedBy::Model`].
    pub activated_by_model: u64,
    /// [`ActivatedBy::Implicit`].
    pub activated_implicitly: u64,
    /// [`Activity::ReferenceRead`].
    pub references_read: u64,
    /// [`RunOutcome::Succeeded`].
    pub runs_succeeded: u64,
    /// [`RunOutcome::Failed`].
    pub runs_failed: u64,
    /// [`RunOutcome::TimedOut`].
    pub runs_timed_out: u64,
    /// [`RunOutcome::LimitExceeded`].
    pub runs_over_limit: u64,
    /// [`RunOutcome::Denied`].
    pub runs_denied: u64,
    /// [`RunOutcome::Cancelled`].
    pub runs_cancelled: u64,
    /// [`RunOutcome::RequirementMissing`].
    pub runs_without_requirement: u64,
    /// [`RunOutcome::NotStarted`].
    pub runs_not_started: u64,
    /// [`RunOutcome::NotObserved`].
    pub runs_not_observed: u64,
    /// [`TurnOutcome::Accepted`].
    pub turns_accepted: u64,
    /// [`TurnOutcome::Retried`].
    pub turns_retried: u64,
    /// [`TurnOutcome::Abandoned`].
    pub turns_abandoned: u64,
}

impl Counts {
    /// Returns all numbers with their names, in the order of the fields.
    pub fn named(&self) -> impl ExactSizeIterator<Item = (&'static str, u64)> {
        [
            ("offered", self.offered),
            ("searched", self.searched),
            ("mentioned", self.mentioned),
            ("activated_by_user", self.activated_by_user),
            ("activated_by_model", self.activated_by_model),
            ("activated_implicitly", self.activated_implicitly),
            ("references_read", self.references_read),
            ("runs_succeeded", self.runs_succeeded),
            ("runs_failed", self.runs_failed),
            ("runs_timed_out", self.runs_timed_out),
            ("runs_over_limit", self.runs_over_limit),
            ("runs_denied", self.runs_denied),
            ("runs_cancelled", self.runs_cancelled),
            ("runs_without_requirement", self.runs_without_requirement),
            ("runs_not_started", self.runs_not_started),
            ("runs_not_observed", self.runs_not_observed),
            ("turns_accepted", self.turns_accepted),
            ("turns_retried", self.turns_retried),
            ("turns_abandoned", self.turns_abandoned),
        ]
        .into_iter()
    }

    /// Returns how often the instructions were put into a conversation.
    #[must_use]
    pub fn activations(&self) -> u64 {
        self.activated_by_user + self.activated_by_model + self.activated_implicitly
    }

    /// Returns how often a program was run or was about to.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs_succeeded
            + self.runs_failed
            + self.runs_timed_out
            + self.runs_over_limit
            + self.runs_denied
            + self.runs_cancelled
            + self.runs_without_requirement
            + self.runs_not_started
            + self.runs_not_observed
    }

    /// Returns how often something of the skill was used.
    #[must_use]
    pub fn uses(&self) -> u64 {
        self.activations() + self.references_read + self.runs()
    }

    /// Returns how often it failed: runs that ended otherwise than with code 0, and turns that the
    /// host application judged as failures.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.runs_failed
            + self.runs_timed_out
            + self.runs_over_limit
            + self.turns_retried
            + self.turns_abandoned
    }

    /// Returns the number of runs and turns that succeeded or failed. Others, such as denied runs,
    /// say nothing about a skill.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.runs_succeeded + self.turns_accepted + self.failures()
    }

    pub(crate) fn add(&mut self, activity: Activity) {
        *self.of(activity) += 1;
    }

    fn of(&mut self, activity: Activity) -> &mut u64 {
        match activity {
            Activity::Offered => &mut self.offered,
            Activity::Searched => &mut self.searched,
            Activity::Mentioned => &mut self.mentioned,
            Activity::Activated(ActivatedBy::User) => &mut self.activated_by_user,
            Activity::Activated(ActivatedBy::Model) => &mut self.activated_by_model,
            Activity::Activated(ActivatedBy::Implicit) => &mut self.activated_implicitly,
            Activity::ReferenceRead => &mut self.references_read,
            Activity::ScriptRun(RunOutcome::Succeeded) => &mut self.runs_succeeded,
            Activity::ScriptRun(RunOutcome::Failed) => &mut self.runs_failed,
            Activity::ScriptRun(RunOutcome::TimedOut) => &mut self.runs_timed_out,
            Activity::ScriptRun(RunOutcome::LimitExceeded) => &mut self.runs_over_limit,
            Activity::ScriptRun(RunOutcome::Denied) => &mut self.runs_denied,
            Activity::ScriptRun(RunOutcome::Cancelled) => &mut self.runs_cancelled,
            Activity::ScriptRun(RunOutcome::RequirementMissing) => {
                &mut self.runs_without_requirement
            }
            Activity::ScriptRun(RunOutcome::NotStarted) => &mut self.runs_not_started,
            Activity::ScriptRun(RunOutcome::NotObserved) => &mut self.runs_not_observed,
            Activity::TurnEnded(TurnOutcome::Accepted) => &mut self.turns_accepted,
            Activity::TurnEnded(TurnOutcome::Retried) => &mut self.turns_retried,
            Activity::TurnEnded(TurnOutcome::Abandoned) => &mut self.turns_abandoned,
        }
    }
}

/// How many of several trials had a result.
///
/// ```
/// use skills_ledger::Share;
///
/// let failures = Share { hits: 3, trials: 5 };
/// assert_eq!(failures.observed(), Some(0.6));
/// assert_eq!(Share::default().observed(), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of trials with the result.
    pub hits: u64,
    /// The number of trials.
    pub trials: u64,
}

impl Share {
    /// Returns the part of the trials with the result, from 0 to 1; `None` without a trial.
    #[must_use]
    pub fn observed(self) -> Option<f64> {
        (self.trials > 0).then(|| self.hits as f64 / self.trials as f64)
    }

    pub(crate) fn add(&mut self, is_hit: bool) {
        self.trials += 1;
        self.hits += u64::from(is_hit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_activity_has_one_number() {
        for (position, activity) in Activity::all().enumerate() {
            let mut counts = Counts::default();
            counts.add(activity);
            let numbers: Vec<u64> = counts.named().map(|(_, number)| number).collect();
            assert_eq!(numbers.iter().sum::<u64>(), 1, "{activity:?}");
            // The names have the order of the activities.
            assert_eq!(numbers[position], 1, "{activity:?}");
        }
    }

    #[test]
    fn only_what_ended_by_itself_is_a_trial() {
        let mut counts = Counts::default();
        Activity::all().for_each(|activity| counts.add(activity));
        assert_eq!(
            (counts.activations(), counts.runs(), counts.uses()),
            (3, 9, 13)
        );
        assert_eq!((counts.failures(), counts.trials()), (5, 7));
    }
}
