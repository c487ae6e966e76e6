//! What the policy answers.

use std::fmt;

use crate::{Decision, Grants, PermissionDecision};

/// What the policy answers to a request: all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each run, and a box would be in every match"
)]
pub enum Authorization {
    /// Everything that was asked for may be had.
    Granted(Grants),
    /// Something may not, so nothing runs.
    Denied(Denial),
}

impl Authorization {
    /// Returns what became of each thing that was asked for, and by which rule.
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        match self {
            Self::Granted(grants) => grants.decisions(),
            Self::Denied(denial) => denial.decisions(),
        }
    }
}

/// A request of which something was refused.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Denial {
    pub(crate) decisions: Vec<PermissionDecision>,
    /// Why not even what needs no permission may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_reason: Option<String>,
    /// What else should be known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

impl Denial {
    /// Returns what became of each thing that was asked for; at least one was denied, or
    /// [`content`](Self::content_reason) says why nothing runs.
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        &self.decisions
    }

    /// Returns what was refused.
    pub fn denied(&self) -> impl Iterator<Item = &PermissionDecision> {
        self.decisions
            .iter()
            .filter(|verdict| verdict.decision() == Decision::Deny)
    }

    /// Returns why content that nobody approved yet does not run, when that is the reason.
    #[must_use]
    pub fn content_reason(&self) -> Option<&str> {
        self.content_reason.as_deref()
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 10;
        let content = self.content_reason.iter().map(|reason| {
            format!("nobody approved its content for what rules would give it: {reason}")
        });
        let notes = self.notes.iter().cloned();
        let refused = self.denied().take(MAX_SHOWN).map(|verdict| {
            format!(
                "may not {} (asked by {}): {}",
                verdict.permission(),
                verdict.requesters(),
                verdict.explanation()
            )
        });
        let more = self.denied().count().saturating_sub(MAX_SHOWN);
        let rest = (more > 0).then(|| format!("and {more} things more"));
        f.write_str(
            &content
                .chain(refused)
                .chain(rest)
                .chain(notes)
                .collect::<Vec<_>>()
                .join("; "),
        )
    }
}
