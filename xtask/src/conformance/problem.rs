//! Problems that the conformance suite found.

use std::fmt;

/// A check that failed, or that warned in a required scenario.
pub(super) struct Problem {
    pub(super) scenario: String,
    pub(super) check: String,
    pub(super) status: String,
    pub(super) reason: String,
}

impl Problem {
    /// Returns the scenario and the check.
    pub(super) fn key(&self) -> (String, String) {
        (self.scenario.clone(), self.check.clone())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            scenario,
            check,
            status,
            reason,
        } = self;
        write!(f, "{scenario}: {status} {check}: {reason}")
    }
}
