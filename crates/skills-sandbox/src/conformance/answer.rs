//! What came of an attempt.

use std::fmt;

/// What came of an attempt, as it was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Answer {
    /// It fails, or finds nothing of what it looks for.
    Denied,
    /// It may say that it worked, or end the program that makes it; outside, all is as before.
    NoEffect,
    /// It happens, but reaches nothing beyond the run, stays within its limits, and ends with it.
    Contained,
    /// It works. Where that is not expected, it is a hole.
    Works,
    /// It works although it should not, and the run's report says so: its layer is not called
    /// enforced.
    Visible,
    /// Nothing runs: the backend refuses the job, or says which wall is missing.
    Refused,
    /// It has no meaning there.
    Absent,
}

impl Answer {
    /// Returns the answer as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NoEffect => "no-effect",
            Self::Contained => "contained",
            Self::Works => "works",
            Self::Visible => "visible",
            Self::Refused => "refused",
            Self::Absent => "absent",
        }
    }

    /// Says whether a wall stood in the way of the attempt.
    #[must_use]
    pub fn is_held(self) -> bool {
        matches!(
            self,
            Self::Denied | Self::NoEffect | Self::Contained | Self::Refused
        )
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
