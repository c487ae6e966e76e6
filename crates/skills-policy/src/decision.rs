//! What the rules answer.

use std::fmt;

use crate::{Capability, Grants};

/// What the rules answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// Everything that was asked for may be had.
    Granted(Grants),
    /// Something may not, so nothing runs.
    Denied(Denial),
}

/// What was refused, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Denial {
    pub(crate) refusals: Vec<Refusal>,
}

impl Denial {
    /// Returns what was refused, in the order of the capabilities.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.refusals.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            refusal.fmt(f)?;
        }
        Ok(())
    }
}

/// One capability that was refused, who asked for it, and the rule that refused it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Refusal {
    pub(crate) capability: Capability,
    pub(crate) asked_by: Vec<String>,
    pub(crate) rule: Option<String>,
}

impl Refusal {
    /// Returns the capability.
    #[must_use]
    pub fn capability(&self) -> Capability {
        self.capability
    }

    /// Returns the entries of `allowed-tools` that asked for it.
    #[must_use]
    pub fn asked_by(&self) -> &[String] {
        &self.asked_by
    }

    /// Returns the source of the rule that denies it; nothing when no rule allows it.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (asked by `{}`) is denied: ", self.capability, self.asked_by.join("`, `"))?;
        match &self.rule {
            Some(rule) => write!(f, "a rule of {rule} forbids it"),
            None => f.write_str("no rule allows it"),
        }
    }
}
