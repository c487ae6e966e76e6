//! How often something was done with a skill.

use crate::activity::{ALL, Activity, Evidence};

/// Numbers of events, one for each [`Activity`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u64; ALL.len()]);

impl Counts {
    /// Returns how often an activity was recorded.
    #[must_use]
    pub fn get(&self, activity: Activity) -> u64 {
        self.0[activity.position()]
    }

    /// Returns all numbers with their names, in the order of [`Activity::all`].
    pub fn named(&self) -> impl ExactSizeIterator<Item = (&'static str, u64)> {
        Activity::all().map(Activity::count_name).zip(self.0)
    }

    /// Returns how often the skill was in a list or among the results of a search.
    #[must_use]
    pub fn offers(&self) -> u64 {
        self.sum(Activity::is_exposure)
    }

    /// Returns how often the instructions were put into a conversation.
    #[must_use]
    pub fn activations(&self) -> u64 {
        self.sum(|activity| matches!(activity, Activity::Activated(_)))
    }

    /// Returns how often a program was run or was about to.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.sum(|activity| matches!(activity, Activity::ScriptRun(_)))
    }

    /// Returns how often something of the skill was used.
    #[must_use]
    pub fn uses(&self) -> u64 {
        self.sum(Activity::is_use)
    }

    /// Returns how often it failed: runs that ended otherwise than with code 0, and turns that the
    /// host application judged as failures.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.sum(|activity| activity.evidence() == Evidence::Failure)
    }

    /// Returns the number of runs and turns that succeeded or failed. Others, such as denied runs,
    /// say nothing about a skill.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.sum(|activity| activity.evidence() != Evidence::None)
    }

    pub(crate) fn add(&mut self, activity: Activity) {
        self.0[activity.position()] += 1;
    }

    fn sum(&self, is_counted: impl Fn(Activity) -> bool) -> u64 {
        let counted = Activity::all().zip(self.0);
        let counted = counted.filter(|(activity, _)| is_counted(*activity));
        counted.map(|(_, number)| number).sum()
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
        let numbers = Activity::all().map(|activity| {
            let mut counts = Counts::default();
            counts.add(activity);
            assert_eq!(counts.get(activity), 1, "{activity:?}");
            let counted: Vec<_> = counts.named().filter(|(_, number)| *number > 0).collect();
            let [(name, 1)] = counted[..] else {
                panic!("{activity:?}: {counted:?}");
            };
            format!("{activity:?}: {name}")
        });
        insta::assert_snapshot!(numbers.collect::<Vec<_>>().join("\n"), @"
        Offered: offered
        Searched: searched
        Mentioned: mentioned
        Activated(User): activated_by_user
        Activated(Model): activated_by_model
        Activated(Implicit): activated_implicitly
        ReferenceRead: references_read
        ScriptRun(Succeeded): runs_succeeded
        ScriptRun(Failed): runs_failed
        ScriptRun(TimedOut): runs_timed_out
        ScriptRun(LimitExceeded): runs_over_limit
        ScriptRun(Denied): runs_denied
        ScriptRun(Cancelled): runs_cancelled
        ScriptRun(RequirementMissing): runs_without_requirement
        ScriptRun(NotStarted): runs_not_started
        ScriptRun(NotObserved): runs_not_observed
        TurnEnded(Accepted): turns_accepted
        TurnEnded(Retried): turns_retried
        TurnEnded(Abandoned): turns_abandoned
        ");
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
