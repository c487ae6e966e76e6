//! Whether a skill is still used.

use crate::{RECENT_DAYS, SkillFacts, Summary};

/// A skill that was observed for fewer days is not stale.
const MIN_OBSERVED_DAYS: f64 = 60.0;

/// Whether a skill is still used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Staleness {
    /// It was used in the last 90 days.
    InUse,
    /// It was observed for less than 60 days, which says nothing yet.
    TooNew,
    /// It was never used.
    Unused {
        /// How often it was in a list or among the results of a search.
        offers: u64,
    },
    /// It was used before, and is not any more.
    Fading {
        /// Days since the last use.
        days: u64,
    },
    /// It is not in use, and pinned, which does not count against it.
    Dormant {
        /// Days since the last use; `None` if it was never used.
        days: Option<u64>,
    },
}

impl Staleness {
    /// Determines whether a skill is still used.
    #[must_use]
    pub fn new(facts: &SkillFacts, summary: &Summary) -> Self {
        let usage = summary.skill(&facts.name, &facts.scope);
        let last_use = usage.and_then(|usage| usage.last_use);
        if last_use.is_some_and(|last| summary.now.whole_days_since(last) < RECENT_DAYS) {
            return Self::InUse;
        }
        Self::of_unused(facts, summary)
    }

    /// Determines the class of a skill that counts as not in use, because it was not used for a time
    /// that the caller chooses. It is never [`InUse`](Self::InUse).
    #[must_use]
    pub fn of_unused(facts: &SkillFacts, summary: &Summary) -> Self {
        let usage = summary.skill(&facts.name, &facts.scope);
        if observed_days(facts, summary) < MIN_OBSERVED_DAYS {
            return Self::TooNew;
        }
        let last_use = usage.and_then(|usage| usage.last_use);
        let days = last_use.map(|last| summary.now.whole_days_since(last));
        if facts.is_pinned {
            return Self::Dormant { days };
        }
        match days {
            Some(days) => Self::Fading { days },
            None => Self::Unused {
                offers: usage.map_or(0, |usage| usage.counts.offers()),
            },
        }
    }

    /// Returns true if the skill was not used for a long time without a known reason.
    #[must_use]
    pub fn is_stale(self) -> bool {
        matches!(self, Self::Unused { .. } | Self::Fading { .. })
    }

    /// Returns the class as one word in kebab case, as in JSON output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::TooNew => "too-new",
            Self::Unused { .. } => "unused",
            Self::Fading { .. } => "fading",
            Self::Dormant { .. } => "dormant",
        }
    }
}

/// Returns for how many days the uses of a skill would have been seen: since the start of the
/// ledger, or since the skill was installed.
#[must_use]
pub fn observed_days(facts: &SkillFacts, summary: &Summary) -> f64 {
    let Some(since) = summary.since else {
        return 0.0;
    };
    let first = summary
        .skill(&facts.name, &facts.scope)
        .map(|usage| usage.first);
    // A file that was replaced has the time of the update.
    let installed = match (facts.installed, first) {
        (Some(installed), Some(first)) => installed.min(first),
        (installed, first) => installed.or(first).unwrap_or(since),
    };
    summary.now.days_since(installed.max(since))
}
