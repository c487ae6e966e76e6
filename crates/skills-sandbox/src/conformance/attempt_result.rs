//! What came of an attempt.

use std::fmt;

/// What came of an attempt, as it was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AttemptResult {
    /// It fails, or finds nothing of what it looks for.
    Denied,
    /// It may say that it worked, or end the program that makes it; outside, all is as before.
    NoEffect,
    /// It happens, but reaches nothing beyond the run, stays within its limits, and ends with it.
    Contained,
    /// It works. Where that is not expected, it is a hole.
    Succeeded,
    /// It works although it should not, and the run's report says so: its layer is not called
    /// enforced.
    Reported,
    /// Nothing runs: the backend refuses the job, or says which wall is missing.
    Rejected,
    /// It has no meaning there.
    NotApplicable,
}

impl AttemptResult {
    /// Returns the answer as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NoEffect => "no-effect",
            Self::Contained => "contained",
            Self::Succeeded => "works",
            Self::Reported => "visible",
            Self::Rejected => "refused",
            Self::NotApplicable => "absent",
        }
    }

    /// Says whether a wall stood in the way of the attempt.
    #[must_use]
    pub fn is_blocked(self) -> bool {
        matches!(
            self,
            Self::Denied | Self::NoEffect | Self::Contained | Self::Rejected
        )
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
