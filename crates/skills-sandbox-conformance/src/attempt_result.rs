//! The result of an attempt.

use std::fmt;

/// The observed result of an escape attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AttemptResult {
    /// It fails, or finds nothing.
    Denied,
    /// It may report success, or end the program; nothing changes outside of the sandbox.
    NoEffect,
    /// It succeeds, but affects only the run, stays within its limits, and ends with it.
    Contained,
    /// It succeeds. If the table does not expect it, it is a sandbox escape.
    Succeeded,
    /// It succeeds although it should not, and the enforcement report does not call its restriction
    /// enforced.
    Reported,
    /// Nothing runs: the backend rejects the job, or names the restriction that is unavailable.
    Rejected,
    /// The attempt is not applicable to the backend.
    NotApplicable,
}

impl AttemptResult {
    /// Returns the result as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NoEffect => "no-effect",
            Self::Contained => "contained",
            Self::Succeeded => "works",
            Self::Reported => "reported",
            Self::Rejected => "rejected",
            Self::NotApplicable => "not-applicable",
        }
    }

    /// Returns true if the attempt was blocked.
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
